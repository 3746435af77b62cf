#!/usr/bin/env python3
"""How many rows the optimizer expects, against how many there are: EXPLAIN ANALYZE of queries whose sizes follow from what
it knows. Every node above the scans must be expected within the factor that is given, in either direction. Bitmaps of joins
make scans shorter than their filters do, so scans are not compared, nor what they feed with bitmaps of joins above.
"""
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "oracle"))
from default_rates import SETTINGS, fix_rates  # noqa: E402
from engine import Database  # noqa: E402

BUILD = os.environ.get("BUILD", HERE.parent.parent / "build")

# supply: 4 of 50 suppliers a part, a key of two columns; bought: 20000 rows that each have a row in supply; declared: the
# same with a key that the table declares. days: 5 years. visits: of two in three customers, 12 each.
SETUP = [
    "CREATE TABLE part AS SELECT CAST(i AS int) AS part, CAST(i % 25 AS int) AS brand FROM generate_series(1, 1000) g(i)",
    "CREATE TABLE supply AS SELECT CAST(i AS int) AS part, CAST((i * 7 + j * 13) % 50 AS int) AS supplier, CAST((i * 31 + j) % 100 AS int) AS cost "
    "FROM generate_series(1, 1000) g(i), generate_series(0, 3) h(j)",
    "CREATE TABLE declared (part int, supplier int, cost int, PRIMARY KEY (part, supplier))",
    "INSERT INTO declared SELECT part, supplier, cost FROM supply",
    "CREATE TABLE bought AS SELECT CAST(p AS int) AS part, CAST((p * 7 + i / 1000 % 4 * 13) % 50 AS int) AS supplier, CAST(i * 48271 * i % 2147483647 % 100 AS int) AS pieces, "
    "CAST(i / 5 AS int) AS buyer, DATE '2020-01-01' + CAST(i * 7919 % 1826 AS int) AS day FROM (SELECT i, i * 69621 % 1000 + 1 AS p FROM generate_series(CAST(1 AS bigint), CAST(20000 AS bigint)) g(i)) r",
    # heavy, heavier: key 1 is in a twentieth and a tenth of the rows, the others are all as frequent; zipf: 1 / n
    "CREATE TABLE heavy AS SELECT CAST(CASE WHEN i % 20 = 0 THEN 1 ELSE i * 48271 % 5000 END AS int) AS k, CAST(i % 10 AS int) AS v FROM generate_series(1, 40000) g(i)",
    "CREATE TABLE heavier AS SELECT CAST(CASE WHEN i % 10 = 0 THEN 1 ELSE i * 69621 % 5000 END AS int) AS k, CAST(i % 10 AS int) AS v FROM generate_series(1, 20000) g(i)",
    "CREATE TABLE zipf AS SELECT CAST(floor(power(3000, (i * 48271 % 30011) / 30011.0)) AS int) AS k, CAST(i % 300 AS int) AS v FROM generate_series(1, 30000) g(i)",
    "CREATE TABLE words AS SELECT 'w' || k AS w, nullif(k, 1) AS k, v FROM zipf",
    "CREATE TABLE customer AS SELECT CAST(i AS int) AS id, 'name ' || i AS name, CAST(i % 7 AS int) AS kind FROM generate_series(1, 3000) g(i)",
    "CREATE TABLE visits AS SELECT CAST(i * 48271 % 2000 + 1 AS int) AS id, CAST(i * 69621 % 2147483647 * i % 1000003 % 40 AS int) AS page FROM generate_series(CAST(1 AS bigint), CAST(24000 AS bigint)) g(i)",
    # of two hundred years stock names five
    "CREATE TABLE calendar AS SELECT CAST(i AS int) AS day, CAST(i / 365 AS int) AS year, CAST(i / 7 AS int) AS week FROM generate_series(1, 73000) g(i)",
    "CREATE TABLE stock AS SELECT CAST(36000 + i % 1825 AS int) AS day, CAST(i * 48271 % 100 AS int) AS item FROM generate_series(1, 20000) g(i)",
    "CREATE TABLE gaps AS SELECT CAST(CASE WHEN i % 5 <> 0 THEN i % 997 END AS int) AS n, CAST(i % 3000 AS int) AS id FROM generate_series(1, 20000) g(i)",
]

