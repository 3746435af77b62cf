"""Every allocation and every file call fails once: the statement reports it, the process ends in order, nothing
committed is lost and nothing half-done is seen.

The script below runs in the shell with a preloaded library that fails the n-th call (fail_nth.c). CI samples n;
TCUDB_FAULTS=all tries every one, a number so many. A build with -DTCUDB_TINY_ARENAS=ON makes each allocation from an arena
one of these calls, by hand.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("BUILD", "build"))
SAMPLES = int(os.environ.get("TCUDB_FAULTS", "60").replace("all", "0"))
SETUP = "CREATE TABLE kept(k int PRIMARY KEY, s text CHECK (s <> '')); INSERT INTO kept SELECT i, 'text ' || i % 7 FROM generate_series(1, 5000) g(i); "\
        "CREATE TABLE wide AS SELECT i AS a, i % 3 AS b, 'w' || i % 5 AS s FROM generate_series(1, 66000) g(i)"
SCRIPT = """
BEGIN; INSERT INTO kept VALUES (-1, 'one'), (-2, 'two'); COMMIT;
CREATE TABLE made AS SELECT k % 10 AS g, count(*) AS n, sum(k) AS s, min(s) AS m FROM kept GROUP BY 1;
SELECT a.s, count(*), avg(b.n) FROM kept a JOIN made b ON a.k % 10 = b.g WHERE a.k > 3 GROUP BY a.s ORDER BY 2 DESC, 1 LIMIT 3;
UPDATE kept SET s = 'changed' WHERE k = 17; DELETE FROM kept WHERE k BETWEEN 100 AND 199;
ALTER TABLE made ADD COLUMN z int DEFAULT 1 CHECK (z > 0);
SELECT count(*) FROM kept a JOIN kept b ON upper(a.s) = upper(b.s) WHERE a.s IN ('text 1', 'changed') AND a.k < 50 AND b.s = 'text 1';
SELECT k, (SELECT max(n) FROM made WHERE g = k % 10) FROM kept WHERE s LIKE '%t 3' ORDER BY k LIMIT 2;
CREATE TEMP TABLE tt AS SELECT k, s FROM kept WHERE k < 20; UPDATE tt SET s = 'temp' WHERE k = 3; DELETE FROM tt WHERE k = 4;
CREATE TABLE ids(id serial PRIMARY KEY, v int, w int GENERATED ALWAYS AS (v * 2) STORED); COMMENT ON TABLE ids IS 'numbered';
INSERT INTO ids(v) SELECT k FROM tt WHERE k > 0; BEGIN; INSERT INTO ids(v) VALUES (1); ROLLBACK; SELECT currval('ids_id_seq'), nextval('ids_id_seq'), obj_description('ids'::regclass);
SELECT c.relname, pg_get_constraintdef(k.oid) FROM pg_class c JOIN pg_constraint k ON k.conrelid = c.oid ORDER BY 1, 2 LIMIT 3;
SELECT string_to_table(s, ' '), regexp_split_to_table(s, 'x') FROM kept ORDER BY k LIMIT 3; DROP TABLE ids;
UPDATE wide SET b = 7, s = s || '!' WHERE a <= 60000;
ALTER TABLE wide ADD COLUMN c text DEFAULT 'c' NOT NULL, ALTER COLUMN a TYPE bigint;
ALTER TABLE wide DROP COLUMN b, ADD COLUMN d int DEFAULT random() * 0 + 1;
INSERT INTO kept VALUES (17, 'changed') ON CONFLICT (k) DO UPDATE SET s = excluded.s || '' RETURNING k, s;
"""


def run(database, fail, sql=SCRIPT):
    """Exit status, output, and whether the fault was reached."""
    reader, writer = os.pipe()
    env = dict(os.environ, LD_PRELOAD=str(BUILD / "test/libfail_nth.so"), TCUDB_FAIL=fail, TCUDB_FAIL_FD=str(writer),
               HOME=tempfile.gettempdir())
    done = subprocess.run([str(BUILD / "tcudb"), "-q", str(database)], input=sql, env=env, pass_fds=[writer], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, errors="replace")
    os.close(writer)
    reached = os.read(reader, 16) != b""
    os.close(reader)
    return done.returncode, done.stdout, reached


def plain(database, sql):
    done = subprocess.run([str(BUILD / "tcudb"), "-q", "--csv", str(database), "-c", sql], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60)
    return done.returncode, done.stdout


def consistent(database):
    """The states that a script cut short anywhere may leave: each statement all or nothing, in order."""
    code, out = plain(database, "SELECT count(*), count(*) FILTER (WHERE k < 0), count(*) FILTER (WHERE s = 'changed'), "
                                "count(*) FILTER (WHERE k BETWEEN 100 AND 199) FROM kept")
    if code != 0:
        return f"the database does not open or read any more: {out.strip()}"
    total, inserted, changed, doomed = (int(x) for x in out.split("\n")[1].split(","))
    code, out2 = plain(database, "SELECT count(*), sum(a), count(*) FILTER (WHERE s LIKE '%!') FROM wide")
    if code != 0 or out2.split("\n")[1] not in ("66000,2178033000,0", "66000,2178033000,60000"):
        return f"half of the columns: {out2.strip()}"
    code, out2 = plain(database, "SELECT string_agg(column_name, '' ORDER BY ordinal_position) FROM information_schema.columns "
                                 "WHERE table_name = 'wide'")
    if code != 0 or out2.split("\n")[1] not in ("abs", "absc", "ascd"):
        return f"half of a definition: {out2.strip()}"
    good = total == 4900 + inserted + doomed and inserted in (0, 2) and changed in (0, 1) and doomed in (0, 100)
    in_order = (not changed or inserted) and (doomed or changed)
    return None if good and in_order else f"half a statement: {out.strip()}"


def calls(kind, template):
    """How many calls of a kind the script makes: the fault past the last one is not reached."""
    low, high = 1, 1
    while True:
        work = copy(template)
        reached = run(work, f"{kind}:{high}")[2]
        shutil.rmtree(work)
        if not reached:
            break
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        work = copy(template)
        reached = run(work, f"{kind}:{middle}")[2]
        shutil.rmtree(work)
        low, high = (middle, high) if reached else (low, middle)
    return low


def copy(template):
    target = pathlib.Path(tempfile.mkdtemp()) / "db.tcu"
    shutil.copytree(template, target)
    return target


def main():
    if not (BUILD / "test/libfail_nth.so").exists() or not (BUILD / "tcudb").exists():
        print("the build has no shell or no fault injector")
        sys.exit(77)
    if os.environ.get("SANITIZE"):
        print("a sanitizer's allocator cannot be preloaded over")
        sys.exit(77)
    template = pathlib.Path(tempfile.mkdtemp()) / "db.tcu"
    code, out = plain(template, SETUP)
    if code != 0:
        raise SystemExit(out)
    tried, faults = 0, []
    for kind in ("malloc", "alloc", "io"):
        total = calls(kind, template)
        step = max(1, total // SAMPLES) if SAMPLES else 1
        for n in range(1, total + 1, step):
            for onwards in ("", "+"):
                work = copy(template)
                code, out, reached = run(work, f"{kind}:{n}{onwards}")
                tried += 1
                problem = None
                if code < 0 or code > 3:
                    problem = f"exit status {code}: {out.strip()[-300:]}"
                elif reached and code == 0 and "ERROR" in out:
                    problem = "an error, but exit status 0"
                else:
                    problem = consistent(work)
                if problem:
                    faults.append(f"{kind}:{n}{onwards}: {problem}")
                shutil.rmtree(work.parent)
        print(f"{kind}: {total} calls, every {step}. failed")
    print("\n".join(faults[:15]))
    print(f"{tried} faults tried, {len(faults)} handled badly")
    sys.exit(1 if faults else 0)


main()
