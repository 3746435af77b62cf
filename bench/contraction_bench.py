"""Joins that explode before a GROUP BY: tcudb with contractions, without, and DuckDB, on the same tables and threads.

Each query is wrapped in counts and sums, so that no engine is charged for handing out rows, and the answers are compared.
Tables are made by plain SQL that both engines run, or read from the real inputs beside the checkout. BENCH_RUNS (default
5) runs, best time; what takes longer than ten seconds runs once. BENCH_CASES=A|B runs the cases whose name contains A or
B. BENCH_BIG=0 leaves out the 2048 x 2048 product, for which DuckDB needs a minute. BENCH_CORES=1 measures what BENCH_THREADS
threads gain over one where groups are few instead, of tcudb alone (bench/tensor_cores.c: of products alone).
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RUNS = int(os.environ.get("BENCH_RUNS", "5"))
DATA = pathlib.Path(os.environ.get("TCUDB_DATA", HERE.parent.parent / "shared/data"))
ITUNES = "id int, song int, artist int, album int, genre int, price int, copyright int, elapse int, released int"

MATRIX = """DROP TABLE IF EXISTS a; DROP TABLE IF EXISTS b;
CREATE TABLE a AS SELECT CAST(x.i AS int) AS i, CAST(y.j AS int) AS j, CAST((x.i * 7919 + y.j * 104729 + x.i * y.j) % 255 - 127 AS int)
  AS v FROM generate_series(0, {n} - 1) x(i), generate_series(0, {n} - 1) y(j);
CREATE TABLE b AS SELECT i, j, CAST((v * 31 + i + j) % 127 AS int) AS v FROM a"""
PRODUCT = "SELECT count(*), sum(s), max(s), min(s) FROM (SELECT a.i, b.j, sum(a.v * b.v) AS s FROM a JOIN b ON a.j = b.i GROUP BY a.i, b.j) q"
BASKETS = """CREATE TABLE basket AS SELECT CAST((t.i - t.i % 50) / 50 AS int) AS basket,
  CAST((t.i * 48271 + (t.i - t.i % 50) * 69621 + t.i * (t.i % 977)) % 2147483647 % 2000 AS int) AS item
  FROM generate_series(CAST(0 AS bigint), CAST(999999 AS bigint)) t(i)"""
TOGETHER = "SELECT count(*), sum(n), max(n) FROM (SELECT a.item AS x, b.item AS y, count(*) AS n FROM basket a JOIN basket b USING (basket) GROUP BY 1, 2) q"
MOST = "SELECT count(*), sum(n), sum(x), sum(y) FROM (SELECT a.item AS x, b.item AS y, count(*) AS n FROM basket a JOIN basket b USING (basket) GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 20) q"
OTHERS = "SELECT count(*), sum(d), max(d) FROM (SELECT a.item, count(DISTINCT b.item) AS d FROM basket a JOIN basket b USING (basket) GROUP BY 1) q"
COMMON = "SELECT count(*), sum(n), max(n) FROM (SELECT a.src AS x, b.src AS y, count(*) AS n FROM {g} a JOIN {g} b ON a.dst = b.dst GROUP BY 1, 2) q"
TRIANGLES = """SELECT count(*), sum(n) FROM (SELECT a.src AS x, b.dst AS z, count(*) AS n FROM {g} a JOIN {g} b ON a.dst = b.src
  GROUP BY 1, 2) p JOIN {g} c ON c.src = p.z AND c.dst = p.x"""
MATCH = """SELECT count(*), sum(n), max(n) FROM (SELECT a.artist AS x, b.artist AS y, count(*) AS n FROM itunes_a a
  JOIN itunes_b b USING (price) GROUP BY 1, 2) q"""
# The paper's micro queries on tables of n rows with k values to join by: (k, n) of its two grids.
GRID = [(32, n) for n in (4096, 8192, 16384, 32768)] + [(k, 4096) for k in (64, 128, 256, 512, 1024, 2048, 4096)]
Q1 = "SELECT count(*), sum(v), sum(w) FROM (SELECT m.val AS v, n.val AS w FROM {m} m, {n} n WHERE m.id = n.id) q"
Q3 = "SELECT count(*), sum(s) FROM (SELECT sum(m.val) AS s, n.val FROM {m} m, {n} n WHERE m.id = n.id GROUP BY n.val) q"
Q4 = "SELECT sum(m.val * n.val) FROM {m} m, {n} n WHERE m.id = n.id"
Q5 = "SELECT count(*), sum(m.val) FROM {m} m, {n} n WHERE m.id {op} n.id"
# Comparisons between tables of 20,000 rows; and paths of three steps, whose two middle nodes are projected out.
SPANS = """CREATE TABLE early AS SELECT CAST(t.i * 7919 % 20011 AS int) AS x, CAST(t.i % 100 AS int) AS g, CAST(t.i % 9 AS int) AS v
  FROM generate_series(1, 20000) t(i);
