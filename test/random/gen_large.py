#!/usr/bin/env python3
"""Random SQL over tables of many batches and several segments, one statement a line, the same for a seed.

usage: gen_large.py [--seed N] [--queries N] [--rows N]

gen.py's tables have twenty rows: all of an operator's input is one batch there. These have tens of thousands, one more
than a segment holds, and keys are computed from columns of every type. Joins have an equality of keys with many values,
so that nothing explodes; answers are digests (counts, sums, extremes) or begin in a total order. No errors, and floating
point only in exact halves, so that sums do not depend on their order.
"""
import argparse
import random

COLUMNS = {
    "k": ("int", "(i * {a} + {b}) % {d}"), "b": ("bigint", "(i::bigint * {a} % {d}) * 3000000007"),
    "sm": ("smallint", "(i * {a}) % 1000 - 500"), "m": ("numeric(12,2)", "(i * {a} % {d}) / 100.0"),
    "x": ("numeric", "(i * {a} % {d}) / 8.0"), "f": ("float8", "(i * {a} % {d}) / 2.0"),
    "s": ("text", "'p' || (i * {a} % {d})"), "v": ("varchar(9)", "'P' || (i * {a} % {d})"),
    "c": ("char(6)", "'c' || (i * {a} % 9973)"), "w": ("text", "'w' || (i * {a} % 23)"),
    "d": ("date", "date '1998-05-05' + (i * {a} % 4001)"),
    "ts": ("timestamp", "timestamp '2001-02-03 04:05:06' + (i * {a} % 40009) * interval '37 minutes'"),
    "o": ("boolean", "i * {a} % 5 < 2"), "u": ("text", "left('one of the texts ' || (i * {a} % {d}) || ' of them', 8 + i % 20)"),
    "z": ("varchar", "chr(65 + i * {a} % 57) || md5((i * {b})::text)"),
    "p": ("bpchar", "'c' || (i * {a} % {d}) || repeat(' ', i * {a} % {d} % 3)"),  # equal values look the same
}
# Keys of many values: an equality of two of them does not explode.
MANY = {
    "int": ["{0}.k", "{0}.k + 1", "{0}.k * 2", "coalesce({0}.k, -1)", "{0}.b", "{0}.b / 3000000007", "abs({0}.k - 5)",
            "nullif({0}.k, 7)", "({0}.m * 100)::int", "substr({0}.s, 2)::int", "CASE WHEN {0}.o THEN {0}.k ELSE -{0}.k END",
            "{0}.k::bigint", "{0}.k - {0}.sm % 2"],
    "text": ["{0}.s", "upper({0}.s)", "lower({0}.v)", "{0}.v", "{0}.s || {0}.w", "reverse({0}.s)", "md5({0}.s)", "substr({0}.s, 2)",
             "replace({0}.s, '1', 'one')", "{0}.k::text", "lpad({0}.s, 9, '*')", "{0}.s || {0}.k", "concat({0}.s, '-', {0}.v)",
             "trim({0}.c)", "{0}.c", "coalesce({0}.s, {0}.v)", "CASE WHEN {0}.o THEN {0}.s ELSE {0}.v END", "{0}.m::text",
             "left({0}.s, 5)", "initcap({0}.s)", "nullif({0}.s, 'p7')", "{0}.s || to_char({0}.d, 'YYYY')", "{0}.z",
             "substr({0}.z, 2, 6)", "upper({0}.z)", "{0}.p", "{0}.p", "{0}.c::bpchar", "CASE WHEN {0}.o THEN {0}.c ELSE 'none ' END",
             "nullif({0}.p, 'c7   ')", "coalesce({0}.p, 'c0')", "{0}.p || {0}.w", "{0}.p::text"],
    "num": ["{0}.m", "{0}.m * 2", "{0}.m + 1", "{0}.x", "{0}.x + {0}.m", "round({0}.x, 1)", "{0}.m - {0}.k", "greatest({0}.m, {0}.x)",
            "abs({0}.m - 50)", "{0}.k::numeric / 4", "coalesce({0}.m, {0}.x)", "{0}.m::numeric(14,4)"],
    "time": ["{0}.d", "{0}.d + 1", "{0}.ts::date", "least({0}.d, {0}.ts::date)", "{0}.ts", "{0}.ts + interval '1 day'", "coalesce({0}.d, {0}.ts)"],
    "float": ["{0}.f", "{0}.f * 2", "{0}.f + {0}.k", "{0}.k::float8", "coalesce({0}.f, -1)"],
}
FEW = ["{0}.w", "upper({0}.w)", "{0}.sm % 10", "{0}.o", "left({0}.s, 2)", "extract(year FROM {0}.d)", "date_trunc('month', {0}.ts)",
       "length({0}.s)", "{0}.k % 13", "round({0}.m / 1000, 1)", "{0}.w || {0}.o::text", "CASE WHEN {0}.k % 3 = 0 THEN {0}.w END",
       "CASE WHEN {0}.k % 3 = 0 THEN {0}.w::char(4) ELSE 'no ' END", "to_char({0}.d, 'Mon')", "{0}.f > 100", "ascii(reverse({0}.s))"]
