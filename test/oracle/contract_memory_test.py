"""Contractions under tcudb.memory_limit: less and less memory never changes an answer, and is never exceeded.

Every query runs without contractions first, then without a limit in the form that is priced or in every form, then with limits between
what the database itself holds and what the form took. A run must give the same rows, or fail with 53200; three
quarters of what the form took beyond the tables must be enough for an equality product. EXPLAIN ANALYZE's peak is
held against the limit, and must have shown parts and chunks of keys somewhere.

Inputs that are many times the limit are read again by parts: of keys, groups, slices of compared values. There the least
limit is given, the rows are those without one, EXPLAIN says so before, and what cannot work is refused before it begins.
"""
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from default_rates import SETTINGS, fix_rates  # noqa: E402
from engine import Database  # noqa: E402

ROWS = 40000
SETUP = [
    "CREATE TABLE a (g int, k int, v int, n bigint, f float8, t text)",
    "CREATE TABLE b (h int, k int, w int, n bigint, f float8, t text)",
    f"INSERT INTO a SELECT i % 211, (i * 7919) % 2003, i % 200 - 100, 4000000000000000000 - i, i % 977 / 8.0, 'g' || i % 97 "
    f"FROM generate_series(0, {ROWS - 1}) AS s(i)",
    f"INSERT INTO b SELECT i % 307, (i * 7907) % 2003, i % 100 - 50, i, i % 451 / 4.0, 'h' || i % 89 "
    f"FROM generate_series(0, {ROWS - 1}) AS s(i)",
    "CREATE TABLE c AS SELECT g % 40 AS g, k % 50 AS k, v, v * 3 + g AS x FROM a WHERE v % 20 = 0",
    "CREATE TABLE d AS SELECT h % 30 AS h, k % 50 AS k, w, w * 5 - h AS y FROM b WHERE w % 20 = 0",
]
FORMS = ["sparse", "dense", "bits", "split", "doubles"]
# What is summed up outside tells every row apart.
WHOLE = "SELECT count(*), sum(s), sum(g * s), sum(h * (s + n)), sum(n) FROM ({}) AS q"
EQUAL = {
    "sums": WHOLE.format("SELECT a.g, b.h, sum(a.v * b.w) AS s, count(*) AS n FROM a JOIN b USING (k) GROUP BY 1, 2"),
    "wide sums": WHOLE.format("SELECT a.g, b.h, sum(a.n) AS s, count(*) AS n FROM a JOIN b USING (k) GROUP BY 1, 2"),
    "floats": WHOLE.format("SELECT a.g, b.h, sum(a.f * b.f) AS s, count(*) AS n FROM a JOIN b USING (k) GROUP BY 1, 2"),
    "pairs": "SELECT count(*), sum(g), sum(h), sum(g * h) FROM (SELECT DISTINCT a.g, b.h FROM a JOIN b USING (k)) AS q",
    "text": "SELECT count(*), sum(n), min(x), max(y) FROM (SELECT a.t AS x, b.t AS y, count(*) AS n FROM a JOIN b USING (k) GROUP BY 1, 2) AS q",
    "distinct": "SELECT a.g, count(DISTINCT b.h), count(*) FROM a JOIN b USING (k) GROUP BY 1",
    "self": WHOLE.format("SELECT x.g, y.g AS h, sum(x.v * y.v) AS s, count(*) AS n FROM a x JOIN a y USING (k) GROUP BY 1, 2"),
    "top": "SELECT a.g, b.h, count(*) FROM a JOIN b USING (k) GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 7",
}
COMPARED = {
    "tree": WHOLE.format("SELECT c.g, d.h, sum(c.v) AS s, count(*) AS n FROM c JOIN d ON c.x < d.y GROUP BY 1, 2"),
    "tree with keys": WHOLE.format("SELECT c.g, d.h, sum(c.v * d.w) AS s, count(*) AS n FROM c JOIN d ON c.k = d.k AND c.x > d.y GROUP BY 1, 2"),
    "few groups": "SELECT c.g % 2, sum(c.v), count(*) FROM c JOIN d ON c.x <> d.y GROUP BY 1",
}


