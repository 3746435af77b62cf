"""The engines that benchmarks compare, behind one interface, in this process: run(sql) -> rows of text, after which
`seconds` is what the engine took for its complete result, `processors` what its threads took together: for tcudb
tcudb_query, for DuckDB execute and fetchall. Turning
values into Python's text for the comparison of answers is charged to neither.
"""
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", HERE.parent / "build"))
THREADS = int(os.environ.get("BENCH_THREADS", os.cpu_count() or 1))


class Tcudb:
    def __init__(self):
        sys.path.insert(0, str(HERE.parent / "test/oracle"))
        from engine import Database
        self.db = Database(BUILD).connect()
        self.run(f"SET tcudb.threads = {THREADS}")

    def run(self, sql):
        result = self.db.run(sql)
        if result.error:
            raise RuntimeError(f"{result.error.sqlstate} {result.error.message}: {sql}")
        self.seconds, self.processors = self.db.seconds, self.db.processors
        return result.rows

    def copy(self, table, path):
        self.run(f"COPY {table} FROM '{path}' (FORMAT csv, DELIMITER '|')")


class Duckdb:
    def __init__(self):
        import duckdb
        self.db = duckdb.connect()
        self.db.execute(f"SET threads = {THREADS}")

    def run(self, sql):
        started, processors = time.perf_counter(), time.process_time()
        rows = self.db.execute(sql).fetchall()
        self.seconds, self.processors = time.perf_counter() - started, time.process_time() - processors
        return [[None if v is None else str(v) for v in row] for row in rows]

    def copy(self, table, path):
        self.run(f"COPY {table} FROM '{path}' (DELIMITER '|', HEADER false, AUTO_DETECT false, ALLOW_QUOTED_NULLS false)")


ENGINES = {"tcudb": Tcudb, "duckdb": Duckdb}
