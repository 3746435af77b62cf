"""Queries on both engines by turns: one process each, tcudb's and DuckDB's, of which only one works at a time. Whatever else
the machine does meets both alike, so ratios hold where times do not.

    engines = Turns(folder, interpreter)        the tables of tpc_data.folder() loaded into both
    first, best, rows = engines.run("duckdb", sql)

A process reads a JSON text a line and answers with one; it is this file run with an engine's name.
"""
import json
import os
import pathlib
import subprocess
import sys

from engines import ENGINES

PROCESSORS = os.environ.get("BENCH_PROCESSORS") == "1"
RUNS = int(os.environ.get("BENCH_RUNS", "3"))


def load(db, folder):
    """Seconds that the COPYs took."""
    total = 0
    for statement in (folder / "schema.sql").read_text().split(";\n"):
        if statement:
            db.run(statement)
            table = statement.split()[2]
            db.copy(table, folder / f"{table}.csv")
            total += db.seconds
    return total


def run(db, sql):
    """Seconds of every run, of the processors too, and the rows. A text may hold several statements (a view made, asked, dropped)."""
    seconds, processors = [], []
    for _ in range(1 + RUNS):
        seconds.append(0)
        processors.append(0)
        for statement in sql.split(";\n"):
            if statement.strip():
                rows = db.run(statement)
                seconds[-1] += db.seconds
                processors[-1] += db.processors
    return {"seconds": seconds, "processors": processors, "rows": rows}


def serve(engine, folder):
    db = ENGINES[engine]()
    print(json.dumps({"load": load(db, folder)}), flush=True)
    for line in sys.stdin:
        try:
            answer = run(db, json.loads(line))
        except Exception as why:
            answer = {"error": f"{type(why).__name__}: {why}"[:500]}
        print(json.dumps(answer), flush=True)


class Turns:
    def __init__(self, folder, duckdb):
        """duckdb: the interpreter of its venv, or None: tcudb alone."""
        self.processes, self.load = {}, {}
        for engine, interpreter in (("tcudb", sys.executable), ("duckdb", duckdb)):
            if interpreter:
                self.processes[engine] = subprocess.Popen([interpreter, __file__, engine, str(folder)], text=True,
                                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                self.load[engine] = self.answer(engine)["load"]

    def answer(self, engine):
        line = self.processes[engine].stdout.readline()
        if not line:
            raise RuntimeError(f"{engine} ended")
        return json.loads(line)

    def run(self, engine, sql):
        """Of the first run and of the best of BENCH_RUNS more: seconds, or those of processors with BENCH_PROCESSORS=1, which
        hardly depend on what else the machine does. And the rows."""
        process = self.processes[engine]
        process.stdin.write(json.dumps(sql) + "\n")
        process.stdin.flush()
        answer = self.answer(engine)
        if "error" in answer:
            raise RuntimeError(f"{engine}: {answer['error']}")
        seconds = answer["processors" if PROCESSORS else "seconds"]
        return seconds[0], min(seconds[1:]), answer["rows"]

    def close(self):
        for process in self.processes.values():
            process.stdin.close()
            process.wait()


if __name__ == "__main__":
    serve(sys.argv[1], pathlib.Path(sys.argv[2]))
