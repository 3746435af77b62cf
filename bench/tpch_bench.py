"""TPC-H's 22 queries, tcudb against DuckDB in the same run and on the same threads.

The data is bench/tpch_data.py's, or with `--scale 1` what TPC's generator makes (bench/tpc_data.py: an old DuckDB wheel
brings it from PyPI), asked by turns. Best of BENCH_RUNS runs (default 3). Answers are compared: numbers to 12 digits, since
DuckDB's avg is a double.
"""
import json
import math
import os
import pathlib
import sys
import tempfile

from engines import BUILD, ENGINES, THREADS
from tpch_data import COPIES, DATA, equal, load, run_engine

RUNS = int(os.environ.get("BENCH_RUNS", "3"))
TIES = {"q03": {0}, "q10": {0, 1, 5, 7}}  # columns in which the copies' rows differ that tie for the last places


def work(engine):
    db, out = ENGINES[engine](), {}
    with tempfile.TemporaryDirectory(prefix="tcudb-bench-") as name:
        load(db, pathlib.Path(name))
    for path in sorted((DATA / "queries").glob("*.sql")):
        best, rows = math.inf, None
        for _ in range(RUNS):
            seconds = 0
            for statement in path.read_text().split(";"):  # 15 makes a view and drops it
                if statement.strip():
                    answer = db.run(statement)
                    seconds += db.seconds
                    rows = answer or rows
            best = min(best, seconds)
        out[path.stem] = {"seconds": best, "rows": rows}
    json.dump(out, sys.stdout)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--scale":
        import tpc_both
        return tpc_both.main("tpch", "TPC-H", sys.argv[2], [])
    if len(sys.argv) == 2:
        return work(sys.argv[1])
    if not DATA.exists():
        print("TPC-H: the sample data is not beside the checkout")
        return 77
    import peer
    print(f"TPC-H, {COPIES} copies of scale 0.01; {THREADS} threads, best of {RUNS} runs, load average {os.getloadavg()[0]:.1f}; "
          "milliseconds")
    interpreter = peer.python(BUILD)
    ours = run_engine(__file__, "tcudb", sys.executable)
    theirs = run_engine(__file__, "duckdb", interpreter) if interpreter else {}
    print(f"{'':22}{'tcudb':>10}{'DuckDB':>10}    DuckDB / tcudb")
    ratios, different = [], []
    for name, mine in ours.items():
        other = theirs.get(name)
        tail = ""
        if other:
            ratios.append(other["seconds"] / mine["seconds"])
            tail = f"{other['seconds'] * 1e3:10.1f}{ratios[-1]:10.2f}x"
            if not equal(mine["rows"], other["rows"], TIES.get(name, ())):
                different.append(name)
        print(f"{name:22}{mine['seconds'] * 1e3:10.1f}{tail}")
    total = sum(q["seconds"] for q in ours.values())
    if theirs:
        peer_total = sum(q["seconds"] for q in theirs.values())
        print(f"{'sum of the 22':22}{total * 1e3:10.1f}{peer_total * 1e3:10.1f}{peer_total / total:10.2f}x")
        print(f"geometric mean of the ratios: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}x")
        print("answers: " + (f"DIFFERENT in {', '.join(different)}" if different else "equal in all 22 queries"))
    return 1 if different else 0


sys.exit(main())
