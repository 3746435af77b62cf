"""A disk that fills up: the statement fails with 53100, the database is as it was, goes on where there is room, and opens again.

usage: full_disk_test.py [FIRST_KB LAST_KB STEP_KB]     CI takes a dozen sizes
The disk is a tmpfs of few kilobytes, which only root may mount. What is done on it is drawn with the size as the seed.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from engine import Database  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
SIZES = list(range(*map(int, sys.argv[1:4]))) if len(sys.argv) > 3 else [400, 640, 900, 1100, 1500, 2000, 2900, 4100, 5300, 8000, 12000, 20000]
STATE = """SELECT (SELECT count(*) FROM t), (SELECT sum(a) FROM t), (SELECT sum(length(x)) FROM t),
    (SELECT count(*) FROM u), (SELECT sum(length(y)) FROM u)"""


def draw(rnd, n):
    """One transaction, as a list of statements."""
    rows = rnd.choice([1, 100, 1000, 20000, 50000])
    return rnd.choice([
        [f"INSERT INTO t SELECT i, 'text ' || i * {n} FROM generate_series(1, {rows}) g(i)"],
        [f"INSERT INTO u SELECT {n * 100000} + i, md5((i * {n})::text) FROM generate_series(1, {rows}) g(i)"],
        [f"UPDATE t SET x = x || '{n}' WHERE a % 7 = {n % 7}"],
        ["UPDATE u SET y = reverse(y)"],
        ["DELETE FROM t WHERE a % 11 = 3"],
        ["DELETE FROM u WHERE k % 5 = 1"],
        [f"INSERT INTO t VALUES ({n}, repeat('z', {rows * 6}))"],
        ["BEGIN", f"INSERT INTO t VALUES (1, 'one {n}')", "UPDATE u SET y = y || 'q' WHERE k % 3 = 0", "COMMIT"],
        ["BEGIN", f"INSERT INTO t SELECT i, 'gone ' || i FROM generate_series(1, {rows}) g(i)", "ROLLBACK"],
    ])


class Disk:
    """A database on a disk of so many kilobytes."""

    def __init__(self, folder, kilobytes):
        self.folder = folder
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", folder], stderr=subprocess.PIPE, check=False)
        if mounted.returncode != 0:
            print("only root may mount a small disk")
            sys.exit(77)
        self.open()

    def open(self):
        self.database = Database(BUILD, f"{self.folder}/d.tcu")
        self.conn = self.database.connect()

    def close(self):
        self.conn.close()
        self.database.close()

    def run(self, sql):
        return self.conn.run(sql)

    def state(self):
        result = self.run(STATE)
        assert not result.error, result.error.message
        return result.rows[0]

    def grow(self):
        subprocess.run(["mount", "-o", "remount,size=400m", self.folder], check=True)

    def unmount(self):
        self.close()
        subprocess.run(["umount", self.folder], check=True)


def transact(disk, statements):
    """The error of the first statement that fails; its transaction is rolled back."""
    for sql in statements:
        error = disk.run(sql).error
        if error:
            if statements[0] == "BEGIN":
                disk.run("ROLLBACK")
            return error
    return None


def fill(disk, rnd):
    """Works until the disk has been full a few times; returns how often it was."""
    before, full = disk.state(), 0
    for n in range(1, 60):
        statements = draw(rnd, n)
        error = transact(disk, statements)
        after = disk.state()
        if error:
            full += 1
            assert error.sqlstate == "53100", f"{error.sqlstate} {error.message}: {statements}"
            assert after == before, f"{before} became {after} by what failed: {statements}"
        if error or rnd.random() < 0.1:
            disk.close()
            disk.open()
            assert disk.state() == after, f"{after} became {disk.state()} when opened again, after {statements}"
        before = after
        if full == 6:
            break
    return full


def run(folder, kilobytes):
    disk = Disk(folder, kilobytes)
    try:
        for sql in ("CREATE TABLE t(a int, x text)", "CREATE TABLE u(k int PRIMARY KEY, y text)"):
            assert not disk.run(sql).error
        full = fill(disk, random.Random(kilobytes))
        disk.grow()
        error = disk.run("INSERT INTO t SELECT i, 'room ' || i FROM generate_series(1, 20000) g(i)").error
        assert not error, f"with room again: {error.message}"
        state = disk.state()
        disk.close()
        disk.open()
        assert disk.state() == state, "what was written when there was room again is not there"
        return full
    finally:
        disk.unmount()


def main():
    with tempfile.TemporaryDirectory(prefix="tcudb-full-") as folder:
        full = sum(run(folder, kilobytes) for kilobytes in SIZES)
    print(f"{len(SIZES)} disks, {full} times full")
    sys.exit(0 if full > len(SIZES) else 1)


main()