CREATE TABLE late AS SELECT CAST(t.i * 104729 % 20011 AS int) AS x, CAST(t.i % 70 AS int) AS g, CAST(t.i % 7 AS int) AS v
  FROM generate_series(1, 20000) t(i)"""
COMPARED = """SELECT count(*), sum(n), sum(s) FROM (SELECT a.g AS g, b.g AS h, count(*) AS n, sum(a.v * b.v) AS s
  FROM early a, late b WHERE {cond} GROUP BY 1, 2) q"""
PATHS = """SELECT count(*), sum(n), max(n) FROM (SELECT a.src AS x, c.dst AS y, count(*) AS n FROM {g} a JOIN {g} b ON a.dst = b.src
  JOIN {g} c ON b.dst = c.src GROUP BY 1, 2) q"""
WEIGHED = """CREATE TABLE weighed AS SELECT basket, item, CAST(item % 61 AS double precision) / 8 AS w FROM basket
  WHERE basket < 4000"""
TOGETHER_FLOAT = """SELECT count(*), sum(s) FROM (SELECT a.item AS x, b.item AS y, sum(a.w * b.w) AS s FROM weighed a
  JOIN weighed b USING (basket) GROUP BY 1, 2) q"""
Q3_EAGER = """SELECT count(*), sum(s) FROM (SELECT sum(k.s * n.c) AS s, n.val FROM (SELECT id, sum(val) AS s FROM {m} GROUP BY id) k,
  (SELECT id, val, count(*) AS c FROM {n} GROUP BY id, val) n WHERE k.id = n.id GROUP BY n.val) q"""
Q4_EAGER = """SELECT sum(k.s * l.s) FROM (SELECT id, sum(val) AS s FROM {m} GROUP BY id) k,
  (SELECT id, sum(val) AS s FROM {n} GROUP BY id) l WHERE k.id = l.id"""


def micro(k, n):
    """The names of a pair of the paper's tables."""
    return {"m": f"m_{k}_{n}", "n": f"n_{k}_{n}"}


def tables(folder):
    """Names and files of real inputs, unpacked; none where they are absent."""
    found = []
    for name in ("wiki_vote", "facebook_combined_both", "email_eu_core"):
        found.append((name, "src int, dst int", DATA / f"graphs/{name}.csv.gz", b",", True))
    for name, file in (("itunes_a", "iTunes_tableA"), ("itunes_b", "iTunes_tableB")):
        found.append((name, ITUNES, DATA / f"em/encoded/{file}.tbl.gz", b"|", False))
    for k, n in GRID:
        for name, side in ((micro(k, n)["m"], "A"), (micro(k, n)["n"], "B")):
            found.append((name, "id bigint, val bigint", DATA / f"micro/micro_k{k}_{n}{side}.tbl.gz", b"|", False))
    for name, columns, packed, separator, header in found:
        if not packed.exists():
            continue
        lines = gzip.open(packed, "rb").read().splitlines()[1 if header else 0:]
        with open(folder / name, "wb") as out:
            for line in lines:
                out.write(line.removesuffix(b"|").replace(separator, b"|") + b"\n")
        (folder / f"{name}.columns").write_text(columns)


