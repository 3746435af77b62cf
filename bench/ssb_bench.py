"""The Star Schema Benchmark, tcudb against DuckDB on the same files and threads: loading, the 13 queries, memory; and
tcudb's cold start.

Each engine runs in a process of its own (this script with an engine's name), loads the same .tbl files into memory
with COPY, answers every query BENCH_RUNS times (default 5) and reports the best time. Answers are compared. The files
are made by tcudb's generator in a scratch folder.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from engines import BUILD, ENGINES, THREADS

HERE = pathlib.Path(__file__).resolve().parent
SCALE = float(os.environ.get("BENCH_SCALE", "1"))
RUNS = int(os.environ.get("BENCH_RUNS", "5"))
TABLES = ["part", "supplier", "customer", "date", "lineorder"]


def queries():
    """Name and text of the 13 queries, from the demo's list."""
    text = (HERE.parent / "src/shell/demo_queries.def").read_text()
    for group, name, rest in re.findall(r'DEMO_QUERY\((\w+), "([^"]+)",(.*?)\)\n', text, re.S):
        if group == "DEMO_SSB":
            yield name, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', rest)[2:])


def memory(field):
    for line in open("/proc/self/status"):
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def work(engine, folder):
    """One engine's numbers, as JSON on standard output."""
    db = ENGINES[engine]()
    for statement in (folder / "schema.sql").read_text().split(";"):
        if statement.strip():
            db.run(statement)
    before, load = memory("VmRSS"), {}
    for table in TABLES:
        started = time.perf_counter()
        db.copy(table, folder / f"{table}.tbl")
        load[table] = time.perf_counter() - started
    out = {"load": load, "rss": memory("VmRSS"), "rss_before": before, "queries": {}, "rows": {}}
    for name, sql in queries():
        best = None
        for _ in range(RUNS):
            rows = db.run(sql)
            best = db.seconds if best is None else min(best, db.seconds)
        out["queries"][name], out["rows"][name] = best, sorted(rows, key=str)
    out["peak"] = memory("VmHWM")
    json.dump(out, sys.stdout)


def make_files(folder):
    """Schema and data by tcudb's own generator."""
    db = ENGINES["tcudb"]()
    run = db.run
    run(f"CALL ssb(scale => {SCALE})")
    schema = []
    for table in TABLES:
        columns = []
        result = db.db.run(f"SELECT * FROM {table} LIMIT 0")
        for name, kind in zip(result.columns, result.types):
            columns.append(f"{name} {kind} NOT NULL")
        schema.append(f"CREATE TABLE {table} ({', '.join(columns)});\n")
        run(f"COPY {table} TO '{folder}/{table}.tbl' (FORMAT csv, DELIMITER '|')")
    (folder / "schema.sql").write_text("".join(schema))
    return run("SELECT count(*) FROM lineorder")[0][0]


def run_engine(engine, interpreter, folder):
    done = subprocess.run([interpreter, __file__, engine, str(folder)], capture_output=True, text=True,
                          env=dict(os.environ, BUILD=str(BUILD)))
    if done.returncode != 0:
        raise RuntimeError(f"{engine}: {done.stderr.strip().splitlines()[-1] if done.stderr else 'failed'}")
    return json.loads(done.stdout)


def cold_start():
    times = []
    for _ in range(20):
        started = time.perf_counter()
        subprocess.run([str(BUILD / "tcudb"), "-X", "-c", "select 1"], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def line(what, ours, theirs, unit="ms", factor=1e3):
    ratio = f"{theirs / ours:8.2f}x" if theirs else ""
    peer = f"{theirs * factor:10.1f}" if theirs else " " * 10
    print(f"{what:<22}{ours * factor:10.1f} {peer} {unit:<3}{ratio}")


def report(ours, theirs, size):
    get = lambda path: theirs and path(theirs)
    print(f"\n{'':22}{'tcudb':>10} {'DuckDB' if theirs else '':>10}    DuckDB / tcudb")
    for name in ours["queries"]:
        line(name, ours["queries"][name], get(lambda t: t["queries"][name]))
    line("sum of the 13", sum(ours["queries"].values()), get(lambda t: sum(t["queries"].values())))
    line("load, COPY of 5 tables", sum(ours["load"].values()), get(lambda t: sum(t["load"].values())))
    line("  lineorder alone", ours["load"]["lineorder"], get(lambda t: t["load"]["lineorder"]))
    line("memory after load", ours["rss"], get(lambda t: t["rss"]), "MB", 1e-6)
    line("memory, highest", ours["peak"], get(lambda t: t["peak"]), "MB", 1e-6)
    print(f"{'raw text':<22}{size * 1e-6:10.1f} {'':10} MB")
    line("cold start", cold_start(), None)
    if not theirs:
        return 0
    wrong = [q for q in ours["queries"] if ours["rows"][q] != theirs["rows"][q]]
    print("answers: " + (f"DIFFERENT in {', '.join(wrong)}" if wrong else "equal in all 13 queries"))
    return 1 if wrong else 0


def main():
    if len(sys.argv) == 3:
        return work(sys.argv[1], pathlib.Path(sys.argv[2]))
    import peer
    with tempfile.TemporaryDirectory(prefix="tcudb-bench-") as name:
        folder = pathlib.Path(name)
        rows = make_files(folder)
        size = sum((folder / f"{t}.tbl").stat().st_size for t in TABLES)
        print(f"Star Schema Benchmark, scale {SCALE:g}: {rows} rows in lineorder, {size / 1e6:.0f} MB of text; "
              f"{THREADS} threads, best of {RUNS} runs, load average {os.getloadavg()[0]:.1f}")
        interpreter = peer.python(BUILD)
        ours = run_engine("tcudb", sys.executable, folder)
        theirs = run_engine("duckdb", interpreter, folder) if interpreter else None
        return report(ours, theirs, size)


sys.exit(main())
