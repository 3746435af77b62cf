"""The places that a database may lie in: a full disk, a read-only file system, folders without permission, limits of the
process. The statement fails and says where and what to do; the database is as before; readers go on; when the place is
good again, so is the database.

File systems are mounted in a mount namespace of the test's own; where that is not allowed those cases are left out.
"""
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
STATE = "SELECT count(*), sum(k), count(DISTINCT s) FROM t"
failures = []


def tcudb(database, *sql, options=(), user=None, before=None):
    command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
    command += [str(BUILD / "tcudb"), "-X", "-qAt", *options, str(database)]
    for statement in sql:
        command += ["-c", statement]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=240, preexec_fn=before, env=dict(os.environ, HOME="/nonexistent"))
    return done.returncode, done.stdout.strip()


def check(what, good, seen=""):
    print(f"{'ok' if good else 'FAILED'}: {what}{'' if good else ': ' + str(seen)[-300:]}")
    if not good:
        failures.append(what)


def refused(what, result, *parts):
    """An error that has all these parts."""
    check(what, result[0] in (2, 3) and all(part in result[1] for part in ("ERROR:", *parts)), result)


def same(what, database, want, options=()):
    result = tcudb(database, STATE, options=options)
    check(what, result == (0, want), result)


def mount(folder, options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], check=True)


def used(folder):
    st = os.statvfs(folder)
    return (st.f_blocks - st.f_bfree) * st.f_bsize


def fill(folder, leave=0):
    """Takes all of a file system's room but so many bytes."""
    st = os.statvfs(folder)
    with open(folder / "fill", "wb", buffering=0) as f:
        try:
            for _ in range(max(0, st.f_bavail - leave // st.f_bsize)):
                f.write(bytes(st.f_bsize))
        except OSError:
            pass


def new_database(folder, rows=20000):
    database = folder / "db.tcu"
    code, out = tcudb(database, f"CREATE TABLE t AS SELECT i AS k, 'x' || i % 100 AS s FROM generate_series(1, {rows}) g(i)", STATE)
    assert code == 0, out
    return database, out


def texts(n, salt):
    return f"SELECT i, md5(i::text || '{salt}') FROM generate_series(1, {n}) g(i)"


def full_disk(folder):
    mount(folder, "size=4m")
    database, state = new_database(folder)
    reader = subprocess.Popen([str(BUILD / "tcudb"), "-X", "-qAt", "--readonly", str(database)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, bufsize=1)

    def reads(what):
        reader.stdin.write(STATE + ";\n")
        got = reader.stdout.readline().strip()
        check(what, got == state, got)
    reads("a reader reads")
    room = used(folder)
    refused("a load larger than the disk", tcudb(database, f"INSERT INTO t {texts(300000, 'a')}"), "No space left", str(database),
            "HINT:  Free some space")
    check("gives its space back", used(folder) <= room + 65536, (room, used(folder)))
    same("and leaves the rows", database, state)
    reads("the reader goes on")
    (folder / "in.csv").write_text("".join(f"{i},{i * 7919}\n" for i in range(30000)))
    fill(folder)
    for sql in ("UPDATE t SET k = k + 1, s = s || k", f"INSERT INTO t {texts(20000, 'b')}", f"CREATE TABLE u AS {texts(20000, 'c')}",
                f"COPY t FROM '{folder}/in.csv' (FORMAT csv)", "DELETE FROM t WHERE k % 3 = 0", "ALTER TABLE t ADD COLUMN z text DEFAULT repeat('z', 9000)"):
        refused(sql[:40], tcudb(database, sql), "No space left", str(database), "HINT:  Free some space")
        same("  the rows are as before", database, state)
    for sql in ("CREATE UNIQUE INDEX ON t (k)", "ALTER TABLE t ADD CHECK (k > 0)", "CREATE VIEW v AS SELECT 1", "CHECKPOINT", "VACUUM"):
        code, out = tcudb(database, sql)  # small enough for the last block, or not
        check(sql, code == 0 or (code == 3 and "No space left" in out), (code, out))
        same("  the rows are as before", database, state)
    refused("a transaction", tcudb(database, f"BEGIN; DELETE FROM t; INSERT INTO t {texts(20000, 'd')}; COMMIT"), "No space left")
    refused("COPY TO", tcudb(database, f"COPY t TO '{folder}/out.csv'"), "No space left", f"{folder}/out.csv", "HINT:")
    refused("a new database", tcudb(folder / "new.tcu", "SELECT 1"), "No space left", "new.tcu")
    reads("the reader goes on")
    same("opened read-only", database, state, options=["--readonly"])
    reader.stdin.close()
    reader.wait()
    os.remove(folder / "fill")
    result = tcudb(database, "INSERT INTO t SELECT i + 1000000, md5(i::text) FROM generate_series(1, 5000) g(i)",
                   "SELECT count(*) FROM t")  # not the keys of an index that may have been made
    check("with room again", result == (0, "25000"), result)
    check("the new database too", tcudb(folder / "new.tcu", "CREATE TABLE x(a int)", "SELECT count(*) FROM x") == (0, "0"))


def no_room_to_fold(folder):
    mount(folder, "size=24m")
    database, _ = new_database(folder)
    for salt in "abc":
        code, out = tcudb(database, "SET tcudb.threads = 1", f"INSERT INTO t {texts(30000, salt)}", "\\! kill -9 $PPID")
        check("a load that stays in the log", code == -signal.SIGKILL and out == "", (code, out))
    fill(folder, leave=3 << 20)
    code, out = tcudb(database, f"INSERT INTO t {texts(30000, 'd')}", "SELECT count(*) FROM t", "\\! kill -9 $PPID")
    check("a commit without room to fold is a commit", "140000" in out and "ERROR" not in out, out)
    fill(folder)
    check("opened on the full disk, it reads", tcudb(database, "SELECT count(*) FROM t") == (0, "140000"))


def read_only_system(folder):
    mount(folder, "size=4m")
    database, state = new_database(folder)
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    refused("a database on a read-only file system", tcudb(database, STATE), "Read-only file system", str(database), "--readonly")
    same("opened read-only", database, state, options=["--readonly"])
    refused("a write", tcudb(database, "DELETE FROM t", options=["--readonly"]), "read-only")
    refused("a new database", tcudb(folder / "new.tcu", "SELECT 1"), "Read-only file system", "HINT:  Choose a folder")


def permissions(folder, user):
    database, state = new_database(folder)
    folder.chmod(0o555)
    database.chmod(0o555)
    for f in database.iterdir():
        f.chmod(0o444)
    refused("another's database", tcudb(database, STATE, user=user), "Permission denied", str(database), "--readonly")
    check("read", tcudb(database, STATE, options=["--readonly"], user=user) == (0, state))
    refused("a new one in another's folder", tcudb(folder / "new.tcu", "SELECT 1", user=user), "Permission denied",
            "HINT:  Choose a folder")
    (database / "manifest").chmod(0)
    refused("unreadable", tcudb(database, STATE, options=["--readonly"], user=user), "Permission denied", "HINT:")
    folder.chmod(0o755)
    refused("a folder that is not there", tcudb(folder / "no/x.tcu", "SELECT 1"), "No such file", "HINT:  Make the folder")


def limits(folder):
    database, state = new_database(folder)
    refused("a limit on sizes", tcudb(database, f"CREATE TABLE u AS {texts(100000, 'f')}",
                                      before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))),
            "File too large", str(database), "ulimit -f")
    same("the rows are as before", database, state)
    result = tcudb(database, STATE, before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5)))
    check("few descriptors", result == (0, state) or "HINT" in result[1], result)


