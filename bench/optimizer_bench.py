"""The optimizer's choices: every query as it chooses, and with each candidate forced; what it predicted, what it took.

Over the queries below: the time of auto divided by the best candidate's (geometric mean, worst), and the share of queries
whose predicted time is within a factor of two of the actual one. Answers of all candidates are compared. BENCH_RUNS
(default 5) runs, best time; ratios above 1.25 are measured again. A candidate that takes ten times as long as the best so
far is stopped. optimizer_bench.py PATTERN runs the queries whose names contain it, with a line a candidate.
"""
import json
import math
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "test/oracle"))
RUNS = int(os.environ.get("BENCH_RUNS", "5"))
FORCED = {"plain": ("off", "off", "auto"), "vector": ("off", "on", "auto"), "sparse": ("on", "auto", "sparse"),
          "dense": ("on", "auto", "dense"), "bits": ("on", "auto", "bits"), "split": ("on", "auto", "split"), "doubles": ("on", "auto", "doubles")}
SETTINGS = ("tcudb.contraction", "tcudb.eager_aggregation", "tcudb.product_form")


def table(name, rows, keys, groups, values=100, skew=1, extra=""):
    """k: keys, power-law for skew > 1, the n-th as often as 1 / n for skew = 0; g: groups; v: values around 0; i: the row."""
    share = "(h1 % 1000003)::float8 / 1000003"
    key = f"h1 % {keys}" if skew == 1 else f"floor(power({keys}, {share}))" if skew == 0 else f"floor({keys} * power({share}, {skew}))"
    kind = "bigint" if values > 40000 else "int"
    return f"""CREATE TABLE {name} AS SELECT CAST({key} AS int) AS k, CAST(h2 % {groups} AS int) AS g,
 CAST(h3 % {values} - {values // 3} AS {kind}) AS v, CAST(i AS int) AS i{extra}
 FROM (SELECT i, (x * x + i) % 2147483629 AS h1, (y * y + i) % 2147483647 AS h2, (z * z + i) % 2147483587 AS h3
 FROM (SELECT i, i * 1103515245 % 2147483647 AS x, i * 1812433253 % 2147483629 AS y, i * 69621 * 1566083 % 2147483579 AS z
 FROM generate_series(CAST(1 AS bigint), CAST({rows} AS bigint)) s(i)) r) q"""


def matrix(name, n, m, values, share=100):
    """A matrix of n x m entries, share percent of them there."""
    where = "" if share == 100 else f" WHERE (x.i * 7919 + y.j * 104729 + x.i * y.j * 31) % 997 < {9.97 * share}"
    return f"""CREATE TABLE {name} AS SELECT CAST(x.i AS int) AS i, CAST(y.j AS int) AS j,
 CAST((x.i * 7919 + y.j * 104729 + x.i * y.j) % {values} - {values // 2} AS {'bigint' if values > 40000 else 'int'}) AS v
 FROM generate_series(CAST(0 AS bigint), CAST({n - 1} AS bigint)) x(i), generate_series(CAST(0 AS bigint), CAST({m - 1} AS bigint)) y(j){where}"""


TABLES = {
    "m64": matrix("m64", 64, 64, 255), "m128": matrix("m128", 128, 128, 255), "m256": matrix("m256", 256, 256, 255),
    "m512": matrix("m512", 512, 512, 255), "w256": matrix("w256", 256, 256, 60000), "w128": matrix("w128", 128, 128, 1000000),
    "s512_1": matrix("s512_1", 512, 512, 255, 1), "s512_10": matrix("s512_10", 512, 512, 255, 10),
    "s2048_1": matrix("s2048_1", 2048, 2048, 255, 1), "tall": matrix("tall", 2000, 40, 255), "flat": matrix("flat", 40, 2000, 255),
    "basket": table("basket", 200000, 10000, 500), "basket5": table("basket5", 200000, 40000, 5000),
    "basket50": table("basket50", 300000, 6000, 2000), "zipf": table("zipf", 100000, 10000, 1000, skew=3),
    "few": table("few", 100000, 5000, 8), "wide": table("wide", 100000, 2000, 300, values=3000000),
    "wider": table("wider", 50000, 1000, 200, values=4000000000), "graph": table("graph", 60000, 4000, 4000),
    "social": table("social", 40000, 3000, 3000, skew=2), "large": table("large", 1000000, 50000, 20000),
    "em1": table("em1", 8000, 60, 900), "em2": table("em2", 30000, 60, 1500), "emz": table("emz", 6000, 100, 700, skew=4),
    "dim": "CREATE TABLE dim AS SELECT CAST(i AS int) AS id, CAST(i % 25 AS int) AS c, 'name' || i % 300 AS name FROM generate_series(0, 49999) s(i)",
    "words": table("words", 50000, 2000, 400, extra=", 'w' || h2 % 400 AS name"),
    "harmonic": table("harmonic", 200000, 20000, 500, skew=0), "harmonic2": table("harmonic2", 60000, 20000, 4000, skew=0),
    "tiny": table("tiny", 300, 20, 10), "deep": table("deep", 100000, 100000, 64), "uniq": table("uniq", 100000, 1000000000, 3000),
}


