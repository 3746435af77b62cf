"""Random aggregates over joins as contractions, on tcudb and a private PostgreSQL 15: the same rows, types and errors.

usage: contract_test.py [--seed N] [--seeds N] [--queries N]

Every query runs with contractions forced, in a form of products for each seed, and with contractions off. The test also fails if too few of the queries
became contractions or a form of comparison was never used, and lists with -v why the others did not.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from compare import Tally  # noqa: E402
from engine import Database  # noqa: E402
from postgres import Cluster, Skip  # noqa: E402

MODES = [["SET tcudb.engine = tcu", "SET tcudb.contraction = on"], ["RESET tcudb.engine", "SET tcudb.contraction = off"]]
COLUMNS = [("k", "int"), ("j", "int"), ("g", "int"), ("h", "text"), ("x", "int"), ("y", "bigint"), ("p", "numeric(8,2)"),
           ("d", "date"), ("s", "smallint"), ("q", "numeric(12,4)"), ("f", "float8"), ("w", "float8"), ("r", "real")]
FORMS = ["auto", "dense", "split", "sparse", "doubles", "bits"]
WORDS = ["", "a", "ab", "b", "zz", "Q", "long text that fits no inline slot"]


class Gen:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.tame = True

    def chance(self, p):
        return self.r.random() < p

    def value(self, name, kind, null):
        r = self.r
        if self.chance(null):
            return "NULL"
        if name == "k":
            return str(r.choice([r.randint(0, 6), r.randint(-40, 40), 7]))
        if kind == "text":
            return "'" + r.choice(WORDS) + "'"
        if kind == "date":
            return f"DATE '2021-03-{r.randint(1, 28):02d}'"
        if kind.startswith("numeric"):
            return f"{r.randint(-99999, 99999) / 100:.2f}"
        if name == "w":  # far apart, and special in some tables; positive, or PostgreSQL's sums would not be near the true ones
            special = not self.tame and self.chance(0.1)
            return "'" + r.choice(["NaN", "Infinity", "-Infinity"] if special else ["0", "0.5", "2", "1e100", "3e-200"]) + "'"
        if kind in ("float8", "real"):
            return repr(r.choice([r.randint(0, 500) / 4, r.randint(1, 9999) / 100, r.random()]))
        if name == "y":
            return str(r.choice([r.randint(-5, 5), r.randint(-10**12, 10**12)]))
        return str(r.randint(-3, 9))

    def schema(self):
        for table in "rstu":
            self.tame = self.chance(0.6)
            yield f"CREATE TABLE {table} (" + ", ".join(f"{n} {t}" for n, t in COLUMNS) + ")"
            null = self.r.choice([0, 0.1, 0.1])
            rows = self.r.choice([0, 1, 40, 120, 120, 120, 200]) if table == "u" else self.r.choice([40, 120, 200])
            for _ in range(0, rows, 50):
                yield f"INSERT INTO {table} VALUES " + ", ".join(
                    "(" + ", ".join(self.value(n, t, null) for n, t in COLUMNS) + ")" for _ in range(min(rows, 50)))

    # ---- conditions

    def equality(self, a, b):
        return self.r.choice([f"{a}.k = {b}.k", f"{a}.k = {b}.k", f"{a}.g = {b}.g", f"{a}.h = {b}.h", f"{a}.d = {b}.d",
                              f"{a}.p = {b}.p", f"{a}.k = {b}.s", f"{a}.k + 1 = {b}.k", f"{a}.g = {b}.g AND {a}.h = {b}.h"])

    def comparison(self, a, b):
        op = self.r.choice(["<", ">", "<=", ">=", "<>"])
        pair = self.r.choice([("x", "x"), ("x", "g"), ("k", "j"), ("d", "d"), ("p", "p"), ("y", "y"), ("s", "x"), ("p", "q"),
                              ("p", "x"), ("d", "d + 3"), ("x", "x * 2 - 1"), ("k", "k"), ("h", "h"), ("h", "h")])
        return f"{a}.{pair[0]} {op} {b}.{pair[1]}"

    def band(self, a, b):
        low, high = self.r.choice([">", ">="]), self.r.choice(["<", "<="])
        kind = self.r.random()
        if kind < 0.5:
            return f"{a}.x {low} {b}.g - {self.r.randint(0, 2)} AND {a}.x {high} {b}.x"
        if kind < 0.8:
            return f"{a}.d BETWEEN {b}.d AND {b}.d + {self.r.randint(-1, 9)}"
        return f"{b}.p {low} {a}.p AND {b}.p {high} {a}.p + 100"

    def joins(self, a, b):
        roll = self.r.random()
        if roll < 0.45:
            return self.equality(a, b)
        if roll < 0.65:
            return self.comparison(a, b)
        if roll < 0.8:
            return self.equality(a, b) + " AND " + self.comparison(a, b)
        if roll < 0.9:
            return self.band(a, b)
        return self.equality(a, b) + " AND " + self.band(a, b)

    # ---- outputs

    def factor(self, rel):
        c = rel + "." + self.r.choice(["x", "x", "s", "p", "g", "y", "q"])
        return self.r.choice([c, c, c, f"(1 - {c})", f"({c} + 2)", f"CASE WHEN {rel}.x > 2 THEN {c} ELSE 0 END",
                              f"COALESCE({c}, 1)"])

    def aggregate(self, rels):
        a, b = self.r.choice(rels), self.r.choice(rels)
        small = lambda rel: rel + "." + self.r.choice(["x", "s", "g", "p"])
        flt = f" FILTER (WHERE {self.r.choice(rels)}.x {self.r.choice(['<', '>'])} 3)" if self.chance(0.15) else ""
        return self.r.choice([
            "count(*)", "count(*)", f"count({a}.p)", f"sum({self.factor(a)})", f"sum({small(a)} * {small(b)})",
            f"{self.r.choice(['var_pop', 'var_samp', 'variance', 'stddev', 'stddev_pop', 'stddev_samp'])}({small(a)})",
            f"{self.r.choice(['var_pop', 'stddev'])}({small(a)} * {small(b)})", f"sum({small(a)} * (1 - {small(b)}))", f"avg({self.factor(a)})", f"avg({small(a)} * {small(b)})",
            f"sum({a}.{self.r.choice('ffw')})", f"avg({a}.{self.r.choice('ffwr')})", f"sum({a}.f * {b}.f)",
            f"sum({a}.{self.r.choice('fw')} * {b}.{self.r.choice('fw')})",
            f"sum(CASE WHEN {a}.g = 1 THEN {b}.f END)",
            f"count(DISTINCT {a}.{self.r.choice(['h', 'x', 'k', 'g', 'g'])})", f"count(DISTINCT {a}.x + {b}.g)",
            f"{self.r.choice(['min', 'max'])}({a}.{self.r.choice(['x', 'h', 'd', 'p'])})", f"max({a}.x - {b}.x)",
            f"{self.r.choice(['sum', 'avg'])}(DISTINCT {small(a)})", f"bool_or({a}.x > {b}.x)",
            f"sum(CASE WHEN {a}.g = 1 THEN {small(b)} ELSE 0 END)", f"sum({small(a)} + {small(b)})",
            *self.both_sides(a, b, small)]) + flt

    def both_sides(self, a, b, small):
        """What is no sum of products as it stands: taken apart, of finer groups, or of the extremes of the sides."""
        op = self.r.choice(["<", "<=", ">", ">=", "=", "<>"])
        return [f"sum(CASE WHEN {a}.x = 1 THEN {small(b)} WHEN {b}.g > 2 THEN {small(a)} ELSE {self.r.choice(['0', '1', '0.5', 'NULL'])} END)",
                f"count(*) FILTER (WHERE {a}.x = 1 OR {b}.g = 2)", f"avg({small(a)}) FILTER (WHERE NOT ({a}.x > 1 AND {b}.x > 2))",
                f"sum({small(b)}) FILTER (WHERE ({a}.s < 3 OR {b}.x > 4) AND {b}.g IS NOT NULL)",
                f"sum({a}.x / nullif({b}.x, 0))", f"count({a}.x % nullif({b}.s, 0))", f"sum(CASE WHEN {a}.x {op} {b}.x THEN {a}.s ELSE {b}.s END)",
                f"count(*) FILTER (WHERE {a}.x {op} {b}.x)", f"avg(abs({a}.x - {b}.x))", f"sum(greatest({a}.x, {b}.s))",
                f"{self.r.choice(['min', 'max'])}({small(a)} {self.r.choice('+-*')} {small(b)})", f"max(-({a}.p * {b}.x))",
                f"{self.r.choice(['bool_or', 'bool_and'])}({a}.{self.r.choice('xhdf')} {op} {b}.{'x'})".replace(f"{a}.h {op} {b}.x", f"{a}.h {op} {b}.h")
                .replace(f"{a}.d {op} {b}.x", f"{a}.d {op} {b}.d")]

    def groups(self, rels):
        if self.chance(0.12):
            return [self.r.choice(["a.x + b.x", "a.x % 3", "a.k / 2", "a.g = b.g", "coalesce(a.h, b.h)", "a.d + 3",
                                   "CASE WHEN a.x <> 0 THEN b.x / a.x END"]) for _ in range(self.r.choice([1, 1, 2]))]
        cols = [rel + "." + c for rel in rels for c in ("g", "h", "k", "s", "d")]
        shape = self.r.random()
        if shape < 0.15:
            return []
        if shape < 0.35:
            rel = self.r.choice(rels)
            return [self.r.choice([c for c in cols if c.startswith(rel)])]
        out = [self.r.choice([c for c in cols if c.startswith(rel)]) for rel in (rels[0], rels[-1])]
        return out + ([self.r.choice(cols)] if self.chance(0.3) else [])

    def existence(self):
        """EXISTS, IN and set operations over joins."""
        where = f"{self.joins('a', 'b')}"
        join = f"{self.r.choice('rstu')} a, {self.r.choice('rstu')} b"
        outer = f"SELECT c.k, c.x FROM {self.r.choice('rstu')} c WHERE c.x < 6 AND"
        no = self.r.choice(["", "NOT "])
        return self.r.choice([
            f"{outer} {no}EXISTS (SELECT 1 FROM {join} WHERE {where} AND a.g = c.g AND b.x = c.x)",
            f"{outer} ({no}EXISTS (SELECT 1 FROM {join} WHERE {where} AND a.g = c.g AND b.x = c.x) OR c.k > 3)",
            f"{outer} {no}EXISTS (SELECT 1 FROM {join} WHERE {where} AND a.g = c.g)",
            f"{outer} {no}EXISTS (SELECT 1 FROM {join} WHERE {where} AND a.g = c.g AND b.x < c.x)",
            f"{outer} c.g {no}IN (SELECT a.g FROM {join} WHERE {where})",
            f"{outer} (c.g, c.x) {no}IN (SELECT a.g, b.x FROM {join} WHERE {where})",
            f"SELECT a.g, b.x FROM {join} WHERE {where} {self.r.choice(['UNION', 'INTERSECT', 'EXCEPT'])} SELECT k, x FROM r",
            f"SELECT DISTINCT {self.r.choice(['a.g', 'a.g + b.x', 'b.h', 'a.g, b.h'])} FROM {join} WHERE {where}",
            f"SELECT count(*), sum(n) FROM (SELECT a.g, b.h, count(*) AS n FROM {join} WHERE {where} GROUP BY 1, 2) q WHERE g > 0",
            f"WITH q AS (SELECT a.g AS g, b.g AS h, count(*) AS n FROM {join} WHERE {where} GROUP BY 1, 2) "
            "SELECT p.g, sum(p.n * q.n) FROM q p JOIN q ON p.h = q.g GROUP BY p.g ORDER BY 2 DESC NULLS LAST, 1"])

    def query(self):
        if self.chance(0.12):
            return self.existence()
        rels = ["a", "b"] if self.chance(0.7) else ["a", "b", "c"] if self.chance(0.7) else ["a", "b", "c", "e", "f"][:self.r.randint(4, 5)]
        tables = [f"{self.r.choice('rstu')} {rel}" for rel in rels]
        where = [self.joins(rels[i], rels[i + 1]) for i in range(len(rels) - 1)]
        if len(rels) > 3:  # chains and stars
            star = self.chance(0.4)
            where = [f"{rels[0 if star else i]}.d = {rels[i + 1]}." for i in range(len(rels) - 1)]
            where = [w + w.split(".")[1][0] for w in where]
        if self.chance(0.2):
            where.append(f"{self.r.choice(rels)}.x < {self.r.randint(0, 9)}")
        if self.chance(0.12):
            where.append(f"{self.r.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM u WHERE u.k = {self.r.choice(rels)}.x)")
        groups = list(dict.fromkeys(self.groups(rels)))
        tail = " GROUP BY " + ", ".join(groups) if groups else ""
        if groups and self.chance(0.15):
            tail += f" HAVING {self.aggregate(rels)} > {self.r.randint(-3, 30)}"
        body = f" FROM {', '.join(tables)} WHERE {' AND '.join(where)}"
        if groups and self.chance(0.1):
            return f"SELECT DISTINCT {', '.join(groups)}{body}"
        outs = groups + [self.aggregate(rels) for _ in range(self.r.randint(1, 4))]
        compared = re.search(r"[<>]|BETWEEN", " ".join(where)) is not None
        if len(rels) > 3 or (len(rels) == 3 and compared):  # so many rows that PostgreSQL's own float sums are not near enough
            outs = groups + [o for o in outs[len(groups):] if not re.search(r"\.[fwr]\b", o)] + ["count(*)"]
        items = ", ".join(f"{e} AS o{i}" for i, e in enumerate(outs))
        return self.around(items, groups, outs, body, tail)

    def around(self, items, groups, outs, body, tail):
        """The query as it is, over grouping sets, with a window over its groups, cut off, or beside an outer join."""
        roll, plain = self.r.random(), not re.search(r"\.[fwr]\b", items + tail)
        ones = ", ".join(str(i + 1) for i in range(len(outs)))
        if plain and groups and roll < 0.08:
            sets = self.r.choice([f"ROLLUP ({', '.join(groups)})", f"CUBE ({', '.join(groups)})", f"GROUPING SETS (({', '.join(groups)}), ({groups[-1]}), ())"])
            return f"SELECT {items}{body} GROUP BY {sets}"
        if plain and groups and roll < 0.14:
            return f"SELECT {items}, rank() OVER (ORDER BY count(*)) AS r, sum(count(*)) OVER (PARTITION BY {groups[0]}) AS w{body}{tail}"
        if plain and roll < 0.22:
            return f"SELECT {items}{body}{tail} ORDER BY {ones} LIMIT {self.r.randint(0, 9)}"
        if plain and roll < 0.28 and " WHERE " in body:
            tables, conditions = body.split(" WHERE ", 1)
            tables = tables.replace(", ", " CROSS JOIN ")
            side = self.r.choice(["a", "b"])
            return f"SELECT {items}{tables} LEFT JOIN u z ON z.d = {side}.d AND z.x > 4 WHERE {conditions}{tail}"
        return f"SELECT {items}{body}{tail}"


def run_seed(seed, queries, build, cluster, tally, plans, forms):
    gen = Gen(seed)
    theirs, database = cluster.connect(), Database(build)
    ours = database.connect()
    theirs.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    for statement in gen.schema():
        for db in (ours, theirs):
            result = db.run(statement)
            if result.error:
                raise SystemExit(f"{result.error.message}\n    {statement}")
    statements = [gen.query() for _ in range(queries)]
    form = FORMS[seed % len(FORMS)]
    ours.run(f"SET tcudb.product_form = {form}")
    for mode in MODES:
        for setting in mode:
            ours.run(setting)
        for statement in statements:
            before = len(tally.differences)
            tally.check(ours, theirs, statement)
            if len(tally.differences) > before:
                sql, difference = tally.differences[-1]
                tally.differences[-1] = (f"[seed {seed}, form {form}; {'; '.join(mode)}] {sql}", difference)
            if mode is MODES[0]:
                plan = "\n".join(row[0] for row in ours.run("EXPLAIN ANALYZE " + statement).rows)
                forms.update(re.findall(r"compared by ([a-z ]+)", plan))
                why = re.search(r"No contraction: (.*)", plan)
                plans["contracted" if "Contract" in plan else why.group(1) if why else "ordinary"].append(statement)
    ours.close()
    database.close()
    theirs.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=120)
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    tally, plans, forms = Tally(), collections.defaultdict(list), collections.Counter()
    try:
        with Cluster() as cluster:
            for seed in range(args.seed, args.seed + args.seeds):
                run_seed(seed, args.queries, os.environ.get("BUILD", "build"), cluster, tally, plans, forms)
    except Skip as why:
        print(why)
        sys.exit(77)
    total = sum(len(p) for p in plans.values())
    for why in sorted(plans, key=lambda w: -len(plans[w])) if args.v else []:
        print(f"{len(plans[why]):6} {why}: {plans[why][0]}")
    share = len(plans["contracted"]) / total
    print(f"{len(plans['contracted'])} of {total} queries became contractions; comparisons: {dict(forms)}")
    sys.exit(0 if tally.report() and tally.same and share >= 0.5 and set(forms) >= COMPARED else 1)


COMPARED = {"sums of intervals", "sums of points", "tree"}
main()
