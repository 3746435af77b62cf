"""What breaks matrix products as joins: sums past 2^24, 2^31, 2^53 and 2^63, duplicates, NULLs, decimals, empty groups.

Every query runs in every form of a contraction, chosen by price, and without contractions; PostgreSQL 15 has the
answers, or, where it would take hours, arithmetic has. EXPLAIN must say that each case is a contraction at least once.
"""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from compare import Remembered, Tally  # noqa: E402
from engine import Database  # noqa: E402
from postgres import Cluster, Error, Result, Skip  # noqa: E402

FORMS = ["auto", "sparse", "dense", "bits", "split", "doubles"]
ORDINARY = ["RESET tcudb.engine", "SET tcudb.contraction = off"]
PRICED = ["RESET tcudb.engine", "RESET tcudb.product_form", "SET tcudb.contraction = on"]
MODES = [ORDINARY, PRICED] + [["SET tcudb.contraction = on", "SET tcudb.engine = tcu", f"SET tcudb.product_form = {form}"]
                              for form in FORMS]
TABLES = """
CREATE TABLE a (g {g}, k {k}, v {v}); INSERT INTO a {left};
CREATE TABLE b (h {g}, k {k}, w {v}); INSERT INTO b {right}
"""
SUMS = "SELECT a.g, b.h, sum(a.v * b.w) AS s, sum(a.v) AS v, sum(b.w) AS w, count(*) AS n, count(a.v) AS c " \
       "FROM a JOIN b ON a.k = b.k GROUP BY a.g, b.h"
ONE_SUM = "SELECT a.g, b.h, sum(a.v * b.w) AS s FROM a JOIN b ON a.k = b.k GROUP BY a.g, b.h"
COUNTS = "SELECT a.g, b.h, count(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY a.g, b.h"
SELF = "SELECT x.g, y.g AS h, sum(x.v * y.v) AS s, count(*) AS n FROM a x JOIN a y ON x.k = y.k GROUP BY x.g, y.g"
SELF_SOME = "SELECT x.g, y.g AS h, sum(x.v) AS s, count(*) AS n FROM a x JOIN a y ON x.k = y.k WHERE x.v > 2 AND y.v > 2 GROUP BY x.g, y.g"
PAIRS = "SELECT DISTINCT a.g, b.h FROM a JOIN b ON a.k = b.k"
# The groups of one side are only counted; the first rows by a sum, whose ties later keys decide.
DISTINCTS = "SELECT a.g, count(DISTINCT b.h) AS d, count(*) AS n, sum(a.v) AS s FROM a JOIN b ON a.k = b.k GROUP BY a.g"
OF_RIGHT = "SELECT b.h, count(DISTINCT a.g) AS d, sum(a.v * b.w) AS s FROM a JOIN b ON a.k = b.k GROUP BY b.h"
FOLDED = f"SELECT q.h, count(*) AS r, count(q.g) AS g, sum(q.n) AS n, sum(q.s) AS s FROM ({SUMS}) AS q GROUP BY q.h"
FOLDED_ALL = f"SELECT count(*) AS r, sum(q.n) AS n, sum(q.s) AS s FROM ({SUMS}) AS q"
TOPS = [f"{COUNTS} ORDER BY n DESC, a.g, b.h LIMIT 3", f"{COUNTS} ORDER BY n, a.g DESC, b.h LIMIT 4 OFFSET 1",
        f"{SUMS} ORDER BY s DESC NULLS LAST, a.g NULLS FIRST, b.h LIMIT 2", f"{SUMS} ORDER BY c, n DESC, a.g, b.h LIMIT 5",
        f"{SUMS} HAVING count(*) > 1 ORDER BY n DESC, a.g, b.h LIMIT 2"]
SHAPES = [DISTINCTS, OF_RIGHT, FOLDED, FOLDED_ALL] + TOPS
TOTALS = "SELECT sum(a.v * b.w) AS s, count(*) AS n, count(b.w) AS c, avg(a.v) AS m FROM a JOIN b ON a.k = b.k"


