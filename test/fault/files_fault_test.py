"""Every allocation and every file call fails once while files are read, written and generated: the statement reports
it, the process ends in order, and a COPY or CALL has added all of its rows or none.

TCUDB_FAULTS=all tries every call; else CI samples them. See fault_test.py.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
DATA = pathlib.Path(__file__).resolve().parent.parent / "sql/files/data"
SAMPLES = int(os.environ.get("TCUDB_FAULTS", "50").replace("all", "0"))
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="tcudb-faults-"))
# \\set ON_ERROR_STOP off: what follows a failed statement runs too, and the counts at the end are always printed
SCRIPT = f"""
\\set ON_ERROR_STOP 0
CREATE TABLE t (id int, name text, price numeric(6,2), day date, ok boolean);
COPY t FROM '{DATA}/items.csv' (FORMAT csv, HEADER);
COPY t FROM '{DATA}/items.csv.gz' (FORMAT csv, HEADER);
SELECT count(*), sum(price) FROM read_csv('{DATA}/items.csv.gz') WHERE id > 1;
SELECT * FROM '{DATA}/komma.csv';
SELECT * FROM read_csv('{DATA}/part*.tbl', columns => 'a int, b text, c text', filename => true);
SELECT * FROM read_csv('{DATA}/bad.csv', types => 'a int', null_padding => false, ignore_errors => true);
COPY t FROM '{DATA}/bad.csv' (FORMAT csv, HEADER);
COPY t TO '{FOLDER}/out.csv' (FORMAT csv, HEADER);
CALL ssb(scale => 0.001);
CALL micro(n => 100, k => 5);
SELECT 'copied', count(*) FROM t;
SELECT 'called', count(*) FROM lineorder;
"""


def run(fail):
    reader, writer = os.pipe()
    env = dict(os.environ, TCUDB_FAIL=fail, TCUDB_FAIL_FD=str(writer), HOME=str(FOLDER))
    if fail:
        env["LD_PRELOAD"] = str(BUILD / "test/libfail_nth.so")
    done = subprocess.run([str(BUILD / "tcudb"), "-q", "-X", "--csv", "-t"], input=SCRIPT, env=env, pass_fds=[writer],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, errors="replace")
    os.close(writer)
    reached = os.read(reader, 16) != b""
    os.close(reader)
    return done.returncode, done.stdout, reached


def judge(code, out, reached, full):
    if code < 0 or code > 3:
        return f"exit status {code}: {out.strip()[-300:]}"
    counts = {word: int(n or -1) for word, _, n in (line.partition(",") for line in out.splitlines()) if word in full}
    if counts.get("copied", 0) not in (0, 3, 6):
        return f"half a COPY: {counts}"
    if counts.get("called", full["called"]) != full["called"]:
        return f"half a CALL: {counts}"
    said = "ERROR" in out or (code == 1 and "tcudb: out of memory" in out)  # of a statement, or the shell's own
    if reached and not said and counts != full:
        return "a fault without an error, and rows are missing"
    return None


def calls(kind):
    low, high = 1, 1
    while run(f"{kind}:{high}")[2]:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if run(f"{kind}:{middle}")[2] else (low, middle)
    return low


def main():
    if not (BUILD / "test/libfail_nth.so").exists() or os.environ.get("SANITIZE"):
        print("no fault injector, or a sanitizer's allocator that cannot be preloaded over")
        return 77
    full = {"copied": 6, "called": 0}
    for line in run("")[1].splitlines():
        if line.startswith("called,"):
            full["called"] = int(line.split(",")[1])
    assert full["called"] > 0
    tried, faults = 0, []
    for kind in ("alloc", "io"):
        total = calls(kind)
        step = max(1, total // SAMPLES) if SAMPLES else 1
        for n in range(1, total + 1, step):
            for onwards in ("", "+"):
                tried += 1
                problem = judge(*run(f"{kind}:{n}{onwards}"), full)
                if problem:
                    faults.append(f"{kind}:{n}{onwards}: {problem}")
        print(f"{kind}: {total} calls, every {step}. failed")
    print("\n".join(faults[:15]))
    print(f"{tried} faults tried, {len(faults)} handled badly")
    return 1 if faults else 0


sys.exit(main())
