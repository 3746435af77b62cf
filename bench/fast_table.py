"""The errors of tcudb.precision = fast beside the TCUDB paper's Table 1: mean absolute percentage error of the matrix
multiplication query, by the range of the values and the number of keys.

usage: fast_table.py [--rows N] [--keys K,K,...]     BUILD: the build folder

Errors depend on the inner dimension alone, so the matrices are N x K and K x N (default N = 48) instead of the
paper's K x K. The same query runs exact and fast; the error of a sum s is |fast - s| / |s|, over sums other than 0.
The paper does not say how it drew its values; both readings of its ranges are printed: all of the range, where sums
of random signs nearly cancel, and its nonnegative half.
"""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test/oracle"))
from engine import Database  # noqa: E402

PAPER = {"0, 1": ["0", "0", "0", "0", "0"],
         "2^7": ["0", "0", "0.00076%", "0.00076%", "0.00076%"],
         "2^15": ["0.00114%", "0.00450%", "0.00908%", "0.00908%", "0.00908%"],
         "2^31": ["0.00122%", "0.00451%", "0.00909%", "0.00909%", "0.00909%"]}
SIZES = [2048, 4096, 8192, 16384, 32768]
QUERY = "SELECT a.i, b.j, sum(a.v * b.v) AS s FROM a JOIN b ON a.k = b.k GROUP BY a.i, b.j ORDER BY 1, 2"


def value(row, low, span):
    """A value in [low, low + span) from the row's number, by multiplying and squaring modulo primes: no random(), so
    that every run has the same."""
    mixed = f"(({row} * 1103515245 + 12345) % 2147483647)"
    mixed = f"({mixed} * {mixed} % 2147483629)"
    return f"({mixed} * {span // 2} / 2147483629 * 2 + {mixed} % 2 + {low})"


def fill(db, rows, keys, low, span):
    for statement in ("DROP TABLE IF EXISTS a", "DROP TABLE IF EXISTS b", "CREATE TABLE a (i int, k int, v bigint)",
                      "CREATE TABLE b (k int, j int, v bigint)"):
        db.run(statement)
    total = rows * keys
    for table, first, columns, split in (("a", 0, "x / {0}, x % {0}", keys), ("b", total, "x % {0}, x / {0}", keys)):
        result = db.run(f"INSERT INTO {table} SELECT {columns.format(split)}, {value(f'(x + {first})', low, span)} "
                        f"FROM generate_series(0::bigint, {total - 1}::bigint) AS t(x)")
        assert result.error is None, result.error


def measure(db, rows, keys, low, span):
    fill(db, rows, keys, low, span)
    sums = []
    for precision in ("exact", "fast"):
        for statement in (f"SET tcudb.precision = {precision}", "SET tcudb.engine = tcu"):
            assert db.run(statement).error is None
        result = db.run(QUERY)
        assert result.error is None, result.error
        sums.append([int(row[2]) for row in result.rows])
    assert len(sums[0]) == len(sums[1]) == rows * rows
    errors = [abs(fast - exact) / abs(exact) for exact, fast in zip(*sums) if exact != 0]
    return f"{100 * sum(errors) / len(errors):.5f}%"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=48)
    parser.add_argument("--keys", default=",".join(map(str, SIZES)))
    args = parser.parse_args()
    sizes = [int(k) for k in args.keys.split(",")]
    database = Database(os.environ.get("BUILD", "build"))
    db = database.connect()
    print(f"| values | reading | {' | '.join(map(str, sizes))} |\n|---|---|{'---|' * len(sizes)}")
    for name, bits in (("0, 1", 0), ("2^7", 7), ("2^15", 15), ("2^31", 31)):
        shown = name if bits == 0 else f"-{name} <= x < {name}"
        print(f"| {shown} | paper | {' | '.join(PAPER[name][SIZES.index(k)] if k in SIZES else '' for k in sizes)} |")
        readings = [("", 0, 2)] if bits == 0 else [("x >= 0", 0, 2 ** bits), ("all x", -2 ** bits, 2 ** (bits + 1))]
        for reading, low, span in readings:
            print(f"| {shown} | tcudb fast{', ' + reading if reading else ''} | "
                  f"{' | '.join(measure(db, args.rows, k, low, span) for k in sizes)} |", flush=True)


main()
