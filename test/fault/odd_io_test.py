"""Interrupted and short system calls: every N-th call on a file ends with EINTR, others transfer one byte. Nobody may
notice: the same output, the same files written, and a database that reads the same (fail_nth.c, odd:N)."""
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("BUILD", "build"))
SCRIPT = """
CREATE TABLE t(k int PRIMARY KEY, s text, d date);
COPY t FROM 'in.csv' (FORMAT csv, HEADER);
UPDATE t SET s = s || '!' WHERE k % 10 = 0; DELETE FROM t WHERE k BETWEEN 500 AND 599;
CREATE TABLE many AS SELECT i AS k, i / 100 AS v, 'word ' || i % 5000 AS w FROM generate_series(1, 70000) g(i);
DROP TABLE many; ALTER TABLE t ADD COLUMN z int DEFAULT 7;
SELECT count(*), sum(k), min(s), max(s), max(d) FROM t;
SELECT count(*), sum(a), max(c) FROM 'in.csv' f(a, b, c);
SELECT count(*) FROM 'in.csv.gz';
SELECT * FROM 'wide.csv';
COPY (SELECT * FROM t ORDER BY k) TO 'out.csv' (FORMAT csv);
"""
READ = "SELECT * FROM t ORDER BY k"


def run(folder, odd, *arguments, sql=None):
    env = dict(os.environ, HOME=str(folder))
    if odd:
        env.update(LD_PRELOAD=str((BUILD / "test/libfail_nth.so").resolve()), TCUDB_FAIL=f"odd:{odd}")
    done = subprocess.run([str((BUILD / "tcudb").resolve()), *arguments], cwd=folder, input=sql, env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240, errors="replace")
    return done.returncode, done.stdout


def contents(path):
    return path.read_bytes() if path.exists() else None


def everything(odd):
    """What the program says and leaves: the database is read without faults, but also with."""
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "in.csv").write_text("k,s,d\n" + "".join(f"{i},\"text, {i % 77}\",2020-01-{i % 28 + 1:02}\n" for i in range(3000)))
    subprocess.run(["gzip", "-kn", folder / "in.csv"], check=True)
    (folder / "wide.csv").write_bytes("a,b\n1,grün\n2,日本𝄞\n".encode("utf-16"))
    (folder / "numbers.txt").write_text("".join(f"{i * i}\n" for i in range(2000)))
    seen = [run(folder, odd, "-X", "-q", "--csv", "db.tcu", sql=SCRIPT), contents(folder / "out.csv"),
            run(folder, odd, "-X", "-q", "--csv", "--readonly", "db.tcu", sql=READ), run(folder, 0, "-X", "-q", "--csv", "db.tcu", sql=READ)]
    for arguments in (["encode", "numbers.txt", "-o", "numbers.tcl"], ["verify", "numbers.tcl"], ["decode", "numbers.tcl", "-o", "back.txt"]):
        seen.append(run(folder, odd, "codec", *arguments)[0])
    return seen + [contents(folder / "numbers.tcl"), contents(folder / "back.txt")]


def main():
    if not (BUILD / "test/libfail_nth.so").exists() or os.environ.get("SANITIZE"):
        print("no fault injector, or a sanitizer's allocator that cannot be preloaded over")
        sys.exit(77)
    plain, bad = everything(0), 0
    assert plain[0][0] == 0 and "ERROR" not in plain[0][1] and plain[4:7] == [0, 0, 0], plain
    for odd in (3, 5, 8, 13):
        for what, got, want in zip(("script", "COPY TO", "read", "read later", "encode", "verify", "decode", "list", "back"),
                                   everything(odd), plain):
            if got != want:
                bad += 1
                print(f"odd:{odd}: {what} differs: {str(got)[:300]}")
    print(f"{bad} differences")
    sys.exit(1 if bad else 0)


main()
