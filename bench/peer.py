"""The peer: DuckDB from PyPI in a venv below the build folder, made on first use.

python() gives the venv's interpreter, or None with a printed reason when PyPI is not to be had.
"""
import pathlib
import subprocess
import sys


def python(build):
    venv = pathlib.Path(build) / "bench-venv"
    interpreter = venv / "bin/python"
    probe = [str(interpreter), "-c", "import duckdb; print(duckdb.__version__)"]
    try:
        if interpreter.exists() and subprocess.run(probe, capture_output=True).returncode == 0:
            return str(interpreter)
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True, capture_output=True)
        subprocess.run([str(venv / "bin/pip"), "install", "--quiet", "duckdb"], check=True, capture_output=True, timeout=300)
        return str(interpreter)
    except (subprocess.SubprocessError, OSError) as why:
        print(f"no peer: DuckDB could not be installed from PyPI ({type(why).__name__}); tcudb's times alone")
        return None