CASES = [
    # the part of the calendar that stock names, filtered there, and by the weeks of other days that are
    ("SELECT sum(s.item) FROM stock s JOIN calendar a ON s.day = a.day WHERE a.year = 100", 1.5),
    ("SELECT sum(s.item) FROM stock s, calendar a, calendar b WHERE s.day = a.day AND a.week = b.week AND b.year = 100", 1.5),
    ("SELECT sum(s.item) FROM stock s, calendar a, calendar b WHERE s.day = a.day AND a.week = b.week AND b.year < 150", 2.5),
    # both ends of an interval on a column with NULLs
    ("SELECT sum(c.kind) FROM gaps g JOIN customer c ON g.id = c.id WHERE g.n BETWEEN 100 AND 150", 1.5),
    ("SELECT sum(c.kind) FROM gaps g JOIN customer c ON g.id = c.id WHERE g.n BETWEEN 100 AND 150 OR g.n >= 900", 1.5),
    # a key of two columns, declared or not, in any order of the join, filtered or not
    ("SELECT sum(s.cost) FROM bought b JOIN supply s ON b.part = s.part AND b.supplier = s.supplier", 1.5),
    ("SELECT sum(s.cost) FROM bought b JOIN declared s ON b.part = s.part AND b.supplier = s.supplier", 1.5),
    ("SELECT sum(s.cost) FROM bought b, supply s, part p WHERE b.part = s.part AND b.supplier = s.supplier AND p.part = s.part AND p.part = b.part AND p.brand = 3", 2),
    ("SELECT sum(s.cost) FROM bought b JOIN supply s ON b.part = s.part AND b.supplier = s.supplier WHERE s.cost < 25", 2),
    ("SELECT sum(s.cost) FROM bought b JOIN supply s ON b.part = s.part AND b.supplier = s.supplier WHERE b.part <= 100 AND s.part <= 100", 2),
    ("SELECT count(*) FROM supply a JOIN supply b ON a.part = b.part AND a.supplier = b.supplier AND a.cost = b.cost", 1.5),
    # independent columns are what they were
    ("SELECT count(*) FROM visits v JOIN bought b ON v.page = b.supplier AND v.id = b.pieces", 3),
    # frequent keys: counted, whatever else is filtered, between other joins, on one side only
    ("SELECT sum(a.v) FROM heavy a JOIN heavier b ON a.k = b.k", 1.2),
    ("SELECT sum(a.v) FROM heavy a JOIN heavier b ON a.k = b.k WHERE b.v < 3", 4),
    ("SELECT sum(a.v) FROM zipf a JOIN zipf b ON a.k = b.k", 1.2),
    ("SELECT sum(a.v) FROM zipf a JOIN zipf b ON a.k = b.k WHERE a.v < 30", 1.5),
    ("SELECT sum(a.v) FROM zipf a JOIN heavy b ON a.k = b.k", 1.3),
    ("SELECT sum(a.v) FROM zipf a, heavier b, customer c WHERE a.k = b.k AND c.id = a.v", 1.5),
    ("SELECT sum(a.v) FROM words a JOIN words b ON a.w = b.w", 1.2),
    ("SELECT sum(a.v) FROM words a JOIN zipf b ON a.k = b.k", 1.2),
    ("SELECT count(*) FROM heavy a WHERE EXISTS (SELECT 1 FROM zipf b WHERE a.k = b.k)", 1.5),
    ("SELECT sum(a.v) FROM customer c JOIN zipf a ON c.id = a.k", 1.2),
    # partners
    ("SELECT count(*) FROM customer c WHERE EXISTS (SELECT 1 FROM visits v WHERE v.id = c.id)", 1.2),
    ("SELECT count(*) FROM customer c WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.id = c.id)", 1.2),
    ("SELECT count(*) FROM customer c WHERE EXISTS (SELECT 1 FROM visits v WHERE v.id = c.id AND v.page = 3)", 1.5),
    ("SELECT count(v.page) FROM customer c LEFT JOIN visits v ON v.id = c.id", 1.2),
    ("SELECT count(*) FROM bought b WHERE NOT EXISTS (SELECT 1 FROM supply s WHERE s.part = b.part AND s.supplier = b.supplier AND s.cost < 50)", 2),
    # groups
    ("SELECT extract(year FROM day), count(*) FROM bought GROUP BY 1", 1.5),
    ("SELECT date_trunc('month', day), count(*) FROM bought GROUP BY 1", 1.2),
    ("SELECT CASE WHEN pieces < 3 THEN 'few' WHEN pieces < 50 THEN 'some' ELSE 'many' END AS c, count(*) FROM bought GROUP BY 1", 1.2),
    ("SELECT part, supplier, count(*) FROM supply GROUP BY 1, 2", 1.2),
    ("SELECT c.id, c.name, c.kind, count(*) FROM customer c JOIN visits v ON v.id = c.id WHERE c.kind = 3 GROUP BY 1, 2, 3", 2),
    ("SELECT DISTINCT part, supplier FROM supply", 1.2),
    # conditions on aggregates
    ("SELECT buyer FROM bought GROUP BY buyer HAVING sum(pieces) > 250", 2),
    ("SELECT buyer FROM bought GROUP BY buyer HAVING avg(pieces) < 40", 2),
    ("SELECT buyer FROM bought GROUP BY buyer HAVING max(pieces) >= 90", 2),
    ("SELECT part FROM bought GROUP BY part HAVING count(*) > 500", 20),
]


def compared(node, below_bitmap=False):
    """(operator, expected, actual) of the nodes above the scans."""
    inputs = node.get("Inputs", [])
    if inputs and not below_bitmap:
        yield node["Operator"], max(1, node["Rows"]), max(1, node["Actual Rows"])
    for i, child in enumerate(inputs):
        yield from compared(child, below_bitmap or ("Join" in node["Operator"] and i == 0))


def main():
    fix_rates()
    db = Database(BUILD).connect()
    for sql in SETTINGS + SETUP + ["SET tcudb.contraction = off", "SET tcudb.eager_aggregation = off"]:
        result = db.run(sql)
        assert result.error is None, (sql, result.error)
    failed = 0
    for sql, factor in CASES:
        result = db.run("EXPLAIN (ANALYZE, FORMAT JSON) " + sql)
        assert result.error is None, (sql, result.error)
        plan = json.loads("\n".join(row[0] for row in result.rows))[0]["Plan"]
        nodes = list(compared(plan))
        far = [n for n in nodes if not 1 / factor <= n[1] / n[2] <= factor]
        failed += bool(far) or not nodes
        if far or not nodes:
            print(f"{sql}\n  " + "\n  ".join(f"{o}: {e:.0f} expected, {a} there are" for o, e, a in far))
        elif "-v" in sys.argv:
            print(f"{max(max(e / a, a / e) for _, e, a in nodes):7.2f} {sql}")
    print(f"{len(CASES) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


sys.exit(main())
