"""COPY against PostgreSQL 15: random small files (well-formed, ragged, badly quoted), random options, a table of many
types. After COPY FROM both tables must hold the same rows or both have failed with the same message; COPY TO must
write the same bytes.

usage: copy_test.py [ROUNDS [SEED]]   (BUILD in the environment; default 400 rounds, seed 1)
"""
import os
import pathlib
import random
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from engine import Database  # noqa: E402
from postgres import Cluster, Skip  # noqa: E402

COLUMNS = [("i", "integer"), ("b", "bigint"), ("s", "smallint"), ("n", "numeric(8,2)"), ("f", "double precision"),
           ("o", "boolean"), ("t", "text"), ("v", "varchar(6)"), ("c", "char(4)"), ("d", "date"), ("m", "timestamp")]
GOOD = {
    "integer": ["0", "7", "-12", "2147483647", " 5", "5 "], "bigint": ["9223372036854775807", "-1", "00012"],
    "smallint": ["32767", "-32768", "3"], "numeric(8,2)": ["1.5", "-0.005", "123456.78", "1e3", ".5", "5.", "12345.6789"],
    "double precision": ["1.5", "-0", "1e300", "0.1", "123456789012345678", "NaN", "-Infinity", "3.14159265358979"],
    "boolean": ["t", "f", "true", "no", "1", "off"],
    "text": ["", "x", "a b", "é€", "a,b", 'q"q', "back\\slash", "new\nline", "tab\there", "cr\rcr", "NULL", "\\N", "|", "'"],
    "varchar(6)": ["", "abc", "äöüäöü", "abcdef ", "a,b"], "char(4)": ["", "ab", "abcd", "ab  ", "ü"],
    "date": ["2020-02-29", "1999-12-31", "0001-01-01", "infinity", "Jan 5, 2021", "20210105"],
    "timestamp": ["2020-02-29 12:34:56", "2020-02-29T12:34:56.789", "2021-01-05", "1999-12-31 23:59:59.999999"],
}
BAD = ["x", "", "1.5.2", "99999999999999999999", "2021-13-01", "2021-02-30", "1000000", "maybe", "toolongtext", "1e", "--1"]


def field_text(rng, value, fmt, delim, quote, escape, null):
    """One field as a writer of the format would put it."""
    if value is None:
        return null
    if fmt == "text":
        out = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
        return out.replace(delim, "\\" + delim) if delim not in "\t" else out
    if any(c in value for c in (delim, quote, "\n", "\r")) or value == null or rng.random() < 0.2:
        value = value.replace(escape, escape + escape) if escape != quote else value
        return quote + value.replace(quote, escape + quote) + quote
    return value