def cases():
    """(name, setup, query, query for the peer alone or None)."""
    for n in (512, 1024, 2048):
        if n < 2048 or os.environ.get("BENCH_BIG", "1") != "0":
            yield f"matrix product {n}", MATRIX.format(n=n), PRODUCT, None
    yield "bought together, 2,000 items", BASKETS, TOGETHER, None
    yield "the 20 pairs most bought together", "SELECT 1", MOST, None
    yield "with how many items each was bought", "SELECT 1", OTHERS, None
    yield "the same in doubles, a fifth of the lines", WEIGHED, TOGETHER_FLOAT, None
    yield "compared: <, 100 x 70 groups", SPANS, COMPARED.format(cond="a.x < b.x"), None
    yield "compared: a band, 100 x 70 groups", "SELECT 1", COMPARED.format(cond="a.x >= b.x AND a.x < b.x + 2000"), None
    yield "compared: < without groups", "SELECT 1", "SELECT count(*), sum(a.v * b.v) FROM early a, late b WHERE a.x < b.x", None
    for op in ("<", "<>"):
        yield f"paper Q5 {op}, 32768 rows, 32 keys", micro(32, 32768)["m"], Q5.format(op=op, **micro(32, 32768)), None
    yield "paths of three, email_eu_core", "email_eu_core", PATHS.format(g="email_eu_core"), None
    for graph in ("wiki_vote", "facebook_combined_both", "email_eu_core"):
        yield f"common neighbours, {graph}", graph, COMMON.format(g=graph), None
        yield f"triangles, {graph}", graph, TRIANGLES.format(g=graph), None
    yield "equal price by artists (iTunes)", "itunes_a", MATCH, None
    for k, n in GRID:
        for name, query in (("Q1", Q1), ("Q3", Q3), ("Q4", Q4)):
            yield f"paper {name}, {n} rows, {k} keys", micro(k, n)["m"], query.format(**micro(k, n)), None
    names = micro(32, 32768)
    yield "Q3, 32768 rows, the peer by hand", names["m"], Q3.format(**names), Q3_EAGER.format(**names)
    yield "Q4, 32768 rows, the peer by hand", names["m"], Q4.format(**names), Q4_EAGER.format(**names)


# Few groups, or one with nine tenths of the rows: name, query over l (left) and r (right), 2,000,000 rows each.
FEW = """CREATE TABLE l AS SELECT CAST(t.i * 7919 % 50021 AS int) AS k, CAST(t.i % 4 AS int) AS g, CAST(t.i % 16 AS int) AS g16,
  CAST(CASE WHEN t.i % 10 = 0 THEN t.i % 1000 ELSE 0 END AS int) AS skew, CAST(t.i % 201 - 100 AS int) AS v,
  CAST(t.i % 97 AS double precision) / 8 AS f, CAST(t.i * 31 % 2000003 AS int) AS x, 'k' || t.i % 5003 AS t FROM generate_series(CAST(1 AS bigint), CAST(2000000 AS bigint)) t(i);
CREATE TABLE r AS SELECT CAST(t.i * 104729 % 50021 AS int) AS k, CAST(t.i % 5 AS int) AS g, CAST(t.i * 31 % 1999 AS int) AS many,
  CAST(t.i % 101 - 50 AS int) AS v, CAST(t.i % 89 AS double precision) / 4 AS f, CAST(t.i * 37 % 2000003 AS int) AS x,
  'k' || t.i % 5003 AS t FROM generate_series(CAST(1 AS bigint), CAST(2000000 AS bigint)) t(i);
CREATE TABLE far AS SELECT k, CASE WHEN f > 6 THEN f * 1e200 ELSE f * 1e-100 END AS f FROM l WHERE k % 40 = 0"""
CORES = [
    ("4 groups x 1,999", "SELECT count(*), sum(s) FROM (SELECT l.g, r.many, sum(l.v * r.v) AS s FROM l JOIN r USING (k) GROUP BY 1, 2) q"),
    ("16 groups x 5", "SELECT count(*), sum(s) FROM (SELECT l.g16, r.g, sum(l.v * r.v) AS s FROM l JOIN r USING (k) GROUP BY 1, 2) q"),
    ("no groups", "SELECT sum(l.v * r.v), count(*) FROM l JOIN r USING (k)"),
    ("one group of nine tenths", "SELECT count(*), sum(s) FROM (SELECT l.skew, r.many, sum(l.v * r.v) AS s FROM l JOIN r USING (k) GROUP BY 1, 2) q"),
    ("4 groups, doubles", "SELECT count(*), sum(s) FROM (SELECT l.g, r.many, sum(l.f * r.f) AS s FROM l JOIN r USING (k) GROUP BY 1, 2) q"),
    ("4 groups, how many others", "SELECT l.g, count(DISTINCT r.many), count(*) FROM l JOIN r USING (k) GROUP BY 1 ORDER BY 1"),
    ("4 groups, the most", "SELECT l.g, r.many, count(*) FROM l JOIN r USING (k) GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 9"),
    ("text keys", "SELECT count(*), sum(s) FROM (SELECT l.g, r.many, sum(l.v * r.v) AS s FROM l JOIN r USING (t) GROUP BY 1, 2) q"),
    ("computed keys", "SELECT count(*), sum(s) FROM (SELECT l.g, r.many, sum(l.v * r.v) AS s FROM l JOIN r ON l.k * 3.5 = r.k * 3.5 GROUP BY 1, 2) q"),
    ("compared, 4 groups x 5", "SELECT l.g, r.g, sum(l.v * r.v), count(*) FROM l JOIN r ON l.x < r.x GROUP BY 1, 2 ORDER BY 1, 2"),
    ("compared, no groups", "SELECT sum(l.v * r.v), count(*) FROM l JOIN r ON l.x < r.x"),
    ("compared, 4 groups x 1,999", "SELECT count(*), sum(n) FROM (SELECT l.g, r.many, count(*) AS n FROM l JOIN r ON l.x < r.x GROUP BY 1, 2) q"),
    ("doubles far apart, no groups", "SELECT sum(a.f * r.f) FROM far a JOIN r USING (k)"),
]


