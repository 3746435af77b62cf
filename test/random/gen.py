#!/usr/bin/env python3
"""Random SQL that PostgreSQL 15 and tcudb must answer alike, one statement a line, the same for a seed.

usage: gen.py [--seed N] [--queries N] [--tables N] [--rows N]

First CREATE TABLE and INSERT lines, then SELECT lines. Queries raise no errors (no division by zero, no overflow,
scalar subqueries are aggregates), use no floating point, and have a result that is a bag: LIMIT comes only with an
ORDER BY over every output column. Small domains, so that joins match, groups have rows and NULL is everywhere.
"""
import argparse
import random

TYPES = ["int", "bigint", "smallint", "numeric(8,2)", "text", "date", "boolean"]
KINDS = {"int": "int", "bigint": "int", "smallint": "int", "numeric(8,2)": "num", "text": "text", "date": "date",
         "boolean": "bool"}
SQL_TYPES = {"int": "int", "num": "numeric", "text": "text", "date": "date", "bool": "boolean"}
WORDS = ["", "a", "ab", "abc", "b", "ba", "Bab", "c d", "zz", "aa%", "x_y"]


class Col:
    def __init__(self, sql, kind):
        self.sql, self.kind = sql, kind


class Gen:
    def __init__(self, seed, ntables, nrows):
        self.r = random.Random(seed)
        self.tables = {}
        self.alias = 0
        self.ntables, self.nrows = ntables, nrows

    def chance(self, p):
        return self.r.random() < p

    def pick(self, items):
        return self.r.choice(items)

    # ---- tables

    def literal(self, kind, null=0.0, plain=False):
        if self.chance(null):
            return "NULL" if plain else "NULL::" + SQL_TYPES[kind]
        r = self.r
        if kind == "int":
            return str(r.randint(-3, 9))
        if kind == "num":
            return f"{r.randint(-300, 900) / 100:.2f}"
        if kind == "text":
            return "'" + self.pick(WORDS) + "'"
        if kind == "date":
            return f"DATE '2020-01-{r.randint(1, 12):02d}'"
        return self.pick(["true", "false"])

    def schema(self):
        for t in range(self.ntables):
            types = ["int"] + [self.pick(TYPES) for _ in range(self.r.randint(2, 4))]
            name = f"t{t}"
            cols = [(f"c{i}", ty) for i, ty in enumerate(types)]
            self.tables[name] = cols
            keyed = self.chance(0.5)  # c0 ascending: a key that the store can prove
            yield f"CREATE TABLE {name} (" + ", ".join(
                f"{c} {ty}" + (" NOT NULL" if keyed and i == 0 else "") for i, (c, ty) in enumerate(cols)) + ");"
            n = self.pick([0, 1, 5, self.nrows // 2, self.nrows, self.nrows])
            rows = []
            for i in range(n):
                row = [str(i) if keyed and k == 0 else self.literal(KINDS[ty], 0.15, True) for k, (_, ty) in enumerate(cols)]
                rows.append("(" + ", ".join(row) + ")")
            if rows:
                yield f"INSERT INTO {name} VALUES " + ", ".join(rows) + ";"

    # ---- expressions

    def new_alias(self):
        self.alias += 1
        return f"q{self.alias}"

    def col_of(self, scope, kind):
        cols = [c for c in scope if c.kind == kind]
        return self.pick(cols).sql if cols else None

    def expr(self, scope, kind, depth=2):
        col = self.col_of(scope, kind)
        roll = self.r.random()
        if depth <= 0 or roll < 0.55:
            return col if col is not None and self.chance(0.85) else self.literal(kind, 0.05)
        sub = lambda k=kind: self.expr(scope, k, depth - 1)
        if roll < 0.63:
            return f"CASE WHEN {self.cond(scope, depth - 1)} THEN {sub()} ELSE {sub()} END"
        if roll < 0.70:
            return f"COALESCE({sub()}, {sub()})"
        if roll < 0.75:
            return f"NULLIF({sub()}, {sub()})"
        if kind == "int":
            return self.pick([f"({sub()} + {sub()})", f"({sub()} - {sub()})", f"({sub()} * {self.r.randint(-2, 3)})",
                              f"abs({sub()})", f"-({sub()})", f"{self.pick(['GREATEST', 'LEAST'])}({sub()}, {sub()})"])
        if kind == "num":
            return self.pick([f"({sub()} + {sub()})", f"({sub()} - {sub('int')})", f"({sub()} * {self.r.randint(1, 3)})",
                              f"{self.pick(['round', 'trunc'])}({sub()}, {self.r.randint(0, 4)})",
                              f"{self.pick(['round', 'trunc', 'ceil', 'floor', 'abs'])}({sub()})",
                              f"{self.pick(['GREATEST', 'LEAST'])}({sub()}, {sub(self.pick(['int', 'num']))})",
                              f"round({sub()} / {self.pick(['3', '0.7', '12.50'])}, {self.r.randint(1, 5)})"])
        if kind == "date":
            return f"({sub()} + {self.r.randint(-3, 3)})"
        if kind == "bool":
            return f"({self.cond(scope, depth - 1)})"
        return sub()

    def compare(self, scope, depth):
        kind = self.pick(["int", "int", "int", "num", "text", "date"])
        op = self.pick(["=", "=", "=", "<>", "<", "<=", ">", ">="])
        other = self.pick(["int", "num"]) if kind in ("int", "num") else kind
        return f"{self.expr(scope, kind, depth)} {op} {self.expr(scope, other, depth)}"

    def cond(self, scope, depth=2, outer=None):
        """A boolean over scope; subqueries only where outer says how deep."""
        roll = self.r.random()
        if outer and roll < 0.3:
            return self.subquery_cond(scope, outer)
        if depth <= 0 or roll < 0.5:
            return self.compare(scope, max(depth - 1, 0))
        if roll < 0.60:
            kind = self.pick(["int", "text", "num", "date"])
            items = ", ".join(self.literal(kind, 0.07) for _ in range(self.r.randint(1, 4)))
            return f"{self.expr(scope, kind, 1)} {self.pick(['IN', 'IN', 'NOT IN'])} ({items})"
        if roll < 0.68:
            kind = self.pick(["int", "num", "date"])
            low, high = self.literal(kind), self.literal(kind)
            return f"{self.expr(scope, kind, 1)} {self.pick(['BETWEEN', 'NOT BETWEEN'])} {low} AND {high}"
        if roll < 0.76:
            kind = self.pick(["int", "text", "num", "date", "bool"])
            return f"{self.expr(scope, kind, 1)} IS {self.pick(['', 'NOT '])}NULL"
        if roll < 0.80:
            kind = self.pick(["int", "text"])
            return (f"{self.expr(scope, kind, 1)} IS {self.pick(['', 'NOT '])}DISTINCT FROM "
                    f"{self.expr(scope, kind, 1)}")
        if roll < 0.84:
            return f"NOT ({self.cond(scope, depth - 1, outer)})"
        if roll < 0.88:
            word = self.pick(["a%", "%b", "%a%", "_b%", "a_", "%"])
            return f"{self.expr(scope, 'text', 0)} {self.pick(['LIKE', 'NOT LIKE'])} '{word}'"
        word = self.pick([" AND ", " OR "])
        return "(" + word.join(self.cond(scope, depth - 1, outer) for _ in range(self.r.randint(2, 3))) + ")"

    def subquery_cond(self, scope, level):
        roll = self.r.random()
        inner_from, inner = self.from_clause(level - 1, 2)
        corr = []
        for _ in range(self.pick([0, 1, 1, 1, 2])):
            kind = self.pick(["int", "int", "text", "num"])
            a, b = self.col_of(inner, kind), self.col_of(scope, kind)
            if a and b:
                corr.append(f"{a} {self.pick(['=', '=', '=', '=', '<', '<>'])} {b}")
        if self.chance(0.4):
            corr.append(self.cond(inner, 1))
        where = " WHERE " + " AND ".join(corr) if corr else ""
        nested = level > 1 and self.chance(0.2)
        if nested:
            more = self.subquery_cond(inner + (scope if self.chance(0.3) else []), level - 1)
            where = where + " AND " + more if where else " WHERE " + more
        if roll < 0.35:
            return f"{self.pick(['', 'NOT '])}EXISTS (SELECT {self.pick(['1', '*'])} FROM {inner_from}{where})"
        kind = self.pick(["int", "int", "text", "num"])
        if roll < 0.65:
            return (f"{self.expr(scope, kind, 1)} {self.pick(['IN', 'IN', 'NOT IN'])} "
                    f"(SELECT {self.pick(['', '', 'DISTINCT '])}{self.expr(inner, kind, 1)} FROM {inner_from}{where})")
        if roll < 0.75:
            op = self.pick(["=", "<", ">", "<>", "<=", ">="])
            return (f"{self.expr(scope, kind, 1)} {op} {self.pick(['ANY', 'ALL'])} "
                    f"(SELECT {self.expr(inner, kind, 0)} FROM {inner_from}{where})")
        return f"{self.expr(scope, 'int', 1)} {self.pick(['=', '<', '>', '>='])} {self.scalar(inner_from, inner, where)}"

    def scalar(self, inner_from, inner, where):
        col = self.col_of(inner, "int")
        if col and self.chance(0.2):  # one row at most, which nothing but the data says
            return f"(SELECT DISTINCT {col} FROM {inner_from}{where}{' AND ' if where else ' WHERE '}{col} = {self.literal('int')})"
        agg = self.pick(["count(*)", f"count({self.expr(inner, 'int', 1)})", f"sum({self.expr(inner, 'int', 0)})",
                         f"min({self.expr(inner, 'int', 1)})", f"max({self.expr(inner, 'int', 1)})",
                         f"count(*) + coalesce(max({self.expr(inner, 'int', 0)}), 7)"])
        having = f" HAVING count(*) {self.pick(['>', '<', '='])} {self.r.randint(0, 3)}" if self.chance(0.1) else ""
        return f"(SELECT {agg} FROM {inner_from}{where}{having})"

    # ---- FROM

    def relation(self, level):
        """(sql, columns) of one relation with an alias of its own."""
        alias = self.new_alias()
        if level > 0 and self.chance(0.25):
            sql, kinds = self.select(level - 1, alias_cols=True)
            return f"({sql}) {alias}", [Col(f"{alias}.{n}", k) for n, k in kinds]
        name = self.pick(list(self.tables))
        return f"{name} {alias}", [Col(f"{alias}.{c}", KINDS[ty]) for c, ty in self.tables[name]]

    def join_cond(self, left, right):
        conds = []
        for _ in range(self.pick([1, 1, 1, 2])):
            kind = self.pick(["int", "int", "int", "text", "num", "date"])
            a, b = self.col_of(left, kind), self.col_of(right, kind)
            if a and b:
                conds.append(f"{a} {self.pick(['=', '=', '=', '=', '=', '<', '<>'])} {b}")
        if not conds or self.chance(0.2):
            conds.append(self.cond(left + right, 1))
        return " AND ".join(conds)

    def from_clause(self, level, most):
        sql, scope = self.relation(level)
        for _ in range(self.pick([0, 0, 1, 1, 1, 2, 2, 3][:4 + 2 * most]) if most > 1 else 0):
            right, cols = self.relation(level if self.chance(0.3) else 0)
            kind = self.pick(["JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"])
            if kind == "CROSS JOIN":
                sql = f"{sql} CROSS JOIN {right}"
            elif kind == "FULL JOIN":  # PostgreSQL wants a hashable condition
                a, b = self.col_of(scope, "int"), self.col_of(cols, "int")
                if a is None or b is None:
                    sql = f"{sql} CROSS JOIN {right}"
                else:
                    sql = f"{sql} FULL JOIN {right} ON {a} = {b}"
            else:
                sql = f"{sql} {kind} {right} ON {self.join_cond(scope, cols)}"
            scope = scope + cols
        return sql, scope

    # ---- SELECT

    def aggregate(self, scope):
        kind = self.pick(["int", "int", "num"])
        x = self.expr(scope, kind, 1)
        roll = self.r.random()
        flt = f" FILTER (WHERE {self.cond(scope, 1)})" if self.chance(0.15) else ""
        if roll < 0.2:
            return f"count(*){flt}", "int"
        if roll < 0.35:
            return f"count({self.pick(['', '', 'DISTINCT '])}{x}){flt}", "int"
        if roll < 0.6:
            if self.chance(0.3):
                cols = [c.sql for c in scope if c.kind == "int"]
                if len(cols) > 1:
                    return f"sum({self.pick(cols)} * {self.pick(cols)}){flt}", "num"
            return f"sum({self.pick(['', '', '', 'DISTINCT '])}{x}){flt}", "num"
        if roll < 0.7:
            return f"avg({x}){flt}", "avg"
        kind = self.pick(["int", "num", "text", "date"])
        return f"{self.pick(['min', 'max'])}({self.expr(scope, kind, 1)}){flt}", kind

    def select(self, level, alias_cols=False):
        """(sql, [(name, kind)]) of a query without ORDER BY."""
        if level > 0 and self.chance(0.12):
            return self.set_op(level)
        from_sql, scope = self.from_clause(level, 3)
        where = ""
        if self.chance(0.7):
            conds = [self.cond(scope, 2, level if level > 0 else None) for _ in range(self.pick([1, 1, 2, 3]))]
            where = " WHERE " + " AND ".join(conds)
        outs = []
        tail = ""
        distinct = ""
        if self.chance(0.45):
            groups = []
            for _ in range(self.pick([0, 1, 1, 2, 3])):
                kind = self.pick(["int", "text", "num", "date", "bool"])
                g = self.col_of(scope, kind)
                if g and g not in groups:
                    groups.append(g)
                    if self.chance(0.8):
                        outs.append((g, kind))
            for _ in range(self.r.randint(1, 3)):
                outs.append(self.aggregate(scope))
            if groups:
                tail = " GROUP BY " + ", ".join(groups)
            if self.chance(0.2):
                tail += f" HAVING {self.aggregate(scope)[0]} IS {self.pick(['NOT ', ''])}NULL OR count(*) > 1"
        else:
            for _ in range(self.r.randint(1, 4)):
                kind = self.pick(["int", "int", "num", "text", "date", "bool"])
                outs.append((self.expr(scope, kind, 2), kind))
            if level > 0 and self.chance(0.15):
                inner_from, inner = self.from_clause(0, 1)
                a, b = self.col_of(inner, "int"), self.col_of(scope, "int")
                corr = f" WHERE {a} = {b}" if a and b else ""
                outs.append((self.scalar(inner_from, inner, corr), "num"))
            if self.chance(0.2):
                distinct = "DISTINCT "
        names = [f"o{i}" for i in range(len(outs))]
        items = ", ".join(f"{e} AS {n}" for (e, _), n in zip(outs, names))
        return f"SELECT {distinct}{items} FROM {from_sql}{where}{tail}", [(n, k) for n, (_, k) in zip(names, outs)]

    def simple_select(self, kinds):
        from_sql, scope = self.from_clause(0, 2)
        where = f" WHERE {self.cond(scope, 1)}" if self.chance(0.6) else ""
        items = ", ".join(f"{self.expr(scope, k, 1)} AS o{i}" for i, k in enumerate(kinds))
        return f"SELECT {items} FROM {from_sql}{where}"

    def set_op(self, level):
        kinds = [self.pick(["int", "text", "date"]) for _ in range(self.r.randint(1, 2))]
        sql = self.simple_select(kinds)
        for _ in range(self.pick([1, 1, 2])):
            op = self.pick(["UNION", "UNION ALL", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL"])
            sql = f"({sql}) {op} ({self.simple_select(kinds)})"
        return sql, [(f"o{i}", k) for i, k in enumerate(kinds)]

    def factor(self, cols):
        c = self.pick(cols)
        return self.pick([c, c, c, f"(1 - {c})", f"({c} + 2)", f"CASE WHEN {c} > 2 THEN {c} ELSE 0 END", f"COALESCE({c}, 1)"])

    def join_aggregate(self):
        """Sums, counts and extremes over joins, most of them equi-joins: what may be aggregated before the join or become a product."""
        n = self.pick([2, 2, 2, 3])
        rels, froms, wheres = [], [], []
        for _ in range(n):
            name, alias = self.pick(list(self.tables)), self.new_alias()
            rels.append([Col(f"{alias}.{c}", KINDS[ty]) for c, ty in self.tables[name]])
            froms.append(f"{name} {alias}")
        for i in range(1, n):
            for _ in range(self.pick([1, 1, 1, 2])):
                kind = self.pick(["int", "int", "int", "text", "date", "num"])
                a, b = self.col_of(rels[self.r.randrange(i)], kind), self.col_of(rels[i], kind)
                if a and b:
                    op = "=" if self.chance(0.8) else self.pick(["<", "<=", ">", ">=", "<>"])
                    wheres.append(f"{a} {op} {b}")
        if self.chance(0.3):
            wheres.append(self.cond(self.pick(rels), 1))
        scope = [c for rel in rels for c in rel]
        groups = list(dict.fromkeys(self.pick(scope).sql for _ in range(self.pick([0, 1, 1, 2, 2, 3]))))
        outs = [g for g in groups if self.chance(0.9)]
        for _ in range(self.r.randint(1, 4)):
            numbers = [[c.sql for c in rel if c.kind in ("int", "num")] for rel in rels]
            flt = f" FILTER (WHERE {self.cond(self.pick(rels), 0)})" if self.chance(0.15) else ""
            outs.append(self.pick([
                "count(*)", f"count({self.pick(scope).sql})", f"sum({self.factor(self.pick(numbers))})",
                f"sum({self.factor(numbers[0])} * {self.factor(numbers[1])})",
                f"sum({self.factor(numbers[1])} * {self.factor(numbers[0])})", f"avg({self.factor(self.pick(numbers))})",
                f"min({self.pick(scope).sql}::text)", f"max({self.factor(self.pick(numbers))})",
                f"count(DISTINCT {self.pick(scope).sql})"]) + flt)
        where = " WHERE " + " AND ".join(wheres) if wheres else ""
        tail = " GROUP BY " + ", ".join(groups) if groups else ""
        if self.chance(0.15):
            tail += f" HAVING count(*) > {self.r.randint(0, 3)}"
        items = ", ".join(f"{e} AS o{i}" for i, e in enumerate(outs))
        if groups and self.chance(0.1):
            return f"SELECT DISTINCT {', '.join(groups)} FROM {', '.join(froms)}{where};"
        return f"SELECT {items} FROM {', '.join(froms)}{where}{tail};"

    # ---- CTEs that several scans filter, outer joins of which only rows without a match are kept

    def cte_body(self):
        """(sql, kinds) of a query that windows, a LIMIT or a set operation may close to filters from above."""
        sql, cols = self.select(1)
        roll = self.r.random()
        names = [n for n, _ in cols]
        if roll < 0.2:
            part = self.pick(names)
            call = self.pick(["count(*)", f"min({self.pick(names)}::text)", f"count({self.pick(names)})"])
            return f"SELECT s.*, {call} OVER (PARTITION BY {part}) AS w FROM ({sql}) s", cols
        if roll < 0.35:
            order = ", ".join(str(i + 1) for i in range(len(cols)))
            return f"SELECT * FROM ({sql}) s ORDER BY {order} LIMIT {self.r.randint(0, 12)}", cols
        if roll < 0.5:
            return f"SELECT * FROM ({sql}) s {self.pick(['UNION', 'UNION ALL', 'EXCEPT'])} SELECT * FROM ({sql}) u WHERE u.{names[0]} IS NOT NULL", cols
        return sql, cols

    def cte_scan(self, name, cols, asked):
        """(alias, columns, conditions) of a scan of a CTE, most of which ask something of the same column."""
        alias = self.new_alias()
        scope = [Col(f"{alias}.{n}", k) for n, k in cols]
        conds = []
        if self.chance(0.9):
            column = scope[asked if self.chance(0.9) else self.r.randrange(len(scope))]
            conds.append(self.pick([f"{column.sql} {self.pick(['=', '=', '<', '>=', '<>'])} {self.literal(column.kind)}",
                                    f"{column.sql} IN ({self.literal(column.kind)}, {self.literal(column.kind, 0.2)})",
                                    f"{column.sql} IS {self.pick(['NOT ', ''])}NULL", self.cond([column], 1)]))
        if self.chance(0.3):
            conds.append(self.cond(scope, 1))
        return alias, scope, conds

    def ctes(self):
        body, cols = self.cte_body()
        union = self.chance(0.4)
        if not union:  # joined with itself below: as bound, too, that must not explode
            body = f"SELECT DISTINCT {', '.join(n for n, _ in cols)} FROM ({body}) d"
        cols = [(n, "num" if k == "avg" else k) for n, k in cols]
        asked = self.r.randrange(len(cols))
        text = f"WITH w {self.pick(['AS', 'AS', 'AS', 'AS MATERIALIZED', 'AS NOT MATERIALIZED'])} ({body})"
        names = ["w"]
        if self.chance(0.3):
            alias, scope, conds = self.cte_scan("w", cols, asked)
            where = " WHERE " + " AND ".join(conds) if conds else ""
            text += f", x AS (SELECT {', '.join(c.sql for c in scope)} FROM w {alias}{where})"
            names = ["w", "x", "x"]
        scans = [(self.pick(names), *self.cte_scan("w", cols, asked)) for _ in range(self.pick([2, 2, 3]))]
        if union:
            parts = [f"SELECT {', '.join(c.sql for c in scope)} FROM {name} {alias}" + (" WHERE " + " AND ".join(conds) if conds else "")
                     for name, alias, scope, conds in scans]
            return f"{text} {' UNION ALL '.join(parts)};"
        name, first, scope, conds = scans[0]
        source, wheres = f"{name} {first}", list(conds)
        for name, alias, columns, conds in scans[1:]:
            key = self.r.randrange(len(cols))
            kind = self.pick(["JOIN", "JOIN", "LEFT JOIN", "EXISTS"])
            equal = f"{scope[key].sql} = {columns[key].sql}"
            if kind == "EXISTS":
                wheres.append(f"{self.pick(['', 'NOT '])}EXISTS (SELECT FROM {name} {alias} WHERE {' AND '.join([equal] + conds)})")
                continue
            on = [equal] + (conds if kind == "LEFT JOIN" else [])
            wheres += [] if kind == "LEFT JOIN" else conds
            source += f" {kind} {name} {alias} ON {' AND '.join(on)}"
        where = " WHERE " + " AND ".join(wheres) if wheres else ""
        return f"{text} SELECT count(*), min({scope[0].sql}::text), max({scope[asked].sql}::text), count({scope[asked].sql}) FROM {source}{where};"

    def unmatched(self):
        """Rows without a partner, in all the ways of saying so."""
        left, scope = self.from_clause(1, 2)
        right, cols = self.relation(1)
        on, tested = self.join_cond(scope, cols), self.pick(cols).sql
        more = f" AND {self.cond(scope, 1)}" if self.chance(0.3) else ""
        outs = ", ".join(f"{self.pick(scope).sql} AS o{i}" for i in range(self.r.randint(1, 3)))
        roll = self.r.random()
        if roll < 0.2:
            return f"SELECT {outs} FROM {left} WHERE NOT EXISTS (SELECT {self.pick(['1', tested])} FROM {right} WHERE {on}){more};"
        if roll < 0.4:
            kind = self.pick(["int", "text", "date", "num"])
            where = f" WHERE {self.cond(cols + (scope if self.chance(0.4) else []), 1)}" if self.chance(0.6) else ""
            word = self.pick(["{} NOT IN ({})", "{} <> ALL ({})", "NOT ({} IN ({}))", "({} IN ({})) IS NOT TRUE", "({} IN ({})) IS NULL"])
            return (f"SELECT {outs} FROM {left} WHERE "
                    + word.format(self.expr(scope, kind, 1), f"SELECT {self.expr(cols, kind, 1)} FROM {right}{where}") + f"{more};")
        test = self.pick(["{0} IS NULL", "{0} IS NULL", "NOT ({0} IS NOT NULL)", "coalesce({0}, NULL) IS NULL", "({0} IS NULL) = true"])
        padded = self.pick([f"count({tested})", "count(*)", f"min({tested}::text)"])
        if self.chance(0.3):
            outs = padded
        elif self.chance(0.5):
            outs += f", {self.pick(cols).sql} AS p, coalesce({self.pick(cols).sql}::text, 'none') AS q"
        several = len({c.sql.split(".")[0] for c in scope}) > 1
        join = self.pick([f"({left}) LEFT JOIN {right}", f"{right} RIGHT JOIN ({left})"]) if several else f"{left} LEFT JOIN {right}"
        if self.chance(0.3):
            third, others = self.relation(0)
            join = f"{join} ON {on} {self.pick(['JOIN', 'LEFT JOIN'])} {third}"
            on = self.join_cond(scope + cols, others)
        return f"SELECT {outs} FROM {join} ON {on} WHERE {test.format(tested)}{more};"

    def query(self):
        self.alias = 0
        roll = self.r.random()
        if roll < 0.2:
            return self.join_aggregate()
        if roll < 0.28:
            return self.ctes()
        if roll < 0.36:
            return self.unmatched()
        sql, cols = self.select(2)
        if self.chance(0.1):
            inner, kinds = self.select(1)
            alias = self.new_alias()
            name = "w"
            scope = [Col(f"{alias}.{n}", k) for n, k in kinds]
            other = self.new_alias()
            sql = (f"WITH {name} AS ({inner}) SELECT count(*) AS o0, min({alias}.{kinds[0][0]}::text) AS o1 FROM {name} {alias}"
                   f"{f', {name} {other}' if self.chance(0.5) else ''} WHERE {self.cond(scope, 1)}")
            return sql + ";"
        if self.chance(0.3):
            order = ", ".join(f"{i + 1}{self.pick(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'])}"
                              for i in self.r.sample(range(len(cols)), len(cols)))
            sql = f"SELECT * FROM ({sql}) s ORDER BY {order}"
            if self.chance(0.7):
                sql += f" LIMIT {self.r.randint(0, 9)}"
                if self.chance(0.3):
                    sql += f" OFFSET {self.r.randint(0, 5)}"
        return sql + ";"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--tables", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20)
    args = parser.parse_args()
    gen = Gen(args.seed, args.tables, args.rows)
    for line in gen.schema():
        print(line)
    for _ in range(args.queries):
        print(gen.query())


if __name__ == "__main__":
    main()
