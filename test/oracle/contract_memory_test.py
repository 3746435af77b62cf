"""Contractions under tcudb.memory_limit: less and less memory never changes an answer, and is never exceeded.

Every query runs without contractions first, then without a limit in the form that is priced or in every form, then with limits between
what the database itself holds and what the form took. A run must give the same rows, or fail with 53200; three
quarters of what the form took beyond the tables must be enough for an equality product. EXPLAIN ANALYZE's peak is
held against the limit, and must have shown parts and chunks of keys somewhere.
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
    for what in (r"([2-9]|\d\d+) parts", r"([2-9]|\d\d+) chunks of keys", "compared by tree", "compared by sums of"):
        checker.expect(any(re.match(what, s) for s in checker.seen), f"nothing ran in {what}")
    for fault in checker.faults[:20]:
        print(fault)
    print(f"{checker.passed} passed, {len(checker.faults)} failed, 0 skipped")
    sys.exit(1 if checker.faults else 0)


main()