def cores():
    from engines import ENGINES, THREADS
    db = ENGINES["tcudb"]()
    for statement in FEW.split(";"):
        db.run(statement)
    db.run("SET tcudb.engine = tcu")
    print(f"Few groups: 1 and {THREADS} threads, best of {RUNS} runs, load average {os.getloadavg()[0]:.1f}; milliseconds")
    for name, sql in CORES:
        if not any(part in name for part in os.environ.get("BENCH_CASES", "").split("|")):
            continue
        times = []
        for threads in (1, THREADS):
            db.run(f"SET tcudb.threads = {threads}")
            times.append(best_of(db, sql))
        same = times[0][1] == times[1][1]
        print(f"{name:40}{times[0][0] * 1e3:10.1f}{times[1][0] * 1e3:10.1f}{times[0][0] / times[1][0]:10.2f}x{'' if same else '   DIFFERENT'}", flush=True)
    return 0


def best_of(db, sql):
    best, rows = None, None
    for _ in range(RUNS):
        rows = db.run(sql)
        best = db.seconds if best is None else min(best, db.seconds)
        if db.seconds > 10:
            break
    return best, rows


def work(engine, folder):
    from engines import ENGINES
    db = ENGINES[engine]()
    for columns in folder.glob("*.columns"):
        db.run(f"CREATE TABLE {columns.stem}({columns.read_text()})")
        db.copy(columns.stem, folder / columns.stem)
    out = {}
    for name, setup, query, peer_query in cases():
        if " " in setup:
            for statement in setup.split(";"):
                db.run(statement)
        elif not (folder / setup).exists():
            continue
        if not any(part in name for part in os.environ.get("BENCH_CASES", "").split("|")):
            continue
        sql = peer_query if peer_query and engine == "duckdb" else query
        seconds, rows = best_of(db, sql)
        out[name] = {"seconds": seconds, "rows": rows}
        if engine == "tcudb" and not name.startswith(("matrix product 1024", "matrix product 2048", "Q")):
            db.run("SET tcudb.contraction = off")
            out[name]["off"] = best_of(db, sql)[0]
            db.run("SET tcudb.contraction = on")
    json.dump(out, sys.stdout)


def run_engine(engine, interpreter, folder):
    done = subprocess.run([interpreter, __file__, engine, str(folder)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{engine}: {done.stderr.strip().splitlines()[-1] if done.stderr else 'failed'}")
    return json.loads(done.stdout)


def main():
    if len(sys.argv) == 3:
        return work(sys.argv[1], pathlib.Path(sys.argv[2]))
    if os.environ.get("BENCH_CORES", "0") != "0":
        return cores()
    import peer
    from engines import BUILD, THREADS
    with tempfile.TemporaryDirectory(prefix="tcudb-bench-") as name:
        folder = pathlib.Path(name)
        tables(folder)
        print(f"Contractions: {THREADS} threads, best of {RUNS} runs, load average {os.getloadavg()[0]:.1f}; milliseconds")
        ours = run_engine("tcudb", sys.executable, folder)
        interpreter = peer.python(BUILD)
        theirs = run_engine("duckdb", interpreter, folder) if interpreter else {}
    print(f"{'':40}{'tcudb':>10}{'off':>10}{'DuckDB':>10}   DuckDB / tcudb")
    different = []
    for name, mine in ours.items():
        other = theirs.get(name)
        off = f"{mine['off'] * 1e3:10.1f}" if "off" in mine else " " * 10
        peer_time = f"{other['seconds'] * 1e3:10.1f}{other['seconds'] / mine['seconds']:10.1f}x" if other else ""
        print(f"{name:40}{mine['seconds'] * 1e3:10.1f}{off}{peer_time}")
        if other and [float(v) for v in mine["rows"][0]] != [float(v) for v in other["rows"][0]]:
            different.append(name)
    if theirs:
        print("answers: " + (f"DIFFERENT in {', '.join(different)}" if different else "equal everywhere"))
    return 1 if different else 0


sys.exit(main())