def pair(a, b, groups="a.g, b.g", what="count(*)", on="a.k = b.k", where=""):
    names = [f"{g} AS x{i}" for i, g in enumerate(groups.split(", "))]
    outs = [f"{w} AS n{i}" for i, w in enumerate(what.split("; "))]
    sums = ", ".join(f"sum(n{i})" for i in range(len(outs)))
    ones = ", ".join(str(i + 1) for i in range(len(names)))
    return f"SELECT count(*), {sums} FROM (SELECT {', '.join(names + outs)} FROM {a} a JOIN {b} b ON {on} {where} GROUP BY {ones}) q"


PRODUCT = dict(groups="a.i, b.j", what="sum(a.v * b.v)", on="a.j = b.i")
QUERIES = {
    **{f"matrix {n}": pair(n, n, **PRODUCT) for n in ("m64", "m128", "m256", "m512", "w128", "w256", "s512_1", "s512_10", "s2048_1")},
    "matrix tall flat": pair("tall", "flat", **PRODUCT), "matrix flat tall": pair("flat", "tall", **PRODUCT),
    "matrix counts": pair("m256", "m256", "a.i, b.j", on="a.j = b.i"), "sparse counts": pair("s512_10", "s512_10", "a.i, b.j", on="a.j = b.i"),
    "matrix two sums": pair("m256", "m256", "a.i, b.j", "sum(a.v * b.v); sum(a.v)", "a.j = b.i"),
    "matrix avg": pair("m256", "m256", "a.i, b.j", "avg(a.v * b.v)", "a.j = b.i"),
    "matrix mixed": pair("m512", "s512_1", **PRODUCT), "matrix filtered": pair("m512", "m512", where="WHERE a.v > 100 AND b.v < -100", **PRODUCT),
    **{f"together {n}": pair(n, n) for n in ("basket", "basket5", "basket50", "zipf", "few", "graph", "social", "em1", "tiny", "words")},
    "together text": pair("words", "words", "a.name, b.name"), "together deep": pair("deep", "deep"), "together unique": pair("uniq", "uniq"),
    "together sum": pair("basket", "basket", what="sum(a.v)"), "together wide": pair("wide", "wide", what="sum(a.v * b.v)"),
    "together wider": pair("wider", "wider", what="sum(a.v); sum(b.v)"), "together distinct": "SELECT count(*) FROM (SELECT DISTINCT a.g, b.g FROM basket a JOIN basket b ON a.k = b.k) q",
    "distinct sparse": "SELECT count(*) FROM (SELECT DISTINCT a.g, b.g FROM graph a JOIN graph b ON a.k = b.k) q",
    "distinct few": "SELECT count(*) FROM (SELECT DISTINCT a.g, b.g FROM few a JOIN few b ON a.k = b.k) q",
    "count distinct": "SELECT sum(n) FROM (SELECT a.g, count(DISTINCT b.g) AS n FROM basket a JOIN basket b ON a.k = b.k GROUP BY 1) q",
    "em price": pair("em1", "em2"), "em skewed": pair("emz", "em1"), "em zipf zipf": pair("emz", "emz"), "em sum": pair("em1", "em2", what="sum(a.v * b.v); count(*)"),
    "em few": pair("em2", "few"), "zipf and uniform": pair("zipf", "basket"), "large and tiny": pair("large", "tiny"), "large and em": pair("large", "em1"),
    "composite": pair("few", "few", on="a.k = b.k AND a.v = b.v"), "three groups": pair("few", "em2", "a.g, b.g, b.v"),
    "filtered baskets": pair("basket50", "basket50", where="WHERE a.g < 50"), "both filtered": pair("basket50", "basket50", where="WHERE a.g < 50 AND b.g < 50"),
    "nearly one": pair("basket", "basket", where="WHERE a.v = 1"),
    "common neighbours": pair("graph", "graph", "a.k, b.k", on="a.g = b.g"), "two steps": pair("graph", "graph", "a.k, b.g", on="a.g = b.k"),
    "triangles": "SELECT sum(n) FROM (SELECT a.k, b.g, count(*) AS n FROM graph a JOIN graph b ON a.g = b.k GROUP BY 1, 2) p JOIN graph c ON c.k = p.g AND c.g = p.k",
    **{f"one side {n}": pair(n, n, "b.g", "sum(a.v)") for n in ("basket", "zipf", "few", "em1", "deep", "words", "wide")},
    "one side product": pair("basket", "basket", "b.g", "sum(a.v * b.v)"), "one side min": pair("basket", "basket", "b.g", "min(a.v); max(b.v); count(*)"),
    "one side avg": pair("em2", "few", "b.g", "avg(a.v)"), "one side text": pair("words", "basket", "a.name", "sum(b.v)"), "one side by key": pair("basket", "few", "a.k", "sum(b.v)"),
    "one side large": pair("large", "large", "b.g", "count(*)"),
    "ungrouped product": "SELECT sum(a.v * b.v) FROM basket a JOIN basket b ON a.k = b.k", "ungrouped count": "SELECT count(*) FROM zipf a JOIN zipf b ON a.k = b.k",
    "ungrouped deep": "SELECT sum(a.v), sum(b.v) FROM deep a JOIN deep b ON a.k = b.k",
    "star": "SELECT count(*), sum(s) FROM (SELECT d.c, sum(a.v) AS s FROM large a JOIN dim d ON a.k = d.id GROUP BY 1) q",
    "star names": "SELECT count(*), sum(s) FROM (SELECT d.name, a.g % 10 AS g, sum(a.v) AS s FROM large a JOIN dim d ON a.k = d.id GROUP BY 1, 2) q",
    "star two": "SELECT count(*), sum(s) FROM (SELECT d.c, e.c AS f, sum(a.v) AS s FROM large a JOIN dim d ON a.k = d.id JOIN dim e ON a.g = e.id GROUP BY 1, 2) q",
    "three way": "SELECT count(*), sum(n) FROM (SELECT a.g, c.g AS h, count(*) AS n FROM em1 a JOIN few b ON a.k = b.g JOIN tiny c ON b.v = c.v GROUP BY 1, 2) q",
    "deviation one side": pair("em1", "em2", "b.g", "var_pop(a.v)"), "float one side": pair("em1", "em2", "b.g", "round(sum(CAST(a.v AS float8)))"),
    "polynomial ungrouped": "SELECT sum((a.v + b.v) * (a.i % 7 - b.v)) FROM em1 a JOIN em2 b ON a.k = b.k",
    "case branches": pair("em1", "em2", what="sum(CASE WHEN a.v > 50 THEN b.v WHEN b.v > 20 THEN a.v ELSE 0 END)"),
    "filter or": pair("em1", "em2", what="count(*) FILTER (WHERE a.v > 50 OR b.v < 0)"),
    "quotient": pair("em1", "em2", "a.i % 3, b.i % 5", "sum(a.v / (b.v + 200))"),
    "max of sum": pair("basket", "basket", "b.g", "max(a.v + b.v)"), "max of product": pair("basket", "basket", "b.g", "max(a.v * b.v)"),
    "rollup": "SELECT count(*), sum(n) FROM (SELECT a.i % 9 AS x, b.i % 7 AS y, count(*) AS n FROM em1 a JOIN em2 b ON a.k = b.k GROUP BY ROLLUP (a.i % 9, b.i % 7)) q",
    "text compared": "SELECT count(*), sum(n) FROM (SELECT a.v % 5 AS x, b.c AS y, count(*) AS n FROM words a JOIN dim b ON a.name < b.name WHERE a.i < 3000 AND b.id < 3000 GROUP BY 1, 2) q",
    "harmonic together": pair("harmonic", "harmonic"), "harmonic other": pair("harmonic", "harmonic2", what="sum(a.v)"),
    "harmonic and uniform": pair("harmonic2", "basket", what="sum(a.v * b.v)"), "harmonic filtered": pair("harmonic", "harmonic2", where="WHERE a.v < -20 AND b.i % 10 = 0"),
    "harmonic one side": pair("harmonic", "harmonic2", "b.g", "sum(a.v)"), "harmonic large one side": pair("harmonic2", "large", "b.g % 1000", "sum(a.v)"),
    "harmonic ungrouped": "SELECT count(*), sum(a.v * b.v) FROM harmonic a JOIN harmonic2 b ON a.k = b.k",
    "harmonic three way": "SELECT count(*), sum(n) FROM (SELECT a.g, c.c AS h, count(*) AS n FROM harmonic a JOIN zipf b ON a.k = b.k JOIN dim c ON c.id = b.g GROUP BY 1, 2) q",
    "harmonic few groups": pair("harmonic", "harmonic2", "a.g % 4, b.g % 5", "count(*)"), "harmonic distinct": "SELECT count(*) FROM (SELECT DISTINCT a.g, b.g FROM harmonic2 a JOIN zipf b ON a.k = b.k) q",
    "three way one side": "SELECT count(*), sum(n) FROM (SELECT a.g, sum(c.v) AS n FROM basket a JOIN few b ON a.k = b.k JOIN tiny c ON b.g = c.g GROUP BY 1) q",
}


