#!/usr/bin/env python3
"""Small commits: 1,000 one-row autocommit INSERTs against the disk's own append-and-fsync, in the same run.

usage: bench/commit_bench.py [FOLDER]    (BUILD, BENCH_RUNS default 5; FOLDER: on the disk to measure)

The disk: 96 bytes appended to a file and made durable (fdatasync), 1,000 times, as the log of a database does it. tcudb:
the whole program, which reads the statements from a pipe. Rounds alternate; printed are each rate, their ratio, and how
many files the database has in the end.
"""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
N = 1000
RECORD = 96
INSERTS = "".join(f"INSERT INTO t VALUES ({i}, 'text {i}');\n" for i in range(N))


def disk(folder):
    fd = os.open(folder / "log", os.O_WRONLY | os.O_CREAT)
    began = time.monotonic()
    for i in range(N):
        os.pwrite(fd, b"x" * RECORD, i * RECORD)
        os.fdatasync(fd)
    seconds = time.monotonic() - began
    os.close(fd)
    os.remove(folder / "log")
    return N / seconds


def tcudb(database, sql):
    subprocess.run([str(BUILD / "tcudb"), "-X", "-q", str(database)], input=sql, text=True, check=True)


def inserts(folder):
    database = folder / "db.tcu"
    tcudb(database, "CREATE TABLE t(a int, b text);")
    began = time.monotonic()
    tcudb(database, INSERTS)
    seconds = time.monotonic() - began
    files = len(list(database.iterdir()))
    shutil.rmtree(database)
    return N / seconds, files


def main():
    folder = pathlib.Path(tempfile.mkdtemp(dir=sys.argv[1] if len(sys.argv) > 1 else None, prefix="tcudb-commit-"))
    rates = []
    for _ in range(int(os.environ.get("BENCH_RUNS", "5"))):
        own, (ours, files) = disk(folder), inserts(folder)
        rates.append((own, ours))
        print(f"disk {own:7.0f} a second   tcudb {ours:7.0f} a second   {ours / own:4.2f} of it   {files} files")
    own, ours = (statistics.median(r[i] for r in rates) for i in (0, 1))
    print(f"commits: disk {own:.0f}, tcudb {ours:.0f} a second: {ours / own:.2f} of the disk's rate")
    shutil.rmtree(folder)


main()