def killed_copy(folder):
    database, state = new_database(folder)
    out = folder / "out.csv"
    running = subprocess.Popen([str(BUILD / "tcudb"), "-X", "-qAt", str(database), "-c",
                                f"COPY (SELECT a.k, b.s FROM t a CROSS JOIN t b) TO '{out}'"])
    while running.poll() is None and not (out.exists() and out.stat().st_size > 0):
        time.sleep(0.01)
    running.kill()
    check("COPY TO was running", running.wait() == -signal.SIGKILL)
    same("after kill -9 in COPY TO", database, state)
    check("and it is written to", tcudb(database, "DELETE FROM t", "SELECT count(*) FROM t") == (0, "0"))


def folder():
    made = pathlib.Path(tempfile.mkdtemp())
    made.chmod(0o755)
    return made


def main():
    root = os.geteuid() == 0
    if len(sys.argv) == 1:
        again = ["unshare", "-m" if root else "-rm", sys.executable, __file__, "mounts"]
        if subprocess.run(again[:2] + ["sh", "-c", "mount -t tmpfs none /mnt"], stderr=subprocess.DEVNULL).returncode == 0:
            os.execvp(again[0], again)
        print("no mounts are allowed here: full and read-only file systems are left out")
    else:
        full_disk(folder())
        no_room_to_fold(folder())
        read_only_system(folder())
    if root:
        pathlib.Path(tempfile.gettempdir()).chmod(0o755)
        program = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(BUILD / "tcudb"), "--version"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if program.returncode == 0:
            permissions(folder(), 65534)
        else:
            print("another user may not run the program from here: permissions are left out")
    limits(folder())
    killed_copy(folder())
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
