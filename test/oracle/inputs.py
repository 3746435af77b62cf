"""What tests with real inputs share: finding the data, unpacking it, loading it, comparing with expected CSV files."""
import csv
import gzip
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from compare import _close  # noqa: E402
from engine import Database  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
DATA = pathlib.Path(os.environ.get("DATA", "../shared/data"))


def need(*parts):
    """The folder or file below the real inputs, or the test is skipped."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        print(f"{path} is not there: real inputs are looked for beside the checkout or in TCUDB_DATA")
        sys.exit(77)
    return path


def unpacked(path, strip_last=None):
    """A plain copy of a .gz file in a temporary folder; strip_last removes a trailing separator of each line."""
    target = pathlib.Path(tempfile.gettempdir()) / path.name.removesuffix(".gz")
    with gzip.open(path, "rb") as packed, open(target, "wb") as plain:
        if strip_last is None:
            shutil.copyfileobj(packed, plain)
        else:
            for line in packed:
                plain.write(line.rstrip(b"\r\n").removesuffix(strip_last) + b"\n")
    return target


def must(db, sql):
    result = db.run(sql)
    if result.error:
        raise SystemExit(f"{result.error.sqlstate} {result.error.message}\n    {sql[:400]}")
    return result


def run_script(db, text):
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            must(db, statement)


def expected(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], [row or [""] for row in rows[1:]]


def same_rows(got, want, in_order):
    """Both as lists of lists of text; numbers equal to 1e-9 relative where the text differs."""
    clean = lambda rows: [["" if v is None else v for v in row] for row in rows]
    got, want = clean(got), clean(want)
    if not in_order:
        got, want = sorted(got), sorted(want)
    if len(got) != len(want):
        return f"{len(got)} rows instead of {len(want)}"
    for x, y in zip(got, want):
        if len(x) != len(y) or not all(u == v or _number_equal(u, v) for u, v in zip(x, y)):
            return f"row {x} instead of {y}"
    return None


def _number_equal(a, b):
    try:
        return _close(a, b) or abs(float(a) - float(b)) <= 1e-9 * max(1.0, abs(float(b)))
    except ValueError:
        return False


class Checks:
    """Counts checks, prints failures, gives the exit status."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, difference):
        if difference is None:
            self.passed += 1
        else:
            self.failed += 1
            print(f"{name}: {difference}")

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)
