"""TPC's queries on data of TPC's generators, tcudb and DuckDB by turns: the table that tpcds_bench.py and tpch_bench.py print."""
import math
import os

from engines import BUILD, THREADS
from tpc_data import folder
from tpch_data import equal
from turns import PROCESSORS, RUNS, Turns


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


def main(kind, title, scale, only):
    """kind: tpc_data's; only: names of queries, or none for all."""
    import peer
    data = folder(kind, scale)
    if data is None:
        return 77
    print(f"{title}, scale {scale}; {THREADS} threads, best of {RUNS} runs, load average {os.getloadavg()[0]:.1f}; "
          f"milliseconds{' of processors' if PROCESSORS else ''}")
    engines = Turns(data, peer.python(BUILD))
    results, different, names = {"tcudb": {}, "duckdb": {}}, [], []
    print(f"{'':8}{'tcudb':>10}{'first':>10}{'DuckDB':>12}{'first':>10}    DuckDB / tcudb")
    for path in sorted((data / "queries").glob("*.sql")):
        name, line = "q" + path.stem, ""
        if only and name not in only:
            continue
        names.append(name)
        sql = path.read_text().replace(") AT,", ") AS morning,")  # AT is reserved in DuckDB
        for engine in engines.processes:
            result = results[engine][name] = engines.run(engine, sql)
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
