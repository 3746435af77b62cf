"""A database of manifest version 1 opens, reads as what made it says, and becomes version 2 with the first write.

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
"""


def tcudb(*arguments, sql=None):
    done = subprocess.run([str(BUILD / "tcudb"), "-X", "-q", "--csv", *map(str, arguments)], input=sql, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def fixture():
    folder = pathlib.Path(tempfile.mkdtemp())
    with tarfile.open(HERE / "version1.tar.gz") as archive:
        archive.extractall(folder)
    return folder / "v1.tcu"


def contents(database):
    return {f.name: f.read_bytes() for f in database.iterdir() if f.name != "lock"}


def version(database):
    return struct.unpack_from("<I", (database / "manifest").read_bytes(), 8)[0]


def check(condition, what):
    print(f"{'ok' if condition else 'FAILED'}: {what}")
    return condition


def reads(want):
    database = fixture()
    before = contents(database)
    good = check(version(database) == 1, "the fixture is of version 1")
    good &= check(tcudb("--readonly", database, sql=QUERIES) == (0, want), "opened read-only, it answers")
    good &= check(tcudb(database, sql=QUERIES) == (0, want), "opened for writing, it answers")
    return good & check(contents(database) == before, "reading has changed no byte")


def writes(statement, want, also=""):
    """One write in a process that is killed, then read again."""
    database = fixture()
    script = statement + "\n\\! kill -9 $PPID\n"
    code, out = tcudb(database, sql=script)
    good = check(code == -9 and out == "", f"{statement} {out}")
    good &= check(version(database) == 2, "  the manifest is of version 2")
    code, out = tcudb("--readonly", database, sql=QUERIES + also)
    return good & check(code == 0 and out == want, f"  and reads as before, with the change {out if out != want else ''}")


def main():
    made = (HERE / "version1.sql").read_text()
    code, want = tcudb(sql=made + QUERIES)
    assert code == 0, want
    good = reads(want)
    good &= writes("INSERT INTO later VALUES (51, 'later 51');", want.replace("50,1275,", "51,1326,"))
    good &= writes("ALTER TABLE few ADD PRIMARY KEY (id);", want + "exists\nt\n",
                   "SELECT EXISTS (SELECT FROM information_schema.table_constraints WHERE table_name = 'few' "
                   "AND constraint_type = 'PRIMARY KEY');")
    good &= writes("DELETE FROM many WHERE g = 0; UPDATE many SET w = 'new' WHERE g = 1; DROP TABLE later; "
                   "CREATE TABLE later AS SELECT 1 AS k, 'x' AS s;",
                   want.replace("0,f,word 0,0,4000\n0,f,word 1,0,6000\n0,t,word 0,0,10000\n", "")
                   .replace("1,f,word 1,0,5000", "1,f,new,0,5000").replace("50,1275,later 1,later 9", "1,1,x,x"))
    sys.exit(0 if good else 1)


main()
