"""Every allocation of a contraction fails once: the statement says so, or gives the right answer, and nothing crashes.

Comparisons in each form, floating point in limbs and row by row, wide values, finer groups and nested contractions; full
matrices, cubes, folded and one-sided groups, few groups on several cores, parts of groups, of keys and of the inputs.
CI samples; TCUDB_FAULTS=all tries every allocation.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("BUILD", "build"))
SAMPLES = int(os.environ.get("TCUDB_FAULTS", "50").replace("all", "0"))
SETUP = """
CREATE TABLE a(k int, g int, x int, f float8, n bigint, h text);
INSERT INTO a SELECT i % 37, i % 11, i % 9, i / 8.0, 4000000000000000000 - i, 'w' || i % 5 FROM generate_series(1, 400) t(i);
CREATE TABLE wide AS SELECT i % 60 AS g, i % 1511 AS k, i % 100 - 50 AS x FROM generate_series(1, 20000) t(i);
CREATE TABLE m AS SELECT i % 30 AS i, i / 30 AS j, i % 17 - 8 AS v FROM generate_series(0, 899) t(i);
CREATE TABLE many AS SELECT i / 10000 % 2 AS g, i % 10000 AS k, i % 301 AS h, i % 21 - 10 AS x FROM generate_series(1, 150000) t(i);
CREATE TABLE far AS SELECT i % 3 AS g, i % 37 AS k, CASE WHEN i % 7 = 0 THEN float8 '1e-200' ELSE i / 8.0 END AS f
  FROM generate_series(1, 5000) t(i);
