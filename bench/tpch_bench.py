"""TPC-H's 22 queries, tcudb against DuckDB in the same run and on the same threads.

The data is the scale 0.01 sample beside the checkout, BENCH_COPIES times over (default 50, half of scale 1) with keys
of its own in each copy, made by the same SQL in both engines. Best of BENCH_RUNS runs (default 3). Answers are compared:
numbers to 12 digits, since DuckDB's avg is a double.
"""
import gzip
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

from engines import BUILD, ENGINES, THREADS

HERE = pathlib.Path(__file__).resolve().parent
RUNS = int(os.environ.get("BENCH_RUNS", "3"))
COPIES = int(os.environ.get("BENCH_COPIES", "50"))
DATA = pathlib.Path(os.environ.get("TCUDB_DATA", HERE.parent.parent / "shared/data")) / "tpch"
ONCE = ("nation", "region")
TIES = {"q03": 0, "q10": 0}  # a column in which the copies' rows differ that tie for the last places: not compared
# table: key columns, and how many of each key the sample has
KEYS = {"part": {"p_partkey": 2000}, "supplier": {"s_suppkey": 100}, "partsupp": {"ps_partkey": 2000, "ps_suppkey": 100},
        "customer": {"c_custkey": 1500}, "orders": {"o_orderkey": 60000, "o_custkey": 1500},
        "lineitem": {"l_orderkey": 60000, "l_partkey": 2000, "l_suppkey": 100}}


def columns(table):
    """The names of a table's columns, in the schema's order."""
    text = (DATA / "schema.sql").read_text().lower()
    body = text[text.index(f"create table {table} "):].split(";")[0]
    return [line.split()[0] for line in body[body.index("(") + 1:].splitlines() if len(line.split()) > 1]


def load(db, folder):
    for statement in (DATA / "schema.sql").read_text().split(";"):
        if "CREATE" in statement:
            db.run(statement[statement.index("CREATE"):])
    for table in (*ONCE, *KEYS):
        text = gzip.open(DATA / f"tbl/{table}.tbl.gz", "rt").read()
        (folder / table).write_text(text.replace("|\n", "\n"))
        db.copy(table, folder / table)
    for table, keys in KEYS.items():
        values = [f"CAST({c} + copy * {keys[c]} AS integer) AS {c}" if c in keys else c for c in columns(table)]
        db.run(f"ALTER TABLE {table} RENAME TO {table}_once")
        db.run(f"CREATE TABLE {table} AS SELECT {', '.join(values)} FROM {table}_once, generate_series(0, {COPIES - 1}) g(copy)")


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


def run_engine(engine, interpreter):
    done = subprocess.run([interpreter, __file__, engine], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{engine}: {done.stderr.strip().splitlines()[-1] if done.stderr else 'failed'}")
    return json.loads(done.stdout)


def same(a, b):
    if a == b:
        return True
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-12)
    except (TypeError, ValueError):
        return isinstance(a, str) and isinstance(b, str) and a.rstrip() == b.rstrip()  # char(n) is padded


def equal(ours, theirs, tie):
    """As bags: rows with equal sort keys may come in either order."""
    ours, theirs = ([[v for i, v in enumerate(row) if i != tie] for row in rows] for rows in (ours, theirs))
    key = lambda row: [("" if v is None else v).rstrip()[:9] for v in row]
    ours, theirs = sorted(ours, key=key), sorted(theirs, key=key)
    return len(ours) == len(theirs) and all(all(map(same, a, b)) for a, b in zip(ours, theirs))


def main():
    if len(sys.argv) == 2:
        return work(sys.argv[1])
    if not DATA.exists():
        print("TPC-H: the sample data is not beside the checkout")
        return 77
    import peer
    print(f"TPC-H, {COPIES} copies of scale 0.01; {THREADS} threads, best of {RUNS} runs, load average {os.getloadavg()[0]:.1f}; "
          "milliseconds")
    interpreter = peer.python(BUILD)
    ours = run_engine("tcudb", sys.executable)
    theirs = run_engine("duckdb", interpreter) if interpreter else {}
    print(f"{'':22}{'tcudb':>10}{'DuckDB':>10}    DuckDB / tcudb")
    ratios, different = [], []
    for name, mine in ours.items():
        other = theirs.get(name)
        tail = ""
        if other:
            ratios.append(other["seconds"] / mine["seconds"])
            tail = f"{other['seconds'] * 1e3:10.1f}{ratios[-1]:10.2f}x"
            if not equal(mine["rows"], other["rows"], TIES.get(name)):
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
