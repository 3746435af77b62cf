"""The paper's Q1, Q3 and Q4 on its micro tables, with and without contractions and the optimizer."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from inputs import BUILD, Checks, Database, expected, must, need, same_rows, unpacked  # noqa: E402

DIGEST = """select count(*) n, sum(a_val) sa, sum(b_val) sb, sum(a_val*a_val*7 + b_val*b_val*13 + a_val*b_val) digest
            from (select a.val a_val, b.val b_val from a, b where a.id = b.id) q1"""
folder, checks = need("micro"), Checks()
for packed in sorted(folder.glob("micro_*A.tbl.gz")):
    name = packed.name.removeprefix("micro_").removesuffix("A.tbl.gz")
    db = Database(BUILD).connect()
    for side in "AB":
        must(db, f"CREATE TABLE {side}(id bigint, val bigint)")
        path = unpacked(folder / f"micro_{name}{side}.tbl.gz", b"|")
        must(db, f"COPY {side} FROM '{path}' (DELIMITER '|')")
    for query, sql in (("q1_digest", DIGEST), ("q3_sorted", (folder / "q3.sql").read_text()), ("q4", (folder / "q4.sql").read_text()),
                       ("q3_sorted", (folder / "q3_eager.sql").read_text()), ("q4", (folder / "q4_eager.sql").read_text())):
        files = sorted(folder.glob(f"expected/{name}_{query}.csv*"))
        if not files:
            continue
        _, want = expected(files[0])
        for setting in ("tcudb.contraction = on", "tcudb.contraction = off"):
            must(db, f"SET {setting}")
            result = db.run(sql)
            checks.check(f"{name} {query} ({setting})", result.error.message if result.error else same_rows(result.rows, want, False))
checks.finish()