# Tables whose coded rows are ten times and more of what the limits below leave: kilobytes beyond the tables, and what is shown.
BIG = 300000
BIG_SETUP = [
    f"CREATE TABLE e AS SELECT CAST(i % 211 AS int) AS g, CAST(i * 7919 % 2003 AS int) AS k, CAST(i % 200 - 100 AS int) AS v, "
    f"4000000000000000000 - i AS n, CAST(i % 977 AS float8) / 8 AS f, CAST(i * 31 % 300007 AS int) AS x, 'g' || i % 97 AS t "
    f"FROM generate_series(CAST(0 AS bigint), {BIG - 1}) AS s(i)",
    f"CREATE TABLE o AS SELECT CAST(i % 307 AS int) AS h, CAST(i * 7907 % 2003 AS int) AS k, CAST(i % 100 - 50 AS int) AS w, "
    f"i AS n, CAST(i % 451 AS float8) / 4 AS f, CAST(i * 37 % 300007 AS int) AS x, 'h' || i % 89 AS t "
    f"FROM generate_series(CAST(0 AS bigint), {BIG - 1}) AS s(i)",
]
RANGES, BLOCKS, SLICES = r"1 x 1 blocks of groups x ([2-9]|\d\d+) ranges", r"([2-9]|\d\d+) x \d+ blocks|\d+ x ([2-9]|\d\d+) blocks", "slices of compared"
PARTS = {
    "sums": (5500, RANGES, WHOLE.format("SELECT e.g, o.h, sum(e.v * o.w) AS s, count(*) AS n FROM e JOIN o USING (k) GROUP BY 1, 2")),
    "blocks": (2800, BLOCKS, WHOLE.format("SELECT e.g, o.h, sum(e.v * o.w) AS s, count(*) AS n FROM e JOIN o USING (k) GROUP BY 1, 2")),
    "wide": (5500, RANGES + "|" + BLOCKS, WHOLE.format("SELECT e.g, o.h, sum(e.n) AS s, count(*) AS n FROM e JOIN o USING (k) GROUP BY 1, 2")),
    "floats": (3000, "", "SELECT e.g % 10, o.h % 9, sum(e.f * o.f), count(*) FROM e JOIN o USING (k) GROUP BY 1, 2"),
    "text": (2500, RANGES, "SELECT e.t, o.t, count(*) FROM e JOIN o USING (k) GROUP BY 1, 2"),
    "distinct": (4000, RANGES, "SELECT e.g, count(DISTINCT o.h), count(*) FROM e JOIN o USING (k) GROUP BY 1"),
    "having": (4000, RANGES, "SELECT e.g, o.h, count(*) FROM e JOIN o USING (k) GROUP BY 1, 2 HAVING count(*) > 1500"),
    "top": (4000, RANGES, "SELECT e.g, o.h, count(*) FROM e JOIN o USING (k) GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 7"),
    "self": (4500, RANGES, WHOLE.format("SELECT x.g, y.g AS h, sum(x.v * y.v) AS s, count(*) AS n FROM e x JOIN e y USING (k) GROUP BY 1, 2")),
    "many keys": (6000, RANGES, WHOLE.format("SELECT e.g, o.h, sum(e.v * o.w) AS s, count(*) AS n FROM e JOIN o USING (x) GROUP BY 1, 2")),
    "no groups": (2000, "", "SELECT sum(e.v * o.w), count(*) FROM e JOIN o USING (k)"),
    "compared": (14000, SLICES, "SELECT sum(e.v * o.w), count(*) FROM e JOIN o ON e.x < o.x"),
    "compared with keys": (9000, "ranges", WHOLE.format("SELECT e.g % 5 AS g, o.h % 7 AS h, sum(e.v) AS s, count(*) AS n FROM e JOIN o ON e.k = o.k AND e.x >= o.x GROUP BY 1, 2")),
}


def run(db, sql):
    result = db.run(sql)
    return result, sorted(map(tuple, result.rows), key=str)


def peak(db, sql):
    """What EXPLAIN ANALYZE says: kilobytes, and how it ran; None: it did not."""
    result = db.run("EXPLAIN ANALYZE " + sql)
    if result.error:
        return None, ""
    text = "\n".join(row[0] for row in result.rows)
    return int(re.search(r"Peak Memory: (\d+) kB", text).group(1)), text