class Bench:
    def __init__(self, answers):
        from engines import BUILD, THREADS
        from engine import Database
        self.db = Database(BUILD).connect()
        self.must(f"SET tcudb.threads = {THREADS}")
        self.answers = answers

    def must(self, sql):
        result = self.db.run(sql)
        if result.error:
            raise RuntimeError(f"{result.error.sqlstate} {result.error.message}: {sql}")
        return result.rows

    def force(self, name):
        for setting, value in zip(SETTINGS, FORCED.get(name, ("on", "auto", "auto"))):
            self.must(f"SET {setting} = {value}")

    def best(self, sql, bound):
        """Best time and the rows; None where it was stopped at the bound."""
        best, rows = None, None
        self.must(f"SET statement_timeout = {max(100, int(bound * 1e4)) if bound else 0}")
        for _ in range(RUNS):
            result = self.db.run(sql)
            if result.error and result.error.sqlstate == "57014":
                break
            if result.error:
                raise RuntimeError(f"{result.error.sqlstate} {result.error.message}: {sql}")
            best, rows = min(best or math.inf, self.db.seconds), result.rows
            if self.db.seconds > 2 or (bound and best > 2 * bound):
                break
        self.must("SET statement_timeout = 0")
        return best, rows

    def explain(self, sql):
        plan = json.loads("\n".join(row[0] for row in self.must(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")))[0]["Plan"]
        return next((n for n in nodes(plan) if "Candidates" in n), None)

    def predicted(self, sql):
        """(form, predicted, actual) milliseconds of the first node with candidates: the run nearest to the best."""
        found = [self.explain(sql) for _ in range(max(2, RUNS - 2))]
        if found[0] is None:
            return "", None, None
        node = min(found, key=lambda n: n["Actual ms"])
        return node["Taken"], node["Predicted ms"], node["Actual ms"]

    def measure(self, sql):
        self.force("auto")
        auto, rows = self.best(sql, None)
        times, best = {}, auto
        for name in FORCED:
            self.force(name)
            times[name], other = self.best(sql, best)
            if other is not None and other != rows:
                self.answers.append(f"{name}: {sql}")
            best = min(best, times[name] or math.inf)
        self.force("auto")
        return auto, times, best

    def query(self, sql):
        auto, times, best = self.measure(sql)
        for _ in range(2):
            if auto <= 1.25 * best:
                break
            again, more, least = self.measure(sql)
            auto, best = min(auto, again), min(best, least)
            times = {n: min(times[n] or math.inf, more[n] or math.inf) for n in times}
        return auto, times, best, self.predicted(sql)


def nodes(plan):
    yield plan
    for child in plan.get("Inputs", []):
        yield from nodes(child)


def main():
    from engines import THREADS
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    different, ratios, errors = [], [], []
    bench = Bench(different)
    print(f"Optimizer: {THREADS} threads, best of {RUNS} runs, load average {os.getloadavg()[0]:.1f}; milliseconds")
    print(f"{'':24}{'auto':>9}{'best':>9}{'ratio':>7}  {'taken':8}{'predicted':>10}{'actual':>9}  best candidate")
    for name in TABLES:
        bench.must(TABLES[name])
    for name, sql in QUERIES.items():
        if pattern not in name:
            continue
        auto, times, best, (taken, predicted, actual) = bench.query(sql)
        winner = min((n for n in times if times[n]), key=lambda n: times[n])
        ratios.append(auto / best)
        said = ""
        if predicted:
            errors.append(predicted / actual)
            said = f"{predicted:10.2f}{actual:9.2f}"
        print(f"{name:24}{auto * 1e3:9.2f}{best * 1e3:9.2f}{auto / best:7.2f}  {taken:8}{said:19}  {winner}", flush=True)
        if pattern:
            print("   " + "  ".join(f"{n} {times[n] * 1e3:.2f}" if times[n] else f"{n} -" for n in times))
    if not ratios:
        return 1
    near = sum(0.5 <= e <= 2 for e in errors)
    print(f"{len(ratios)} queries: auto / best {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} (geometric mean), {max(ratios):.2f} (worst); "
          f"predicted within a factor of 2 of actual in {near} of {len(errors)}")
    print("answers: " + (f"DIFFERENT: {different}" if different else "equal everywhere"))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
