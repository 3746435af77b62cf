"""A reader in another process keeps its snapshot while columns are replaced, added, dropped and retyped, the log is folded
and files without use are removed; then it sees the new state. The pile of files does not grow with the updates.

What each state holds is known from arithmetic. The readers look at a column only after it is gone for others, so that its
bytes must still be in a file. A third process opens and closes the database meanwhile, which tidies it up.
"""
import os
import pathlib
import sys
import tempfile

from shell import Shell

ROWS, CYCLES = 70000, 40
SUM = ROWS * (ROWS + 1) // 2
failures = []


def check(what, good, seen=""):
    if not good:
        print(f"FAILED: {what}: {seen}")
        failures.append(what)


def wait_free(writer, sql):
    out = writer.run(sql)
    check(sql, out == "", out)


# A change, and what b and c add up to after it, from what they did before; c NULL: it is not there.
CHANGES = [
    ("UPDATE t SET b = b + 1", lambda b, c: (b + ROWS, c)),
    ("UPDATE t SET c = c + 2, b = b - 1 WHERE a % 2 = 0", lambda b, c: (b - ROWS // 2, c + ROWS)),
    ("ALTER TABLE t ALTER b TYPE bigint; ALTER TABLE t ALTER c TYPE bigint USING c + 1", lambda b, c: (b, c + ROWS)),
    ("ALTER TABLE t DROP COLUMN c; ALTER TABLE t ADD COLUMN c int DEFAULT 5", lambda b, c: (b, 5 * ROWS)),
    ("BEGIN; UPDATE t SET s = s || 'x'; ALTER TABLE t ADD COLUMN d text DEFAULT 'd'; UPDATE t SET d = s WHERE a > 9; "
     "ALTER TABLE t DROP COLUMN d; COMMIT", lambda b, c: (b, c)),
    ("ALTER TABLE t ALTER b TYPE int", lambda b, c: (b, c)),
]
SEEN = "SELECT sum(b), sum(c), count(DISTINCT s), sum(a) FROM t;"


def main():
    database = pathlib.Path(tempfile.mkdtemp()) / "db.tcu"
    writer = Shell(database)
    wait_free(writer, f"CREATE TABLE t AS SELECT i AS a, i AS b, 2 * i AS c, 's' || i % 9 AS s FROM generate_series(1, {ROWS}) g(i);")
    wait_free(writer, "CREATE TABLE gone(a int);")
    reader, only = Shell(database), Shell(database, "--readonly")
    b, c, most = SUM, 2 * SUM, 0
    for k in range(CYCLES):
        sql, after = CHANGES[k % len(CHANGES)]
        for shell in (reader, only):
            out = shell.run("BEGIN; SELECT count(*) FROM t;")
            check("a snapshot", out == str(ROWS), out)
        wait_free(writer, sql + ";")
        if k % 3 == 0:
            third = Shell(database)
            third.run("SELECT 1;")
            third.end()
        want, (b, c) = f"{b}|{c}|9|{SUM}", after(b, c)
        for shell in (reader, only):
            out = shell.run(SEEN)
            check(f"the snapshot before {sql}", out == want, f"{out} instead of {want}")
            out = shell.run("COMMIT; " + SEEN)
            check(f"the state after {sql}", out == f"{b}|{c}|9|{SUM}", f"{out} instead of {b}|{c}|9|{SUM}")
        if k % 5 == 4:  # nobody reads: a fold may remove what is without use
            wait_free(writer, "TRUNCATE gone; INSERT INTO gone SELECT i FROM generate_series(1, 70000) g(i);")
            for shell in (reader, only):
                shell.run("SELECT 1 FROM t LIMIT 1;")
            wait_free(writer, "TRUNCATE gone;")
        most = max(most, len(os.listdir(database)))
    for shell in (writer, reader, only):
        shell.end()
    check("a handful of files", most < 40, most)
    last = Shell(database)
    out = last.run("UPDATE t SET b = 0, c = 0, s = 'last'; " + SEEN)
    check("the last update", out == f"0|0|1|{SUM}", out)
    last.end()
    left = sorted(os.listdir(database))
    check("what is left in the end", len(left) < 15, left)
    print(f"{CYCLES} cycles, at most {most} files, {len(left)} in the end")
    sys.exit(1 if failures else 0)


main()
