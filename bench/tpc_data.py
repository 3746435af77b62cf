"""TPC-DS's and TPC-H's tables at any scale, and their queries, from generators that old DuckDB wheels carried.

The wheel gets a venv of its own below the build folder; data and queries stay there too. Both are TPC's: nothing of them is ever
committed. folder(kind, scale) gives the folder of schema.sql, TABLE.csv and queries/NN.sql, made on first use, or None with a
printed reason when PyPI is not to be had.

    python3 bench/tpc_data.py tpcds 0.01        makes the folder and prints it
"""
import pathlib
import subprocess
import sys

from engines import BUILD

WHEEL = "duckdb==0.9.2"  # the last ones that bundled both generators are of 2023
GENERATORS = {"tpcds": ("dsdgen", "tpcds_queries"), "tpch": ("dbgen", "tpch_queries")}


def interpreter():
    """The Python of a venv that has the wheel."""
    venv = BUILD / "tpc-venv"
    python = venv / "bin/python"
    probe = [str(python), "-c", "import duckdb"]
    if not (python.exists() and subprocess.run(probe, capture_output=True).returncode == 0):
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True, capture_output=True)
        subprocess.run([str(venv / "bin/pip"), "install", "--quiet", WHEEL], check=True, capture_output=True, timeout=300)
    return str(python)


def folder(kind, scale):
    out = BUILD / "tpc" / f"{kind}-{scale}"
    if (out / "complete").exists():
        return out
    try:
        python = interpreter()
    except (subprocess.SubprocessError, OSError) as why:
        print(f"no data: {WHEEL}, which carries the generators, could not be installed from PyPI ({type(why).__name__})")
        return None
    subprocess.run([python, __file__, "generate", kind, str(scale), str(out)], check=True)
    return out


def generate(kind, scale, out):
    """In the venv's Python: writes the folder."""
    import duckdb
    db = duckdb.connect()
    procedure, queries = GENERATORS[kind]
    db.execute(f"CALL {procedure}(sf={scale})")
    (out / "queries").mkdir(parents=True, exist_ok=True)
    schema = []
    for (table,) in db.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall():
        columns = db.execute("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", [table])
        schema.append(f"CREATE TABLE {table} (" + ", ".join(f"{name} {kind}" for name, kind in columns.fetchall()) + ");\n")
        db.execute(f"COPY {table} TO '{out / table}.csv' (FORMAT csv, DELIMITER '|', HEADER false)")
    (out / "schema.sql").write_text("".join(schema))
    for number, text in db.execute(f"SELECT query_nr, query FROM {queries}()").fetchall():
        (out / f"queries/{number:02}.sql").write_text(text.strip() + "\n")
    (out / "complete").touch()


if __name__ == "__main__":
    if sys.argv[1] == "generate":
        generate(sys.argv[2], float(sys.argv[3]), pathlib.Path(sys.argv[4]))
    else:
        print(folder(sys.argv[1], sys.argv[2]) or sys.exit(77))
