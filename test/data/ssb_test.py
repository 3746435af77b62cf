"""The star schema benchmark at scale 0.01 from its .tbl files: all 13 queries give the published answers."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from inputs import BUILD, Checks, Database, expected, must, need, run_script, same_rows, unpacked  # noqa: E402

folder, checks = need("ssb"), Checks()
db = Database(BUILD).connect()
run_script(db, (folder / "schema.sql").read_text())
for table in ("part", "supplier", "customer", "date", "lineorder"):
    must(db, f"COPY {table} FROM '{unpacked(folder / 'tbl' / f'{table}.tbl.gz', b'|')}' (DELIMITER '|')")
for query in sorted((folder / "queries").glob("*.sql")):
    sql = query.read_text()
    _, want = expected(folder / "expected" / f"{query.stem}.csv")
    for optimizer in ("on", "off"):
        if optimizer == "off" and query.stem not in ("q1.1", "q1.2"):
            continue  # as written these queries are cross products
        must(db, f"SET tcudb.optimizer = {optimizer}")
        result = db.run(sql)
        checks.check(f"{query.stem} (optimizer {optimizer})",
                     result.error.message if result.error else same_rows(result.rows, want, False))
checks.finish()