FILTERS = ["{0}.k % 3 <> 1", "{0}.w < 'w2'", "{0}.s LIKE '%7%'", "upper({0}.s) LIKE 'P1%'", "{0}.d > date '2003-01-01'", "{0}.o", "{0}.m BETWEEN 5 AND 150",
           "{0}.k IS NOT NULL", "{0}.w IN ('w1', 'w5', 'w17')", "{0}.sm > 0 OR {0}.x < 100", "length({0}.s) = 5", "NOT {0}.o AND {0}.b > 9", "{0}.v IS NULL",
           "{0}.s LIKE 'p1%'", "{0}.s >= 'p5'", "{0}.s BETWEEN 'p2' AND 'p30000'", "{0}.v > 'P7' AND 'P8' > {0}.v", "{0}.u > 'one of the texts 12'",
           "{0}.u LIKE 'one of t%'", "{0}.u LIKE 'one of the texts 1_%m'", "{0}.u <= 'one of t' OR {0}.z < 'C'", "{0}.z >= 'a' AND {0}.z < 'f'",
           "{0}.z NOT LIKE 'B%'", "{0}.z LIKE '\\\\a%'", "{0}.z LIKE '!_%' ESCAPE '!'", "{0}.z ILIKE 'k%'", "{0}.u < 'one of the texts 5' AND {0}.u < {0}.s",
           "{0}.u > 'one of the' AND {0}.u LIKE 'one of the texts 3%' AND {0}.u <> 'one of the texts 3'", "{0}.s LIKE 'p%' AND {0}.z > 'Z'",
           "{0}.c > 'c5'", "{0}.p > 'c5 '", "{0}.p IN ('c1 ', 'c7', 'c12')", "{0}.p = {0}.c", "{0}.p LIKE 'c1_%  '", "{0}.p BETWEEN {0}.c AND 'c8   '", "{0}.ts < timestamp '2002-01-01'", "{0}.f <> 4", "coalesce({0}.s, '') <> coalesce(lower({0}.v), 'x')"]
DIGESTS = ["count(*)", "count({0}.s)", "sum({0}.k)", "sum({0}.b)", "sum({0}.m)", "sum({0}.f)", "min({0}.s)", "max(upper({0}.s))", "min({0}.d)", "max({0}.ts)",
           "sum(length({0}.s))", "min({0}.c)", "max({0}.x)", "sum({0}.k * {0}.sm::bigint)", "count(DISTINCT {0}.w)", "count(DISTINCT upper({0}.s))",
           "avg({0}.m)", "sum({0}.m) FILTER (WHERE {0}.o)", "bool_or({0}.o)", "count(*) FILTER (WHERE {0}.k % 2 = 0)", "max({0}.s || {0}.w)", "min({0}.u)", "max({0}.z)", "sum(length({0}.z))",
           "min({0}.p)", "max({0}.p)", "count(DISTINCT {0}.p)", "sum(octet_length({0}.p))", "max(coalesce({0}.c, 'none'))", "min(md5({0}.s))", "sum({0}.m * {0}.k)"]


