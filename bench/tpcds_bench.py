"""TPC-DS's 99 queries, tcudb against DuckDB by turns and on the same threads.

Data and queries come from an old DuckDB wheel that bundled TPC's generators (bench/tpc_data.py), the peer is the present
one. The scale is BENCH_DS_SCALE (default 0.5). "first" is a query's first run after the load, the other columns the best of
BENCH_RUNS more. Answers are compared: numbers to 12 digits, since DuckDB's avg is a double.

usage: tpcds_bench.py [QUERY...]
"""
import math
import os
import sys

from engines import BUILD, THREADS
from tpc_data import folder
from tpch_data import equal
from turns import RUNS, Turns

SCALE = os.environ.get("BENCH_DS_SCALE", "0.5")


def report(names, results, different):
    geometric = lambda ratios: math.exp(sum(map(math.log, ratios)) / len(ratios))
    ours, theirs = ({name: results[engine][name] for name in names} for engine in ("tcudb", "duckdb"))
    for label, column in (("sum", 1), ("sum of first runs", 0)):
        a, b = (sum(r[column] for r in side.values()) for side in (ours, theirs))
        print(f"{label:22}{a * 1e3:10.1f}{b * 1e3:10.1f}{b / a:10.2f}x")
    for label, column in (("best", 1), ("first", 0)):
        ratios = [theirs[n][column] / ours[n][column] for n in names]
        print(f"geometric mean of the ratios, {label} runs: {geometric(ratios):.2f}x; "
              f"slower in {sum(r < 1 for r in ratios)} of {len(ratios)}")
    print("answers: " + (f"DIFFERENT in {', '.join(different)}" if different else f"equal in all {len(names)} queries"))


def main():
    import peer
    data = folder("tpcds", SCALE)
    if data is None:
        return 77
    print(f"TPC-DS, scale {SCALE}; {THREADS} threads, best of {RUNS} runs, load average {os.getloadavg()[0]:.1f}; milliseconds")
    engines = Turns(data, peer.python(BUILD))
    results, different, names = {"tcudb": {}, "duckdb": {}}, [], []
    print(f"{'':8}{'tcudb':>10}{'first':>10}{'DuckDB':>12}{'first':>10}    DuckDB / tcudb")
    for path in sorted((data / "queries").glob("*.sql")):
        name, line = "q" + path.stem, ""
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        names.append(name)
        for engine in engines.processes:
            result = results[engine][name] = engines.run(engine, path.read_text().replace(") AT,", ") AS morning,"))  # AT is reserved in DuckDB
            line += f"{result[1] * 1e3:{10 if engine == 'tcudb' else 12}.1f}{result[0] * 1e3:10.1f}"
        if "duckdb" in engines.processes:
            ours, theirs = results["tcudb"][name], results["duckdb"][name]
            if not equal(ours[2], theirs[2]):
                different.append(name)
            line += f"{theirs[1] / ours[1]:10.2f}x{theirs[0] / ours[0]:8.2f}x first"
        print(f"{name:8}{line}", flush=True)
    print("load: " + ", ".join(f"{engine} {seconds:.1f} s" for engine, seconds in engines.load.items()))
    if "duckdb" in engines.processes:
        report(names, results, different)
    engines.close()
    return 1 if different else 0


sys.exit(main())
