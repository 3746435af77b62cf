"""Real graphs: fifty steps of PageRank give the expected scores; common neighbours and triangles agree with and
without contractions."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from inputs import BUILD, Checks, Database, expected, must, need, same_rows, unpacked  # noqa: E402

# The paper's Q2 and Q3: rank = (1-a)/N + a * sum of rank/outdegree over incoming edges, a = 0.85, from (1-a)/N.
STEP = """CREATE TABLE r{next} AS SELECT nodes.id, 0.15::float8 / n.n + 0.85::float8 * coalesce(q.s, 0) AS rank
          FROM n, nodes LEFT JOIN (SELECT e.dst, sum(r{now}.rank / deg.d) AS s FROM r{now} JOIN e ON r{now}.id = e.src
                                   JOIN deg ON deg.src = e.src GROUP BY e.dst) q ON q.dst = nodes.id"""


def pagerank(db, steps):
    must(db, "CREATE TABLE nodes AS SELECT src AS id FROM e UNION SELECT dst FROM e")
    must(db, "CREATE TABLE deg AS SELECT src, count(*)::float8 AS d FROM e GROUP BY src")
    must(db, "CREATE TABLE n AS SELECT count(*)::float8 AS n FROM nodes")
    must(db, "CREATE TABLE r0 AS SELECT id, 0.15::float8 / n.n AS rank FROM nodes, n")
    for step in range(steps):
        must(db, STEP.format(now=step, next=step + 1))
        must(db, f"DROP TABLE r{step}")
    return must(db, f"SELECT id, rank FROM r{steps} ORDER BY id").rows


# The same in one statement. The sum stands a level above the recursive reference, as PostgreSQL demands; each node's
# link to itself, of no weight, keeps nodes that nothing points to.
RECURSIVE = """WITH RECURSIVE link AS (SELECT e.src, e.dst, 1 / d AS weight FROM e JOIN deg USING (src)
                                       UNION ALL SELECT id, id, 0 FROM nodes),
               pagerank(step, id, rank) AS (
                   SELECT 0, id, 0.15::float8 / n.n FROM nodes, n
                   UNION ALL
                   SELECT step + 1, dst, 0.15::float8 / n.n + 0.85::float8 * s
                   FROM (SELECT step, dst, sum(rank * weight) AS s
                         FROM (SELECT step, dst, rank, weight FROM pagerank JOIN link ON id = src WHERE step < 50) moved
                         GROUP BY step, dst) summed, n)
               SELECT id, rank FROM pagerank WHERE step = 50 ORDER BY id"""

COMMON = """SELECT count(*), sum(n), max(n) FROM (SELECT a.src AS x, b.src AS y, count(*) AS n FROM e a JOIN e b ON a.dst = b.dst
            GROUP BY 1, 2) q"""
TRIANGLES = """SELECT count(*), sum(n) FROM (SELECT a.src AS x, b.dst AS z, count(*) AS n FROM e a JOIN e b ON a.dst = b.src
               GROUP BY 1, 2) p JOIN e c ON c.src = p.z AND c.dst = p.x"""

folder, checks = need("graphs"), Checks()
for name in ("email_eu_core", "rome99", "wiki_vote"):
    db = Database(BUILD).connect()
    must(db, "CREATE TABLE e(src int, dst int)")
    must(db, f"COPY e FROM '{unpacked(folder / f'{name}.csv.gz')}' (FORMAT csv, HEADER)")
    for label, sql in (("common neighbours", COMMON), ("triangles", TRIANGLES)):
        answers = []
        for setting in ("on", "off"):
            must(db, f"SET tcudb.contraction = {setting}")
            answers.append(must(db, sql).rows)
        checks.check(f"{name} {label}", None if answers[0] == answers[1] else f"{answers[0]} instead of {answers[1]}")
    _, want = expected(folder / f"pagerank_{name}_paper50.csv.gz")
    want = sorted(want, key=lambda row: int(row[0]))
    checks.check(f"{name} pagerank", same_rows(pagerank(db, 50), want, True))
    checks.check(f"{name} pagerank, recursive", same_rows(must(db, RECURSIVE).rows, want, True))
checks.finish()