def series(expressions, n):
    return f"SELECT {expressions} FROM generate_series(0, {n - 1}) AS t(i)"


def case(name, left, right, queries, g="int", k="int", v="int"):
    return name, TABLES.format(g=g, k=k, v=v, left=left, right=right).replace("\n", "").split(";"), queries


CASES = [
    # 1. An odd sum above 2^24, as one row of the left under each key and as one key.
    case("2047 x 8197, a key each", series("1, i, 2047", 8197), series("2, i, 1", 8197), [SUMS, ONE_SUM, COUNTS, TOTALS]),
    case("2047 x 8197, one key", series("1, 5, 2047", 8197), "VALUES (2, 5, 1)", [SUMS, COUNTS, TOTALS]),
    # 2. 2^31 exactly and its neighbours; 255 x 255 once more than 32 bits hold.
    case("2^31 - 16384", series("1, i, -128", 131071), series("2, i, -128", 131071), [ONE_SUM]),
    case("2^31", series("1, i, -128", 131072), series("2, i, -128", 131072), [SUMS, TOTALS]),
    case("-2^31 - 16384", series("1, i, -128", 131073), series("2, i, 128", 131073), [ONE_SUM]),
    case("255 x 255 x 33026", series("1, i, 255", 33026), series("2, i, 255", 33026), [SUMS, TOTALS]),
    # 2^53 + 1 and 2^53 - 1, which doubles do not tell apart.
    case("2^53 + 1", "VALUES (1, 1, 134217728), (1, 2, 1)", "VALUES (1, 1, 67108864), (1, 2, 1)", [SUMS, TOTALS], v="bigint"),
    case("2^53 - 1", "VALUES (1, 1, 134217728), (1, 2, -1)", "VALUES (1, 1, 67108864), (1, 2, 1)", [SUMS, TOTALS], v="bigint"),
    # 3. More right groups than 65,536, odd shapes; keys around panel and register edges.
    case("1023 x 70000 over 1021", series("i % 1023, i * 7 % 1021, i % 255 - 127", 4092),
         series("i, i * 13 % 1021, i % 251 - 125", 70000),
         [f"SELECT count(*) AS r, sum(s) AS s, sum(n) AS n, sum(s * (g + 1) + h % 77 * n) AS mix FROM ({SUMS}) AS q",
          f"SELECT count(*) AS r FROM ({PAIRS}) AS q"]),
] + [
    case(f"{k} keys", series(f"i % 3, i % {k}, i % 256 - 128", 2 * k), series(f"i % 5, i % {k}, 127 - i % 256", 3 * k),
         [SUMS, COUNTS, PAIRS, SELF] + SHAPES) for k in (1, 255, 256, 257)
] + [
    # 4. NULL keys match nothing, NULL groups stand beside 0, NULL values are not counted.
    case("NULLs", "VALUES (0, 1, 5), (NULL, 1, 7), (0, NULL, 9), (NULL, NULL, 2), (NULL, 2, NULL), (0, 2, 4), (3, 2, NULL)",
         "VALUES (0, 1, 1), (NULL, 1, 2), (0, NULL, 3), (NULL, 2, 4), (1, 2, NULL)",
         [SUMS, COUNTS, PAIRS, TOTALS, SELF, SELF_SOME, SUMS.replace("sum(a.v)", "avg(b.w)")] + SHAPES),
    # 5. Duplicates count as often as they stand there.
    case("duplicates", "VALUES (1, 1, 10), (1, 1, 10)", "VALUES (2, 1, 1), (2, 1, 1)", [SUMS, COUNTS, PAIRS, TOTALS] + SHAPES),
    # 6. A sum of zero exists, a group of NULLs sums to NULL, an unmatched group does not exist.
    case("zero, NULL, absent", "VALUES (1, 1, 5), (1, 2, -5), (2, 1, NULL), (2, 2, NULL), (3, 9, 1)",
         "VALUES (1, 1, 1), (1, 2, 1), (2, 8, 1)", [SUMS, COUNTS, PAIRS, TOTALS] + SHAPES),
    case("empty join", "VALUES (1, 1, 5)", "VALUES (1, 2, 1)", [SUMS, COUNTS, PAIRS, TOTALS] + SHAPES),
    case("empty table", "SELECT 1, 1, 1 WHERE false", "VALUES (1, 2, 1)", [SUMS, COUNTS, PAIRS, TOTALS] + SHAPES),
    # 7. The ends of bigint.
    case("INT64_MIN twice", "VALUES (1, 1, -9223372036854775808), (1, 2, -9223372036854775808)",
         "VALUES (1, 1, 1), (1, 2, 1)", [SUMS, ONE_SUM, TOTALS], v="bigint"),
    case("MAX, 1, -1", "VALUES (1, 1, 9223372036854775807), (1, 2, 1), (1, 3, -1), (1, 4, -9223372036854775808)",
         "VALUES (1, 1, 1), (1, 2, 1), (1, 3, 1), (1, 4, 1)", [SUMS, ONE_SUM, TOTALS] + SHAPES, v="bigint"),
    case("MIN x MIN as bigint", "VALUES (1, 1, -9223372036854775808)", "VALUES (1, 1, -9223372036854775808)", [ONE_SUM, TOTALS],
         v="bigint"),
    case("sums around 2^62 and 2^63",
         "VALUES (1, 1, 4611686018427387903), (1, 2, 1), (2, 1, 4611686018427387903), (2, 2, 4611686018427387903), "
         "(2, 3, 2), (3, 1, -4611686018427387904), (3, 2, -4611686018427387904), (3, 3, -1)",
         "VALUES (1, 1, 1), (1, 2, 1), (1, 3, 1), (2, 1, 1), (2, 2, 1)", [SUMS, TOTALS], v="bigint"),
    case("around 2^63 by duplicates", "VALUES (1, 1, 4611686018427386000), (2, 2, 4), (3, 2, -4)",
         "VALUES (1, 1, 1), (1, 1, 1), (1, 2, 1), (2, 1, 1), (2, 1, 2), (2, 1, -1), (2, 2, 1)", [SUMS, ONE_SUM, TOTALS], v="bigint"),
    case("18 digits squared", series("i % 2, i % 3, 999999999999999999 - i", 4),
         series("i % 2, i % 3, i - 999999999999999999", 4), [SUMS, TOTALS], v="numeric(18,0)"),
    case("many 18 digits squared", series("i % 2, i % 10, 999999999999999999 - i", 40),
         series("i % 2, i % 10, i - 999999999999999999", 20), [SUMS, TOTALS], v="numeric(18,0)"),
    case("100 squares, 38 digits", series("1, i % 10, 999999999999999999", 100), series("i % 2, i, 999999999999999999", 10),
         [SUMS, TOTALS], v="numeric(18,0)"),
    case("past 2^127 and back", series("1, i % 7, CASE WHEN i < 400 THEN 999999999999999999 ELSE -999999999999999998 END", 800),
         series("i % 2, i, 999999999999999999 - i", 7), [SUMS, ONE_SUM, TOTALS,
         "SELECT a.g, b.h, sum(a.v * (1 - b.w)) AS s, sum(a.v * b.w - a.v) AS t FROM a JOIN b ON a.k = b.k GROUP BY a.g, b.h"],
         v="numeric(18,0)"),
    ("36 products of halves", ["CREATE TABLE a (g int, k int, v1 numeric(18,0), v2 numeric(18,0), v3 numeric(18,0))",
                               "CREATE TABLE b (h int, k int, w1 numeric(18,0), w2 numeric(18,0), w3 numeric(18,0))",
                               "INSERT INTO a " + series("i % 2, i % 3, 900000000000000000 - i, i - 800000000000000000, 700000000000000000 + i", 12),
                               "INSERT INTO b " + series("i % 2, i % 3, 900000000000000007 - i, i - 800000000000000009, "
                                                         "700000000000000011 + i * 5", 12)],
     ["SELECT a.g, b.h, " + ", ".join(f"sum(a.v{i} * b.w{k}) AS s{i}{k}" for i in (1, 2, 3) for k in (1, 2, 3)) +
      " FROM a JOIN b ON a.k = b.k GROUP BY a.g, b.h"]),
    # 8. Decimals: the scale of the product, negatives, 1 - d, halves of AVG.
    case("decimals", series("i % 3, i % 4, (i - 50) * 12345678.9012", 100), series("i % 2, i % 4, (i * 7 % 13 - 6) * 0.05", 50),
         [SUMS, ONE_SUM, TOTALS, "SELECT a.g, b.h, sum(a.v * (1 - b.w)) AS s, avg(a.v) AS m, avg(b.w) AS n "
          "FROM a JOIN b ON a.k = b.k GROUP BY a.g, b.h"], v="numeric(18,4)"),
    ("(18,4) x (18,6)", ["CREATE TABLE a (g int, k int, v numeric(18,4))", "CREATE TABLE b (h int, k int, w numeric(18,6))",
                         "INSERT INTO a VALUES (1, 1, 99999999999999.9999), (1, 2, -0.0001), (2, 1, 0.5), (2, 2, 1.5)",
                         "INSERT INTO b VALUES (1, 1, -999999999999.999999), (1, 2, 0.000001), (2, 1, 0.5), (2, 2, 2.5)"],
     [SUMS, ONE_SUM, TOTALS]),
    # 9. Floating point: the two zeros are one key and one group, NaN equals itself, an infinity stays in its group.
    case("zeros, NaN and infinities", "VALUES (0.0, -0.0, 1.5), (-0.0, 0.0, 2.5), ('NaN', 'NaN', 3), (1, 1, 'Infinity'), (2, 1, 1)",
         "VALUES (0.0, 0.0, 1), (1, 'NaN', 2), ('NaN', 1, 0.5), (-0.0, -0.0, 4)", [SUMS, COUNTS, PAIRS], g="float8", k="float8",
         v="float8"),
    # 10. Skew, and keys that are no small numbers.
    case("nine tenths on one key", series("i % 11, CASE WHEN i % 10 > 0 THEN 0 ELSE i END, i % 100 - 50", 20000),
         series("i % 13, i, i % 7 - 3", 300) + " UNION ALL " + series("i % 13, 0, i", 30), [SUMS, COUNTS, PAIRS, TOTALS] + SHAPES),
    case("keys at the ends", "VALUES (1, 9223372036854775807, 1), (1, -9223372036854775808, 2), (2, 0, 3), (2, -1, 4), (3, 9223372036854775806, 5)",
         "VALUES (1, 9223372036854775807, 1), (1, -9223372036854775808, 2), (2, 0, 3), (2, -1, 4), (3, 9223372036854775806, 5)",
         [SUMS, COUNTS, PAIRS], k="bigint", v="bigint"),
    case("text and dates as keys and groups", series("'g' || i % 3, 'k' || i % 7, i", 60), series("'h' || i % 4, 'k' || i % 5, i", 60),
         [SUMS, COUNTS, PAIRS, TOTALS, SELF, SELF_SOME] + SHAPES, g="text", k="text"),
]


