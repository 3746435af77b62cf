"""Sums of float8 over contractions: equal to the exact sum, rounded once, whatever the order of rows, form and threads.

The oracle is rational arithmetic: every finite double is a fraction, so are products and sums, and float(Fraction) rounds
to nearest, ties to even. Special values and errors are PostgreSQL's rules.
"""
import fractions
import math
import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from engine import Database  # noqa: E402

FORMS = ["auto", "sparse", "dense", "bits", "split"]
QUERY = ("SELECT a.g, b.g, count(*), sum(a.f), sum(a.f * b.f), avg(b.f), sum(b.x), sum(CASE WHEN a.x > 2 THEN b.f END) "
         "FROM a, b WHERE a.k = b.k GROUP BY a.g, b.g")
COMPARED = "SELECT a.g, count(*), sum(b.f), sum(a.f * b.f) FROM a, b WHERE a.k < b.k GROUP BY a.g"

# One side is a join that is summed first: its rows come with the number of rows that they stand for. Three sums, so that
# values far apart need more limbs than there is room for.
WEIGHED = ("SELECT b.g, count(*), sum(b.f), sum(b.f) FILTER (WHERE b.x > 1), sum(b.f) FILTER (WHERE b.x > 2) "
           "FROM a, a c, b WHERE a.x > c.x AND c.k < b.k GROUP BY b.g")


def weighed_sum(pairs):
    """Of (number of rows, value)."""
    values = [(n, f) for n, f in pairs if f is not None]
    special = [f for _, f in values if not math.isfinite(f)]
    if not values or special:
        return text(sum(special) if special else None)
    return text(float(sum(fractions.Fraction(f) * n for n, f in values)))


def weighed(a, b):
    groups = {}
    for k2, g2, x2, f2 in b:
        n = sum(1 for k, _, x, _ in a if k < k2 for other in a if other[2] > x)
        if n > 0:
            groups.setdefault(g2, []).append((n, x2, f2))
    return {(str(g), str(sum(n for n, _, _ in rows)), *(weighed_sum([(n, f) for n, x, f in rows if x > least]) for least in (-9, 1, 2)))
            for g, rows in groups.items()}


def literal(v):
    return "NULL" if v is None else f"'{v!r}'" if isinstance(v, float) else str(v)


def exact(values):
    """The sum as a double; None: no value."""
    values = [v for v in values if v is not None]
    if not values:
        return None
    special = [v for v in values if isinstance(v, float) and not math.isfinite(v)]
    if special:
        return sum(special)
    return float(sum(map(fractions.Fraction, values)))


def times(a, b):
    if a is None or b is None:
        return None
    return a * b if not (math.isfinite(a) and math.isfinite(b)) else fractions.Fraction(a) * fractions.Fraction(b)


def text(v):
    return None if v is None else "NaN" if v != v else repr(float(v)) if isinstance(v, float) else str(v)


def expected(a, b):
    groups, compared = {}, {}
    for k, g, x, f in a:
        for k2, g2, x2, f2 in b:
            if k == k2:
                groups.setdefault((g, g2), []).append((x, f, x2, f2))
            if k < k2:
                compared.setdefault(g, []).append((f, f2))
    rows = set()
    for (g, h), pairs in groups.items():
        b_values = [f2 for _, _, _, f2 in pairs if f2 is not None]
        average = None if not b_values else exact(b_values) / len(b_values)
        rows.add((str(g), str(h), str(len(pairs)), text(exact([p[1] for p in pairs])), text(exact([times(p[1], p[3]) for p in pairs])),
                  text(average), str(sum(p[2] for p in pairs)), text(exact([p[3] for p in pairs if p[0] > 2]))))
    lines = {(str(g), str(len(p)), text(exact([q[1] for q in p])), text(exact([times(*q) for q in p]))) for g, p in compared.items()}
    return rows, lines


def same(row):
    """Numbers read back, so that notation does not matter."""
    return tuple(None if v is None else "NaN" if v == "NaN" else repr(float(v)) for v in row)


def fill(db, table, rows):
    db.run(f"DROP TABLE IF EXISTS {table}")
    db.run(f"CREATE TABLE {table} (k int, g int, x int, f float8)")
    for i in range(0, len(rows), 100):
        result = db.run(f"INSERT INTO {table} VALUES " + ", ".join(
            "(" + ", ".join(literal(v) for v in row) + ")" for row in rows[i:i + 100]))
        assert not result.error, result.error