def make_case(rng, folder):
    columns = rng.sample(COLUMNS, rng.randint(1, 5))
    fmt = rng.choice(["text", "csv", "csv"])
    delim = rng.choice(["\t", "|", ",", ";"] if fmt == "text" else [",", ",", "|", ";", "\t"])
    quote = rng.choice(['"', '"', "'"]) if fmt == "csv" else '"'
    escape = rng.choice([quote, quote, "\\"]) if fmt == "csv" else quote
    null = rng.choice(["\\N", "NULL", ""] if fmt == "text" else ["", "", "NULL", "\\N"])
    eol = rng.choice(["\n", "\n", "\r\n", "\r"])
    header = rng.random() < 0.3
    lines = []
    wrong = rng.random() < 0.4
    for _ in range(rng.randint(0, 6)):
        row = [None if rng.random() < 0.15 else rng.choice(GOOD[t]) for _, t in columns]
        if wrong and rng.random() < 0.4:
            row[rng.randrange(len(row))] = rng.choice(BAD)
        fields = [field_text(rng, v, fmt, delim, quote, escape, null) for v in row]
        if wrong and rng.random() < 0.2:
            fields = fields[:-1] if rng.random() < 0.5 and len(fields) > 1 else fields + ["z"]
        line = delim.join(fields)
        if wrong and rng.random() < 0.15:
            line += rng.choice([quote, "\\", delim, "\x01", "\xff", "\\." if eol == "\n" else "\xff"])
        lines.append(line)
    text = eol.join(lines) + (eol if lines and rng.random() < 0.8 else "")
    if rng.random() < 0.05 and (text.endswith(eol) or not text):
        text += "\\." + eol
    if header:
        text = delim.join(n for n, _ in columns) + eol + text
    options = [f"format {fmt}", f"delimiter E'{delim}'", "null '%s'" % null.replace("'", "''")]
    if fmt == "csv":
        options += ["quote '%s'" % quote.replace("'", "''"), "escape '%s'" % escape.replace("'", "''")]
        texts = [n for n, _ in columns]
        if rng.random() < 0.2:
            options.append(f"force_null ({rng.choice(texts)})")
        if rng.random() < 0.2:
            options.append(f"force_not_null ({rng.choice(texts)})")
    if header:
        options.append(rng.choice(["header", "header true"] + (["header match"] if rng.random() < 0.5 else [])))
    path = folder / "in.txt"
    path.write_bytes(text.encode("utf-8", "replace") if "\xff" not in text else text.encode("latin-1", "replace"))
    path.chmod(0o644)
    return columns, path, ", ".join(options)


def one_round(rng, ours, theirs, folder):
    """None, or what differs."""
    columns, path, options = make_case(rng, folder)
    create = "create table t (%s)" % ", ".join(f"{n} {t}" for n, t in columns)
    copy = f"copy t from '{path}' ({options})"
    results = []
    for db in (ours, theirs):
        db.run("drop table if exists t")
        assert db.run(create).error is None
        done = db.run(copy)
        rows = db.run("select * from t").rows
        results.append((done.error.sqlstate + " " + done.error.message if done.error else None, rows))
    codes = {(r[0] or "")[:5] for r in results}
    # which of the two date errors is not COPY's business; PostgreSQL checks the encoding of 64 KB at a time, and may see
    # a corrupt end marker before the surplus column that it ends
    theirs_error = results[1][0] or ""
    same = codes == {"22007", "22008"} or theirs_error.startswith("22021") and results[0][0]
    same = same or (codes == {"22P04"} and "end-of-copy marker corrupt" in theirs_error)
    if results[0] != results[1] and not same:
        return f"{create}; {copy}\n{path.read_bytes()!r}\nours:   {results[0]}\ntheirs: {results[1]}"
    if results[0][0] is not None:
        return None
    out = options.split(", ")
    out = ", ".join(o for o in out if not o.startswith(("force_null", "force_not_null", "header match")))
    if "csv" in out and rng.random() < 0.3:
        out += ", force_quote *"
    written = []
    for k, db in enumerate((ours, theirs)):
        target = folder / f"out{k}.txt"
        done = db.run(f"copy t to '{target}' ({out})")
        written.append(done.error.message if done.error else target.read_bytes())
        target.unlink(missing_ok=True)
    if written[0] != written[1]:
        return f"{create}; {copy}; copy t to ... ({out})\n{path.read_bytes()!r}\nours:   {written[0]!r}\ntheirs: {written[1]!r}"
    return None


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tcudb-copy-", dir="/tmp"))
    folder.chmod(0o777)
    try:
        with Cluster() as cluster:
            ours, theirs = Database(os.environ.get("BUILD", "build")).connect(), cluster.connect()
            wrong = 0
            for n in range(rounds):
                difference = one_round(random.Random(f"{seed} {n}"), ours, theirs, folder)
                if difference:
                    wrong += 1
                    print(f"round {n}: {difference}")
                    if wrong == 10:
                        break
            print(f"{rounds} rounds, {wrong} differences")
            return 1 if wrong else 0
    except Skip as why:
        print(f"skipped: {why}")
        return 77
    finally:
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(main())
