"""A database of an older version opens, reads as what made it says, and is of the present one with the first write.

The answers are those of the same statements run anew in memory. Reading changes no byte; a log record is not added to an
old manifest, since an older program would follow it without knowing what is new in it.
"""
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile

BUILD = pathlib.Path(os.environ.get("BUILD", "build"))
HERE = pathlib.Path(__file__).resolve().parent
QUERIES = """
SELECT g, odd, w, n, count(*) FROM many GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;
SELECT * FROM few ORDER BY id;
SELECT t, count(*) FROM both_of GROUP BY 1 ORDER BY 1;
SELECT count(*), sum(k), min(s), max(s) FROM later;
SELECT table_name, constraint_name FROM information_schema.table_constraints ORDER BY 1, 2;
SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2;
"""
QUERIES_2 = "SELECT * FROM kept ORDER BY id;"
QUERIES_3 = """
SELECT * FROM noted ORDER BY id;
SELECT obj_description('noted'::regclass), col_description('noted'::regclass, 3), obj_description('both_of'::regclass);
SELECT column_name, is_identity, identity_generation, is_generated, generation_expression, column_default
  FROM information_schema.columns WHERE table_name = 'noted' ORDER BY 1;
SELECT conname, obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conrelid = 'noted'::regclass AND contype = 'c' ORDER BY 1;
SELECT last_value FROM counter;
"""
PRESENT = 4
STATEMENTS = [
    "INSERT INTO later VALUES (51, 'later 51');",
    "ALTER TABLE few ADD PRIMARY KEY (id);",
    "DELETE FROM many WHERE g = 0; UPDATE many SET w = 'new' WHERE g = 1; DROP TABLE later; "
    "CREATE TABLE later AS SELECT 1 AS k, 'x' AS s;",
    "ALTER TABLE many ADD COLUMN extra int DEFAULT 5; ALTER TABLE many ALTER COLUMN n TYPE bigint;",
    "UPDATE many SET w = w || g, g = g + 1;",
]
NOTES = ["INSERT INTO noted(name) VALUES ('new'); ALTER TABLE noted DROP COLUMN twice; COMMENT ON TABLE noted IS 'other';"]
NEWER = ["ALTER TABLE kept DROP COLUMN name; INSERT INTO kept SELECT i, i FROM generate_series(1000, 1100) s(i);"]


def tcudb(*arguments, sql=None):
    done = subprocess.run([str(BUILD / "tcudb"), "-X", "-q", "--csv", *map(str, arguments)], input=sql, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def fixture(old):
    folder = pathlib.Path(tempfile.mkdtemp())
    with tarfile.open(HERE / f"version{old}.tar.gz") as archive:
        archive.extractall(folder)
    return folder / f"v{old}.tcu"


def contents(database):
    return {f.name: f.read_bytes() for f in database.iterdir() if f.name != "lock"}


def version(database):
    return struct.unpack_from("<I", (database / "manifest").read_bytes(), 8)[0]


def check(condition, what):
    print(f"{'ok' if condition else 'FAILED'}: {what}")
    return condition


def reads(old, want, queries):
    database = fixture(old)
    before = contents(database)
    good = check(version(database) == old, f"the fixture is of version {old}")
    good &= check(tcudb("--readonly", database, sql=queries) == (0, want), "opened read-only, it answers")
    good &= check(tcudb(database, sql=queries) == (0, want), "opened for writing, it answers")
    return good & check(contents(database) == before, "reading has changed no byte")


def writes(old, statement, want, queries):
    """One write in a process that is killed, then read again."""
    database = fixture(old)
    script = statement + "\n\\! kill -9 $PPID\n"
    code, out = tcudb(database, sql=script)
    good = check(code == -9 and out == "", f"{statement} {out}")
    good &= check(version(database) == PRESENT, f"  the manifest is of version {PRESENT}")
    code, out = tcudb("--readonly", database, sql=queries)
    return good & check(code == 0 and out == want, f"  and reads as before, with the change {out if out != want else ''}")


def carried_on(old, queries):
    good, made = True, (HERE / f"version{old}.sql").read_text()
    code, want = tcudb(sql=made + queries)
    assert code == 0, want
    good &= reads(old, want, queries)
    for statement in STATEMENTS + (NEWER if old > 1 else []) + (NOTES if old > 2 else []):
        code, want = tcudb(sql=made + statement + queries)
        assert code == 0, want
        good &= writes(old, statement, want, queries)
    return good


def odd_names():
    """Comments were checks of such names once; now they are checks, in the log and in the manifest."""
    database, good = pathlib.Path(tempfile.mkdtemp()) / "odd.tcu", True
    tcudb(database, sql='CREATE TABLE t(a int, CONSTRAINT "\x01a b" CHECK (a > 0));')
    for statement in ("INSERT INTO t SELECT i FROM generate_series(1, 70000) g(i); TRUNCATE t; VACUUM;", "SELECT 1 FROM t;"):
        out = tcudb(database, sql="INSERT INTO t VALUES (-1);")[1]
        good &= check("violates check constraint" in out, f"a check named after byte 1 is kept {out}")
        tcudb(database, sql=statement)
    return good


sys.exit(0 if odd_names() & carried_on(1, QUERIES) & carried_on(2, QUERIES + QUERIES_2) & carried_on(3, QUERIES + QUERIES_2 + QUERIES_3) else 1)