class Checker:
    def __init__(self, db):
        self.db, self.passed, self.faults, self.seen = db, 0, [], set()

    def expect(self, true, what):
        self.passed += bool(true)
        if not true:
            self.faults.append(what)

    def limited(self, name, sql, wanted, limit, percent, must):
        self.db.run(f"SET tcudb.memory_limit = '{limit}kB'")
        result, rows = run(self.db, sql)
        state = result.error.sqlstate if result.error else ""
        used, text = peak(self.db, sql) if not state else (None, "")
        self.db.run("RESET tcudb.memory_limit")
        self.seen.update(re.findall(r"\d+ parts|\d+ chunks of keys|compared by [a-z ]+", text))
        self.expect(rows == wanted if not state else state == "53200" and not must, f"{name} in {limit} kB: {state or 'other rows'}")
        self.expect(used is None or used <= limit, f"{name} in {limit} kB: a peak of {used} kB")

    def query(self, name, sql, forms, percents, must):
        self.db.run("SET tcudb.contraction = off")
        _, wanted = run(self.db, sql)
        self.db.run("SET tcudb.contraction = on")
        base, _ = peak(self.db, "SELECT 1")
        for form in forms:
            self.db.run(f"SET tcudb.product_form = {form}")
            most, text = peak(self.db, sql)
            self.expect("Contract" in text, f"{name}: no contraction")
            for percent in percents:
                self.limited(f"{name}, {form}", sql, wanted, base + (most - base) * percent // 100, percent, must and percent == percents[0])


    def parts(self, name, kilobytes, shown, sql):
        _, wanted = run(self.db, sql)
        limit = peak(self.db, "SELECT 1")[0] + kilobytes
        self.db.run(f"SET tcudb.memory_limit = '{limit}kB'")
        result, rows = run(self.db, sql)
        before = "\n".join(row[0] for row in self.db.run("EXPLAIN " + sql).rows)
        used, text = peak(self.db, sql)
        self.db.run("RESET tcudb.memory_limit")
        self.expect(rows == wanted, f"{name} by parts: {result.error.sqlstate if result.error else 'other rows'}")
        self.expect(used is not None and used <= limit, f"{name} by parts in {limit} kB: a peak of {used} kB")
        self.expect("by parts" in before, f"{name}: EXPLAIN does not say by parts")
        self.expect("read again for each of" in text and re.search(shown, text), f"{name}: not cut by {shown}: {text}")

    def refused(self):
        """A limit that leaves room for nothing: said after the survey, before a row is put out."""
        self.db.run(f"SET tcudb.memory_limit = '{peak(self.db, 'SELECT 1')[0] + 700}kB'")
        result = self.db.run("EXPLAIN ANALYZE " + PARTS["sums"][2])
        self.db.run("RESET tcudb.memory_limit")
        self.expect(result.error and result.error.sqlstate == "53200", "room for nothing is not refused")


def main():
    fix_rates()
    database = Database(os.environ.get("BUILD", "build"))
    db = database.connect()
    for statement in SETTINGS + SETUP + ["SET tcudb.engine = tcu"]:
        result = db.run(statement)
        assert not result.error, result.error.message
    checker = Checker(db)
    for name, sql in EQUAL.items():
        percents = (101, 75) if name == "floats" else (75, 50)  # their limbs, which must fit, are nearly all of it
        checker.query(name, sql, FORMS if name in ("sums", "pairs") else ["auto"], percents, True)
    for name, sql in COMPARED.items():
        checker.query(name, sql, ["auto"], (105, 85), False)
    for statement in BIG_SETUP + ["RESET tcudb.product_form"]:
        result = db.run(statement)
        assert not result.error, result.error.message
    for name, (kilobytes, shown, sql) in PARTS.items():
        checker.parts(name, kilobytes, shown, sql)
    checker.refused()
    for what in (r"([2-9]|\d\d+) parts", r"([2-9]|\d\d+) chunks of keys", "compared by tree", "compared by sums of"):
        checker.expect(any(re.match(what, s) for s in checker.seen), f"nothing ran in {what}")
    for fault in checker.faults[:20]:
        print(fault)
    print(f"{checker.passed} passed, {len(checker.faults)} failed, 0 skipped")
    sys.exit(1 if checker.faults else 0)


main()
