"""TPC-H's tables for benchmarks: the scale 0.01 sample beside the checkout, BENCH_COPIES times over (default 50, half of
scale 1) with keys, names, addresses and comments of its own in each copy, made by the same SQL in every engine. And how answers are
compared.
"""
import gzip
import json
import math
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
COPIES = int(os.environ.get("BENCH_COPIES", "50"))
DATA = pathlib.Path(os.environ.get("TCUDB_DATA", HERE.parent.parent / "shared/data")) / "tpch"
ONCE = ("nation", "region")
# table: key columns, and how many of each key the sample has
KEYS = {"part": {"p_partkey": 2000}, "supplier": {"s_suppkey": 100}, "partsupp": {"ps_partkey": 2000, "ps_suppkey": 100},
        "customer": {"c_custkey": 1500}, "orders": {"o_orderkey": 60000, "o_custkey": 1500},
        "lineitem": {"l_orderkey": 60000, "l_partkey": 2000, "l_suppkey": 100}}
# Texts of which every row of the benchmark's own data has one, or nearly: they must not repeat with the copies.
OWN = {"c_name", "c_address", "c_comment", "s_name", "s_address", "s_comment", "o_comment", "l_comment", "ps_comment", "p_comment"}


def value(column, keys):
    if column in keys:
        return f"CAST({column} + copy * {keys[column]} AS integer) AS {column}"
    return f"CAST({column} AS text) || ' ' || copy AS {column}" if column in OWN else column


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
        values = [value(column, keys) for column in columns(table)]
        db.run(f"ALTER TABLE {table} RENAME TO {table}_once")
        db.run(f"CREATE TABLE {table} AS SELECT {', '.join(values)} FROM {table}_once, generate_series(0, {COPIES - 1}) g(copy)")


def run_engine(script, engine, interpreter, *arguments):
    """What `script engine arguments` prints, which is JSON."""
    done = subprocess.run([interpreter, script, engine, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{engine}: {done.stderr.strip().splitlines()[-1] if done.stderr else 'failed'}")
    return json.loads(done.stdout)


def same(a, b, digits):
    if a == b:
        return True
    try:
        return math.isclose(float(a), float(b), rel_tol=digits)
    except (TypeError, ValueError):
        return isinstance(a, str) and isinstance(b, str) and a.rstrip() == b.rstrip()  # char(n) is padded


def equal(ours, theirs, ties=(), digits=1e-12):
    """As bags: rows with equal sort keys may come in either order. Columns in `ties` are not compared."""
    ours, theirs = ([[v for i, v in enumerate(row) if i not in ties] for row in rows] for rows in (ours, theirs))
    key = lambda row: [("" if v is None else v).rstrip()[:9] for v in row]
    ours, theirs = sorted(ours, key=key), sorted(theirs, key=key)
    return len(ours) == len(theirs) and all(len(a) == len(b) and all(same(x, y, digits) for x, y in zip(a, b))
                                            for a, b in zip(ours, theirs))