class Gen:
    def __init__(self, seed, rows):
        self.r = random.Random(seed)
        self.sizes = {"a": rows, "b": rows // 3 + 7, "c": 131072 + rows // 4}

    def pick(self, items):
        return self.r.choice(items)

    def schema(self):
        for name, n in self.sizes.items():
            cols = []
            for column, (_, formula) in COLUMNS.items():
                value = formula.format(a=self.pick([1, 3, 7, 11, 7919]), b=self.r.randrange(50), d=self.pick([n, n, n // 2, 2 * n]))
                every = self.pick([0, 0, 11, 23])
                cols.append(f"CASE WHEN i % {every} <> {every // 2} THEN {value} END" if every else value)
            yield f"CREATE TABLE {name} (" + ", ".join(f"{c} {ty}" for c, (ty, _) in COLUMNS.items()) + ");"
            yield f"INSERT INTO {name} SELECT {', '.join(cols)} FROM generate_series(1, {n}) i;"

    def filters(self, alias, word):
        conds = [self.pick(FILTERS).format(alias) for _ in range(self.pick([0, 0, 1, 1, 2]))]
        return f" {word} " + " AND ".join(f"({c})" for c in conds) if conds else ""

    def equal(self, left, right):
        kind = self.pick(["int", "int", "text", "text", "text", "num", "time", "float"])
        a = self.pick(MANY[kind])
        b = a if self.r.random() < 0.6 else self.pick(MANY[kind])
        conds = [f"{a.format(left)} = {b.format(right)}"]
        if self.r.random() < 0.25:
            conds.append(f"{self.pick(FEW).format(left)} IS NOT DISTINCT FROM {self.pick(FEW[:2]).format(right)}"
                         if self.r.random() < 0.1 else f"{left}.sm {self.pick(['<', '<>', '>='])} {right}.sm")
        return " AND ".join(conds)

    def table(self):
        """A table, or two under each other of which the second has only NULLs in some columns."""
        if self.r.random() < 0.85:
            return self.pick(["a", "a", "b", "b", "c"])
        nulls = {column: self.pick(["", f"NULL::{ty} "]) for column, (ty, _) in COLUMNS.items()}
        parts = [f"SELECT {', '.join(COLUMNS)} FROM {self.pick(['a', 'b'])}",
                 f"SELECT {', '.join(nulls[column] + column for column in COLUMNS)} FROM {self.pick(['a', 'b'])}"]
        return f"({' UNION ALL '.join(self.r.sample(parts, 2))})"

    def key(self):
        return self.pick(MANY[self.pick(list(MANY))])

    def digest(self, aliases, most=4):
        return ", ".join(self.pick(DIGESTS).format(self.pick(aliases)) for _ in range(self.r.randint(1, most)))

    def joined(self):
        """(FROM and WHERE, aliases whose columns may be read)."""
        kind = self.pick(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "semi", "in", "three"])
        t, u = self.table(), self.pick(["a", "b"])
        if kind == "semi":
            word = self.pick(["EXISTS", "NOT EXISTS"])
            return f"{t} t WHERE {word} (SELECT FROM {u} u WHERE {self.equal('t', 'u')}{self.filters('u', 'AND')})", ["t"]
        if kind == "in":
            key = self.key()
            where = f"{key.format('t')} {self.pick(['IN', 'IN', 'NOT IN'])} (SELECT {key.format('u')} FROM {u} u{self.filters('u', 'WHERE')})"
            return f"{t} t WHERE {where}{self.filters('t', 'AND')}", ["t"]
        if kind == "three":
            return (f"{t} t JOIN {u} u ON {self.equal('t', 'u')} {self.pick(['JOIN', 'LEFT JOIN'])} b v ON {self.equal('u', 'v')}"
                    f"{self.filters('t', 'WHERE')}"), ["t", "u", "v"]
        on = self.equal("t", "u").split(" AND ")[0] if kind == "FULL JOIN" else self.equal("t", "u")
        return f"{t} t {kind} {u} u ON {on}{self.filters('t', 'WHERE')}", ["t", "u"]

    def join(self):
        source, aliases = self.joined()
        return f"SELECT {self.digest(aliases)} FROM {source}"

    def grouped(self):
        source, aliases = self.joined() if self.r.random() < 0.4 else (f"{self.table()} t{self.filters('t', 'WHERE')}", ["t"])
        alias = self.pick(aliases)
        if self.r.random() < 0.5:
            keys = ", ".join(dict.fromkeys(self.pick(FEW).format(alias) for _ in range(self.r.randint(1, 2))))
            return f"SELECT {keys}, {self.digest(aliases)} FROM {source} GROUP BY {keys}"
        nkeys = self.r.randint(1, 2)
        keys = ", ".join(f"{self.key().format(alias)} g{i}" for i in range(nkeys))
        numbers = f", count(*) y0, sum({alias}.k) y1, max({alias}.s) y2"
        by = ", ".join(str(i + 1) for i in range(nkeys))
        having = self.pick(["", "", " HAVING count(*) > 1"])
        return (f"SELECT count(*), count(g0), min(g0), max(g0), sum(y0), sum(y1), min(y2) FROM (SELECT {keys}{numbers} FROM {source}"
                f" GROUP BY {by}{having}) q")

    def distinct(self):
        keys = ", ".join(self.key().format("t") for _ in range(self.r.randint(1, 2)))
        return f"SELECT count(*) FROM (SELECT DISTINCT {keys} FROM {self.table()} t{self.filters('t', 'WHERE')}) q"

    def set_operation(self):
        key = self.key()
        word = self.pick(["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"])
        parts = f" {word} ".join(f"SELECT {key.format('t')} g FROM {self.table()} t{self.filters('t', 'WHERE')}" for _ in range(2))
        return f"SELECT count(*), count(g), min(g), max(g) FROM ({parts}) q"

    def window(self):
        part = self.pick(FEW + MANY["text"] + MANY["int"]).format("t")
        order = f"{self.key().format('t')} {self.pick(['', 'DESC', 'NULLS FIRST'])}, t.k, t.s, t.b, t.v, t.c, t.ts, t.m, t.w"  # no ties in what is asked for
        whole = f"(PARTITION BY {part} ORDER BY {order})"
        call = self.pick([f"row_number() OVER {whole}", f"rank() OVER {whole}", f"sum(t.k) OVER {whole}", f"count(*) OVER (PARTITION BY {part})",
                          f"sum(t.m) OVER (PARTITION BY {part} ORDER BY {order} ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING)",
                          f"length(lag(upper(t.s)) OVER {whole})", f"length(first_value(t.s || t.w) OVER {whole})", f"max(t.m) OVER (PARTITION BY {part})",
                          f"round(avg(t.m) OVER (PARTITION BY {part} ORDER BY {order} ROWS BETWEEN 5 PRECEDING AND 2 PRECEDING), 3)",
                          f"count(t.m) FILTER (WHERE t.k % 3 = 0) OVER (ORDER BY {order} ROWS BETWEEN 20 PRECEDING AND 10 FOLLOWING)",
                          f"sum(t.m) OVER (ORDER BY {order} ROWS BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING)",
                          f"dense_rank() OVER {whole}", f"ntile(5) OVER {whole}"])
        return f"SELECT count(z), sum(z), max(z) FROM (SELECT {call} z FROM {self.pick(['a', 'b'])} t{self.filters('t', 'WHERE')}) q"

    def ordered(self):
        keys = [self.key().format("t") for _ in range(self.r.randint(1, 2))]
        order = ", ".join(f"{i + 1} {self.pick(['', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST'])}" for i in range(len(keys)))
        order += "".join(f", ({key})::text" for key in keys)  # 4.0 and 4.00 are equal and look different
        limit = self.pick(["LIMIT 5", "LIMIT 20 OFFSET 1000", "LIMIT 3000 OFFSET 4", "OFFSET 9000 LIMIT 3"])
        return f"SELECT {', '.join(keys)} FROM {self.table()} t{self.filters('t', 'WHERE')} ORDER BY {order} {limit}"

    def query(self):
        shape = self.pick([self.join, self.join, self.join, self.grouped, self.grouped, self.distinct, self.set_operation, self.window, self.ordered])
        return shape() + ";"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rows", type=int, default=20000)
    args = parser.parse_args()
    gen = Gen(args.seed, args.rows)
    for line in gen.schema():
        print(line)
    for _ in range(args.queries):
        print(gen.query())


if __name__ == "__main__":
    main()