CREATE TABLE b AS SELECT k + 1 AS k, g % 7 AS g, x, CASE WHEN x = 3 THEN float8 '1e300' ELSE f END AS f, n, h FROM a;
"""
QUERIES = [
    "SELECT a.g, b.g, count(*), sum(a.x * b.x), avg(a.f) FROM a, b WHERE a.k = b.k AND a.h = b.h GROUP BY 1, 2",
    "SELECT a.g, b.g, count(*), sum(a.n) FROM a, b WHERE a.x < b.x AND a.k = b.k GROUP BY 1, 2",
    "SELECT count(*), sum(a.x) FROM a, b WHERE a.f > b.k",
    "SELECT b.g, sum(a.x), count(*) FROM a, b WHERE a.k <> b.k GROUP BY 1",
    "SELECT a.k, b.k, sum(a.x) FROM a, b WHERE a.f BETWEEN b.k AND b.k + 9.0::float8 GROUP BY 1, 2",
    "SELECT a.g, b.g, sum(a.f * b.f), sum(b.x) FROM a, b WHERE a.k = b.k GROUP BY 1, 2",
    "SELECT a.g, count(DISTINCT b.x), max(b.h), stddev(a.x) FROM a, b WHERE a.k = b.k GROUP BY 1",
    "SELECT a.g, c.g, count(*) FROM a, b, a c WHERE a.k = b.k AND b.x = c.x GROUP BY 1, 2",
    "SELECT b.h, count(DISTINCT a.g), sum(a.x) FROM a, b WHERE a.k = b.k GROUP BY 1",
    "SELECT * FROM (SELECT count(*) AS n, a.g, b.g AS h FROM a, b WHERE a.k = b.k GROUP BY 2, 3 ORDER BY 1 DESC, 2, 3 LIMIT 4) q",
    "SELECT a.g, b.g, count(*), sum(a.x) FROM a, b WHERE a.k = b.k AND a.h < b.h GROUP BY 1, 2",
    "SELECT p.i, q.j, sum(p.v * q.v) FROM m p, m q WHERE p.j = q.i GROUP BY 1, 2",
    "SELECT a.g, b.g, sum(a.x * b.x), count(*) FROM a, b WHERE a.k = b.k GROUP BY CUBE(a.g, b.g)",
    "SELECT a.g, a.h, sum(b.x), count(*) FROM a, b WHERE a.k = b.k GROUP BY 1, 2",
    "SELECT a.g, b.g, sum(CASE WHEN a.x > 3 OR b.x < 5 THEN 1 ELSE 0 END) FROM a, b WHERE a.k = b.k GROUP BY 1, 2",
    "SELECT a.g, count(DISTINCT b.g), count(*) FROM a, b WHERE a.k = b.k GROUP BY 1",
    "SELECT far.g, sum(far.f * b.f) FROM far, b WHERE far.k = b.k GROUP BY 1",
    # few left groups, and one that outweighs: cut for several cores
    "SET tcudb.threads = 2; SET tcudb.product_form = dense; SELECT a.g, b.h, sum(a.x * b.x) FROM many a, many b WHERE a.k = b.k GROUP BY 1, 2",
    "SET tcudb.threads = 2; SET tcudb.product_form = sparse; SELECT a.g, b.h, sum(a.x * b.x) FROM many a, many b WHERE a.k = b.k GROUP BY 1, 2",
    # inputs read again by parts
    "{read again} SELECT a.g, b.h, sum(a.x * b.x), count(*) FROM many a, many b WHERE a.k = b.k GROUP BY 1, 2",
    "{read again} SELECT sum(a.x * b.x), count(*) FROM many a, many b WHERE a.k < b.k",
    # what the limit leaves is less than the whole takes: parts of groups, and chunks of keys
    "SET tcudb.product_form = dense; {limit} "
    "SELECT sum(g * s), sum(h * n) FROM (SELECT a.g, b.g AS h, sum(a.x * b.x) AS s, count(*) AS n FROM wide a, wide b "
    "WHERE a.k = b.k GROUP BY 1, 2) q",
]


def run(database, sql, fail=None):
    """Exit status, output, whether the fault was reached."""
    env = dict(os.environ, HOME=tempfile.gettempdir())
    reader, writer = os.pipe()
    if fail:
        env.update(LD_PRELOAD=str(BUILD / "test/libfail_nth.so"), TCUDB_FAIL=fail, TCUDB_FAIL_FD=str(writer))
    script = "SET tcudb.engine = tcu; " + sql + " ORDER BY 1, 2 LIMIT 3;"
    done = subprocess.run([str(BUILD / "tcudb"), "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", str(database)], input=script,
                          env=env, pass_fds=[writer], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    os.close(writer)
    reached = os.read(reader, 16) != b""
    os.close(reader)
    return done.returncode, done.stdout, reached


def reaches(database, sql):
    """How many allocations the query makes."""
    low, high = 1, 1
    while run(database, sql, f"alloc:{high}")[2]:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if run(database, sql, f"alloc:{middle}")[2] else (low, middle)
    return low


def explained(database, sql):
    settings, query = sql.rsplit("; ", 1)
    return run(database, f"{settings}; EXPLAIN ANALYZE {query}")[1]


def limited(database, sql):
    """The query with so little memory that it goes in parts."""
    again = "{read again}" in sql
    mark, shown = ("{read again}", r"read again for each of ([2-9]|\d\d+)") if again else ("{limit}", r"memory_limit: ([2-9]|\d\d+) parts|\d+ chunks of")
    most = int(re.search(r"Peak Memory: (\d+) kB", explained(database, sql.replace(mark, "RESET tcudb.threads;"))).group(1))
    for percent in (94, 90, 85, 80, 75, 70, 65, 60, 55, 50, 45, 40, 35):
        less = sql.replace(mark, f"SET tcudb.memory_limit = '{most * percent // 100}kB';")
        if re.search(shown, explained(database, less)):
            return less
    raise SystemExit(f"no limit below {most} kB makes parts: {sql}")


def main():
    if not (BUILD / "test/libfail_nth.so").exists() or not (BUILD / "tcudb").exists() or os.environ.get("SANITIZE"):
        print("the build has no fault injector, or a sanitizer's allocator that it cannot be preloaded over")
        sys.exit(77)
    database = pathlib.Path(tempfile.mkdtemp()) / "db.tcu"
    made = subprocess.run([str(BUILD / "tcudb"), "-X", "-q", str(database), "-c", SETUP], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert made.returncode == 0, made.stdout
    tried, faults = 0, []
    for sql in QUERIES:
        if "{" in sql:
            sql = limited(database, sql)
        code, answer, _ = run(database, sql)
        assert code == 0 and answer, sql
        total = reaches(database, sql)
        step = max(1, total * len(QUERIES) // SAMPLES // 4) if SAMPLES else 1
        for n in range(1, total + 1, step):
            code, out, reached = run(database, sql, f"alloc:{n}")
            tried += 1
            if code < 0 or code > 3 or (code == 0 and out != answer):
                faults.append(f"alloc:{n} of {total}: status {code}, {out[:80]!r}: {sql}")
    for fault in faults[:10]:
        print(fault)
    print(f"{tried - len(faults)} passed, {len(faults)} failed, 0 skipped")
    sys.exit(1 if faults or not tried else 0)


main()
