"""Entity matching on the paper's encoded tables: every query's count and sums, and the joint group counts that make
other databases choke, with and without contractions."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from inputs import BUILD, Checks, Database, expected, must, need, unpacked  # noqa: E402

BEER = "id int, beer int, factory int, style int, abv int"
ITUNES = "id int, song int, artist int, album int, genre int, price int, copyright int, elapse int, released int"
folder, checks = need("em"), Checks()
db = Database(BUILD).connect()
for table, columns, file in (("beer_a", BEER, "beer_tableA"), ("beer_b", BEER, "beer_tableB"),
                             ("itunes_a", ITUNES, "iTunes_tableA"), ("itunes_b", ITUNES, "iTunes_tableB")):
    must(db, f"CREATE TABLE {table}({columns})")
    must(db, f"COPY {table} FROM '{unpacked(folder / 'encoded' / f'{file}.tbl.gz', b'|')}' (DELIMITER '|')")
_, counts = expected(folder / "expected/counts.csv")
for query, n, sum_a, sum_b in counts:
    kind, column = query.split("_")
    a, b = f"{kind}_a", f"{kind}_b"
    got = must(db, f"SELECT count(*), sum(a.id), sum(b.id) FROM {a} a, {b} b WHERE a.{column} = b.{column}").rows[0]
    want = [n, sum_a or None, sum_b or None]
    checks.check(query, None if got == want else f"{got} instead of {want}")
JOINT = "SELECT a.artist AS x, b.artist AS y, count(*) AS n FROM itunes_a a JOIN itunes_b b USING (price) GROUP BY 1, 2"
got = must(db, f"SELECT count(*), sum(n), sum(x * n), sum(y * n) FROM ({JOINT}) q").rows[0]
checks.check("pairs of equal price by artists", None if got[1] == "159626746" else f"{got[1]} pairs instead of 159626746")
checks.finish()
