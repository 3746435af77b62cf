"""TPC-H at scale 0.01: all 22 queries give PostgreSQL's answers."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from inputs import BUILD, Checks, Database, expected, must, need, run_script, same_rows, unpacked  # noqa: E402

folder, checks = need("tpch"), Checks()
db = Database(BUILD).connect()
run_script(db, (folder / "schema.sql").read_text())
for packed in sorted((folder / "tbl").glob("*.tbl.gz")):
    must(db, f"COPY {packed.name.removesuffix('.tbl.gz')} FROM '{unpacked(packed, b'|')}' (DELIMITER '|')")
for query in sorted((folder / "queries").glob("*.sql")):
    _, want = expected(folder / "expected" / f"{query.stem}.csv")
    statements = [s for s in query.read_text().split(";") if s.strip()]
    result, rows = None, None
    for statement in statements:
        result = db.run(statement)
        if result.error:
            break
        if result.columns:
            rows = result.rows
    checks.check(query.stem, result.error.message if result.error else same_rows(rows, want, False))
checks.finish()
