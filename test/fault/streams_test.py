"""The shell with any of its standard streams closed: statements run, the database is whole, and output that goes nowhere is
an error."""
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("BUILD", "build"))


def shell(database, closed, *commands):
    def close():
        for fd in closed:
            os.close(fd)
    arguments = [word for command in commands for word in ("-c", command)]
    return subprocess.run([str(BUILD / "tcudb"), "-X", "-qAt", str(database), *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=close, timeout=120)


def main():
    database, faults, rows = pathlib.Path(tempfile.mkdtemp()) / "db.tcu", [], 0
    shell(database, [], "CREATE TABLE t(a int, s text)")
    for closed in [c for n in range(4) for c in itertools.combinations(range(3), n)]:
        ran = shell(database, closed, "INSERT INTO t SELECT i, 's' || i FROM generate_series(1, 1000) g(i)", "SELECT count(*) FROM t")
        rows += 1000
        if ran.returncode != (1 if 1 in closed else 0):
            faults.append(f"closed {closed}: status {ran.returncode} {ran.stderr!r}")
        seen = shell(database, [], "SELECT count(*), count(DISTINCT s) FROM t")
        if seen.stdout != f"{rows}|1000\n":
            faults.append(f"after closed {closed}: {seen.stdout!r} {seen.stderr!r}")
    print("\n".join(faults))
    print(f"8 sets of closed streams, {len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