def make(r, n, draw):
    return [(r.randint(0, 5), r.randint(0, 3), r.randint(0, 5), None if r.random() < 0.05 else draw(r)) for _ in range(n)]


DRAWS = {
    "order matters": lambda r: r.choice([1.0, 1e100, 1.0, -1e100]),
    "cents": lambda r: r.randint(-9999, 9999) / 100,
    "random": lambda r: (r.random() - 0.5) * 2.0 ** r.randint(-20, 20),
    "all exponents": lambda r: (r.random() - 0.5) * 2.0 ** r.randint(-500, 490),
    "ties": lambda r: r.choice([2.0 ** 53, 1.0, -1.0, 2.0 ** -53, 0.5, -0.0]),
    "infinite": lambda r: r.choice([1.5, -2.0, 0.0, math.inf, -math.inf, math.nan] + [1.0] * 40),
    "zero": lambda r: r.choice([0.0, -0.0]),
}
ERRORS = [("1e200", "1e200", "value out of range: overflow"), ("1e-200", "1e-200", "value out of range: underflow")]


def check_errors(db):
    failed = 0
    for left, right, message in ERRORS:
        fill(db, "a", [(1, 1, 1, float(left))])
        fill(db, "b", [(1, 1, 1, float(right)), (2, 1, 1, 1.0)])
        result = db.run(QUERY)
        if not result.error or (result.error.sqlstate, result.error.message) != ("22003", message):
            print(f"{left} * {right}: {result.error or result.rows} instead of {message}")
            failed += 1
    fill(db, "a", [(1, 1, 1, 1e200)])
    fill(db, "b", [(1, 1, 1, 1.0), (2, 1, 1, 1e200)])  # the pair that would overflow does not match
    failed += bool(db.run(QUERY).error)
    fill(db, "a", [(1, 1, 1, 1.7e308)] * 3)
    fill(db, "b", [(1, 1, 1, 1.0)])
    result = db.run("SELECT a.g, b.g, sum(a.f) FROM a, b WHERE a.k = b.k GROUP BY a.g, b.g")
    failed += not result.error or result.error.message != "value out of range: overflow"
    return len(ERRORS) + 2, failed


def main():
    r, passed, failed, by_row, weighed_by_row = random.Random(5), 0, 0, 0, 0
    database = Database(os.environ.get("BUILD", "build"))
    db = database.connect()
    db.run("SET tcudb.engine = tcu")
    for name, draw in DRAWS.items():
        a, b = make(r, 90, draw), make(r, 70, draw)
        wanted, compared = expected(a, b)
        wanted, compared = set(map(same, wanted)), set(map(same, compared))
        heavy = set(map(same, weighed(a, b)))
        for turn in range(3):
            r.shuffle(a)
            r.shuffle(b)
            fill(db, "a", a)
            fill(db, "b", b)
            for form in FORMS:
                db.run(f"SET tcudb.product_form = {form}")
                db.run(f"SET tcudb.threads = {1 + (turn + len(form)) % 3}")
                plan = "\n".join(row[0] for row in db.run("EXPLAIN ANALYZE " + QUERY).rows)
                by_row += "row by row" in plan
                weighed_by_row += "row by row" in "\n".join(row[0] for row in db.run("EXPLAIN ANALYZE " + WEIGHED).rows)
                for query, answer in ((QUERY, wanted), (COMPARED, compared), (WEIGHED, heavy)):
                    result = db.run(query)
                    ok = not result.error and set(map(same, result.rows)) == answer and "Contract" in plan
                    passed, failed = passed + ok, failed + (not ok)
                    if not ok:
                        rest = result.error or sorted(set(map(same, result.rows)) ^ answer, key=str)[:4]
                        print(f"{name}, turn {turn}, form {form}: {query[:60]}: {rest}")
    n, bad = check_errors(db)
    if by_row == 0 or by_row == len(DRAWS) * len(FORMS) * 3 or weighed_by_row == 0:
        print(f"{by_row} queries went row by row")
        bad += 1
    print(f"{passed + n - bad} passed, {failed + bad} failed, 0 skipped")
    sys.exit(1 if failed + bad else 0)


main()