def sql_mode(db, mode):
    for setting in mode:
        assert db.run(setting).error is None, setting


def make(db, statements):
    db.run("DROP TABLE a, b")
    for statement in statements:
        result = db.run(statement)
        if result.error:
            raise SystemExit(f"{result.error.message}\n    {statement}")


ORDINARY_ONLY = {"empty join", "MIN x MIN as bigint"}  # proven empty; a product that bigint may not hold


# HAVING as bounds of sums, of constants with more and with fewer decimals, and beside the rest of a condition.
HAVING = {SUMS: ["count(*) >= 2 AND sum(a.v * b.w) < 100.005", "sum(a.v) > 1 AND sum(b.w) IS NOT NULL", "3 >= count(a.v)"],
          COUNTS: ["count(*) BETWEEN 2 AND 4", "count(*) = 1", "count(*) > 5 OR a.g = 1"],
          SELF: ["count(*) > 9 AND sum(x.v * y.v) < 50"],
          ONE_SUM: ["sum(a.v * b.w) = -12", "sum(a.v * b.w) <> 5", "-7 < sum(a.v * b.w)"]}


def with_having(queries):
    for sql in queries:
        yield sql
        for condition in HAVING.get(sql, []):
            yield f"{sql} HAVING {condition}"


def is_contraction(db, sql):
    return any("Contract" in row[0] for row in db.run("EXPLAIN " + sql).rows)



