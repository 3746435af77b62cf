"""Separated text that is shaped to cost much: giant lines, tens of thousands of columns, files of nothing but quotes or
delimiters. Each is read within 400 MB of memory, or refused by a message that says what it is; and a giant text between
quotes is one field, whatever delimiters it holds. What COPY makes of them is checked against PostgreSQL in
test/oracle/copy_test.py; here it must do with as little."""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from engine import Database  # noqa: E402

FOLDER = pathlib.Path(tempfile.mkdtemp())
WIDE = "have more than 32767 fields"
LONG = "is longer than 67108864 bytes"
MANY = 30000  # columns that are still read

# name, bytes, [(options of read_csv, what is selected, the first row or a part of the message)]
FILES = [
    ("one quoted line", '"' + "ab cd," * 200000 + '"\n',
     [("", "count(*), max(length(column1))", ["1", "1200000"]), (", header => false", "count(*)", ["1"]),
      (", quote => ''", "count(*)", WIDE)]),
    ("one short quoted line", '"a b,c d,e f,g h,i j,k l"\n', [("", "*", ["a b,c d,e f,g h,i j,k l"])]),
    ("a quoted line of another delimiter", '1;"' + "p, q, " * 200 + '";2\n3;"x";4\n', [("", "column3", ["2"])]),
    ("a first record longer than the sample", '1;"' + "p, q, " * 900000 + '";2\n3;"x";4\n',
     [("", "count(*), sum(column3), max(length(column2))", ["2", "6", "5400000"])]),
    ("one line of commas between texts", "ab cd," * 200000, [("", "count(*)", WIDE), (", delim => ';'", "count(*)", ["1"])]),
    ("one line of prose", "the quick brown fox " * 60000, [("", "count(*), max(length(column1))", ["1", "1200000"])]),
    ("one line", "x" * 5000000, [("", "max(length(column1))", ["5000000"]), (", max_line_size => 100", "count(*)", "longer than 100 bytes")]),
    ("quotes", '"' * 1000000, [("", "max(length(column1))", ["499999"])]),
    ("an odd number of quotes", '"' * 1000001, [("", "count(*)", "unterminated quoted field")]),
    ("delimiters", "," * 1000000, [("", "count(*)", WIDE)]),
    ("lines of delimiters", ("," * (MANY - 1) + "\n") * 40, [("", f"count(*), count(column{MANY - 1})", ["40", "0"])]),
    ("lines of more delimiters", ("," * 70000 + "\n") * 20, [("", "count(*)", WIDE)]),
    ("one line is too wide", "a,b\n" + "1,2\n" * 50 + "," * 500000 + "\n", [("", "count(*)", "more than 65535 fields, expected 2")]),
    ("names", ",".join(f"n{i}" for i in range(MANY)) + "\n" + ",".join(map(str, range(MANY))) + "\n",
     [("", f"n0, n{MANY - 1}, n777", ["0", str(MANY - 1), "777"])]),
    ("the same name", ",".join(["a"] * MANY) + "\n" + ",".join(map(str, range(MANY))) + "\n",
     [("", f"a, a_1, a_{MANY - 1}", ["0", "1", str(MANY - 1)])]),
    ("100,000 names", ",".join(f"n{i}" for i in range(100000)) + "\n" + "1," * 99999 + "1\n", [("", "count(*)", WIDE)]),
    ("dates in many columns", "2024-01-02," * (MANY - 1) + "x\n", [("", "count(*)", ["1"])]),
    ("long lines", ("y" * 1000000 + ",1\n") * 9, [("", "count(*), sum(column2)", ["9", "9"])]),
    ("line ends", "\n" * 1000000, [("", "count(*)", ["1000000"])]),
    ("quoted ends of data", '"' + "\\.\n" * 300000 + '"\n', [("", "count(*), max(length(column1))", ["1", "900000"])]),
]


def copied(conn, path, options):
    """Rows that COPY into a table of one text adds, or the SQLSTATE."""
    conn.run("CREATE TABLE t (x text)")
    result = conn.run(f"COPY t FROM '{path}' {options}")
    conn.run("DROP TABLE t")
    return result.error.sqlstate if result.error else result.tag


def written_and_read(conn, options):
    """Whether texts of several megabytes, with and without what needs quotes or escapes, come back as they were."""
    path = FOLDER / "long.txt"
    conn.run("CREATE TABLE t AS SELECT repeat(x, 400000) || 'end' AS x FROM (VALUES (E'a\"b,\\n\\t\\\\'), ('plain '), ('é;')) v(x)")
    conn.run("CREATE TABLE u (x text)")
    for statement in (f"COPY t TO '{path}' {options}", f"COPY u FROM '{path}' {options}"):
        result = conn.run(statement)
        if result.error:
            return str(result.error)
    same = conn.run("SELECT count(*) FROM t JOIN u USING (x)").rows == [["3"]]
    quoted = path.read_bytes().count(b'"plain ')  # not what needs no quotes
    conn.run("DROP TABLE t")
    conn.run("DROP TABLE u")
    return "" if same and quoted == 0 else f"same: {same}, quoted: {quoted}"


def main():
    database = Database(os.environ.get("BUILD", "build"))
    conn, failed = database.connect(), 0
    conn.run("SET tcudb.memory_limit = '400MB'")
    for name, text, queries in FILES:
        path = FOLDER / (name.replace(" ", "_") + ".csv")
        path.write_text(text)
        for options, what, want in queries:
            result = conn.run(f"SELECT {what} FROM read_csv('{path}'{options})")
            good = want in result.error.message if result.error else result.rows[:1] == [want]
            if not good:
                failed += 1
                print(f"{name}{options}: {result.error or [str(r)[:200] for r in result.rows[:1]]}, expected {want}")
        for options in ("", "(FORMAT csv)"):
            got = copied(conn, path, options)
            if not (got.startswith("COPY") or got == "22P04"):
                failed += 1
                print(f"{name}: COPY {options} says {got}")
        path.unlink()
    for options in ("", "(FORMAT csv)", "(FORMAT csv, ESCAPE '\\', QUOTE 'a', DELIMITER ';')"):
        fault = written_and_read(conn, options)
        if fault:
            failed += 1
            print(f"COPY of long texts {options}: {fault}")
    conn.close()
    database.close()
    print(f"{len(FILES)} files, {failed} failures")
    sys.exit(failed > 0)


main()
