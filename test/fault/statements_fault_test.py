"""The scripts of test/oracle/statements, and what only this room has (explain.sql), with an allocation that fails: each
statement is answered as ever or reports an error, and the shell ends in order. So every file of src/ that allocates is
reached: scripts by other tests of this folder are the store's, files' and contractions'.

Which allocation fails is drawn with a fixed seed, low numbers as often as high ones; TCUDB_FAULTS says how many a script
(2). See fault_test.py.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("BUILD", "build"))
SAMPLES = int(os.environ.get("TCUDB_FAULTS", "2").replace("all", "50"))
HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = sorted(HERE.parent.glob("oracle/statements/*.sql")) + [HERE / "explain.sql"]
MOST = 50000  # allocations: about what the longest script makes


def run(script, fail=None):
    """Exit status, lines of rows, how many errors say that memory lacks, whether the fault was reached."""
    reader, writer = os.pipe()
    env = dict(os.environ, HOME=tempfile.gettempdir())
    if fail:
        env.update(LD_PRELOAD=str(BUILD / "test/libfail_nth.so"), TCUDB_FAIL=fail, TCUDB_FAIL_FD=str(writer))
    done = subprocess.run([str(BUILD / "tcudb"), "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=0", "-f", str(script)], env=env,
                          pass_fds=[writer], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=240)
    os.close(writer)
    reached = os.read(reader, 16) != b""
    os.close(reader)
    return done.returncode, sorted(done.stdout.splitlines()), done.stderr.count("out of memory"), reached


def judge(outcome, plain, same):
    code, rows, errors, reached = outcome
    if code < 0 or code > 3:
        return f"exit status {code}"
    if reached and same and errors == plain[2] and rows != plain[1]:
        return "no error, but other rows"
    return None


def main():
    if not (BUILD / "test/libfail_nth.so").exists() or os.environ.get("SANITIZE"):
        print("the build has no fault injector, or a sanitizer's allocator that it cannot be preloaded over")
        sys.exit(77)
    draw, reached, faults = random.Random(4), 0, []
    for script in SCRIPTS:
        plain = run(script)
        same = run(script)[1] == plain[1]  # nothing of the time of day in it
        for _ in range(SAMPLES):
            fail = f"alloc:{int(MOST ** draw.random())}" + draw.choice(["", "+"])
            outcome = run(script, fail)
            problem = judge(outcome, plain, same)
            reached += outcome[3]
            if problem:
                faults.append(f"{script.name} {fail}: {problem}")
    print("\n".join(faults[:20]))
    print(f"{reached} faults in {len(SCRIPTS)} scripts, {len(faults)} handled badly")
    sys.exit(1 if faults or reached == 0 else 0)


main()