def check_case(ours, theirs, item, tally):
    name, statements, queries = item
    make(ours, statements)
    make(theirs, statements)
    answers, contracted = Remembered(theirs), 0
    for mode in MODES:
        sql_mode(ours, mode)
        for sql in with_having(queries):
            contracted += is_contraction(ours, sql)
            before = len(tally.differences)
            tally.check(ours, answers, sql)
            if len(tally.differences) > before:
                _, difference = tally.differences[-1]
                tally.differences[-1] = (f"[{name}; {'; '.join(mode)}] {sql}", difference)
    return contracted


class Known:
    """An answer known without asking."""

    def __init__(self, rows=(), sqlstate=None, types=(20, 20)):
        self.rows, self.error, self.types = [list(r) for r in rows], sqlstate and Error(sqlstate, ""), list(types)

    def run(self, sql):
        return Result(["g", "n", "s"], self.types, self.rows, self.error)


def check_large(ours, tally):
    """70,000 x 70,000 rows under one key; four squares of -2^63: 2^128, which no numeric here holds."""
    make(ours, ["CREATE TABLE a (g int, k bigint, v bigint)", "CREATE TABLE b (h int, k bigint, w bigint)",
                "INSERT INTO a SELECT 1, 4611686018427387904, 3 FROM generate_series(1, 70000)",
                "INSERT INTO b SELECT 2, 4611686018427387904, -5 FROM generate_series(1, 70000)"])
    known = Known([["1", "4900000000", "-73500000000"]], types=(23, 20, 1700))
    contracted = 0
    for mode in MODES[1:]:
        sql_mode(ours, mode)
        sql = "SELECT a.g, count(*) AS n, sum(a.v * b.w) AS s FROM a JOIN b USING (k) GROUP BY a.g, b.h"
        contracted += is_contraction(ours, sql)
        tally.check(ours, known, sql)
    make(ours, ["CREATE TABLE a (g int, k int, v numeric(18,0))", "CREATE TABLE b (h int, k int, w numeric(18,0))"] +
         ["INSERT INTO a SELECT 1, i, 999999999999999999 FROM generate_series(1, 101) AS t(i)"] +
         ["INSERT INTO b SELECT 1, i, 999999999999999999 FROM generate_series(1, 101) AS t(i)"])
    for mode in MODES:
        sql_mode(ours, mode)
        sql = "SELECT a.g, sum(a.v * b.w) AS s FROM a JOIN b USING (k) GROUP BY a.g, b.h"
        contracted += is_contraction(ours, sql)
        tally.check(ours, Known(sqlstate="22003"), sql)
    return contracted


def main():
    tally, idle = Tally(), []
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        with Cluster() as cluster:
            theirs, database = cluster.connect(), Database(os.environ.get("BUILD", "build"))
            ours = database.connect()
            for item in CASES:
                if only in item[0] and check_case(ours, theirs, item, tally) == 0 and item[0] not in ORDINARY_ONLY:
                    idle.append(item[0])
            if only == "" and check_large(ours, tally) == 0:
                idle.append("large")
    except Skip as why:
        print(why)
        sys.exit(77)
    for name in idle:
        print(f"no query of \"{name}\" was a contraction")
    sys.exit(0 if tally.report() and tally.same and tally.unsupported == 0 and not idle else 1)


main()
