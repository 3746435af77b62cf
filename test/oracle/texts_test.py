"""Texts that stand once or nearly once, over several segments, on tcudb and on PostgreSQL 15: ranges, starts of texts, the
first and last in order, letter case, lengths and pieces; NULL, empty, shorter and longer than eight bytes, with equal first
eight bytes, with letters of two to four bytes. Asked again after UPDATE, DELETE, more rows, within a transaction and after
it was rolled back; by tcudb in memory, and on disk with the database opened anew.
"""
import pathlib
import sys
import tempfile

import engine
import postgres
from inputs import BUILD

ROWS = 270000
MIXED = """CASE i % 12 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'u' || i WHEN 3 THEN substr('abcdefgh', 1, i / 12 % 9)
    WHEN 4 THEN md5(CAST(i AS text)) WHEN 5 THEN 'equal heads ' || i * 7919 % 100003 WHEN 6 THEN 'ä' || i * 31 % 1000
    WHEN 7 THEN repeat('€', i / 12 % 5) || 'Z' WHEN 8 THEN '😀' || i WHEN 9 THEN 'User' || i || '@Example.com'
    WHEN 10 THEN repeat('same head', 1 + i / 12 % 3) ELSE 'ÿ' || chr(192 + i % 60) || i / 1000 END"""
COLUMNS = f"""i, {MIXED}, 'user' || lpad(CAST(i AS text), 7, '0') || '@example.com',
    CASE WHEN i % 1000 <> 7 THEN md5(CAST(i AS text)) END, substr('NPVXYZ', i % 6 + 1, 1) || i % 3"""
TABLES = [f"CREATE TABLE t (i integer, mixed text, sorted text, digest varchar(40), few text)",
          f"INSERT INTO t SELECT {COLUMNS} FROM generate_series(1, {ROWS}) g(i)"]
ENDS = ["", "a", "abcd", "abcdefgh", "equal he", "equal heads", "equal heads 5", "equal heads 50000", "equal heae", "f", "ä", "ä5",
        "ÿ", "😀", "😀1", "same head", "same headsame head", "u", "user0131072@example.com", "user0131073", "user02", "~",
        "N1", "Zz", "00", "ffff", "\U0010ffff"]
STARTS = ["a", "abcdefg", "equal heads", "equal heads 99", "ä", "😀10", "user0", "user01310", "user0131072@example.com", "same head",
          "same headsame", "ff", "ÿÀ", "U", "N", "nowhere"]
ASCII = "octet_length({0}) = length({0})"  # letter case of others depends on PostgreSQL's locale, which is C here
COLS = ["mixed", "sorted", "digest"]


def where(column, condition):
    return f"SELECT count(*), sum(i), min({column}), max({column}) FROM t WHERE {condition}"


def ranges():
    for k, end in enumerate(ENDS):
        column, other = COLS[k % 3], ENDS[(k + 3) % len(ENDS)]
        for each in {"mixed", column}:
            yield where(each, f"{each} < '{end}'")
            yield where(each, f"{each} >= '{end}'")
        yield where(column, f"{column} > '{end}' AND {column} <= '{other}'")
        yield where("mixed", f"mixed BETWEEN '{end}' AND '{other}'")
        yield where("few", f"'{end}' <= few AND few <> 'N1'")
    yield where("sorted", "sorted > 'user0200000' AND sorted < 'user0200100' AND mixed > 'a'")
    yield where("mixed", "mixed > NULL")
    yield where("mixed", "NOT mixed > 'a'")
    yield where("mixed", "mixed > 'a' AND mixed < 'a'")
    yield where("mixed", "mixed >= '' AND mixed <= ''")


def likes():
    for k, start in enumerate(STARTS):
        for column in {"mixed", COLS[k % 3]}:
            yield where(column, f"{column} LIKE '{start}%'")
        yield where("mixed", f"mixed LIKE '{start}_%' AND sorted LIKE 'user01%'")
        yield where("mixed", f"mixed LIKE '{start}%0%'")
        yield where("mixed", f"mixed NOT LIKE '{start}%'")
        yield where("mixed", f"mixed ILIKE '{start}%'")
        yield where("mixed", f"mixed ILIKE '%{start.encode().upper().decode()}%'")
    for pattern in ("", "%", "_", "%%", "abc", "abc\\%%", "%e\\", "user%", "%1@%", "%USER99%", "%ä%", "%ÿ%", "_ä%", "%.com", "%1%9%", "%9%_om", "%user0%@", "%heads 9%0", "%@%.%", "%_1%", "%€€%", "%😀9%", "%e%e%e%"):
        yield where("mixed", f"mixed LIKE '{pattern}'")
        yield where("mixed", f"mixed ILIKE '{pattern}'")
        yield where("sorted", f"sorted ILIKE '{pattern}'")
        yield where("sorted", f"sorted NOT LIKE '{pattern}' AND mixed NOT ILIKE '{pattern}'")


def tops():
    for column in COLS:
        for order in ("ASC", "DESC", "ASC NULLS FIRST", "DESC NULLS LAST"):
            yield f"SELECT {column}, i FROM t ORDER BY {column} {order}, i LIMIT 7"
        yield f"SELECT {column}, i FROM t WHERE {column} > 'b' ORDER BY 1, 2 LIMIT 20"
        yield f"SELECT {column}, i FROM t WHERE {column} < 'user02' ORDER BY 1 DESC, 2 LIMIT 9 OFFSET 3"
        yield f"SELECT upper({column}) u, i FROM t ORDER BY 1, 2 LIMIT 5"
    yield "SELECT few, i FROM t ORDER BY few DESC, i LIMIT 8"
    yield "SELECT mixed, i FROM t WHERE mixed LIKE 'equal heads 9%' ORDER BY 1 DESC, 2 LIMIT 6"


def computed():
    for column in COLS:
        yield f"SELECT sum(length({column})), max(length({column})), sum(octet_length({column})) FROM t"
        yield where(column, f"upper({column}) = 'USER0131073@EXAMPLE.COM'")
        yield f"SELECT md5(string_agg(upper({column}) || lower({column}), '' ORDER BY i)) FROM t WHERE {ASCII.format(column)} AND i % 97 < 13"
        yield f"SELECT substring({column} FROM 1 FOR 4) k, count(*), sum(length(substring({column} FROM 3))) FROM t GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 9"
        yield f"SELECT sum(position('e' IN {column})), sum(position('1@' IN {column})), sum(strpos({column}, substr({column}, 5, 2))) FROM t"
        yield f"""SELECT {", ".join(f"md5(string_agg(substring({column} FROM {a} FOR {b}), '' ORDER BY i))" for a, b in PIECES)}
            FROM t WHERE i % 89 < 12"""
        yield f"SELECT count(*), count(DISTINCT left({column}, 9)), count(DISTINCT right({column}, 5)) FROM t"
    yield f"SELECT count(*), sum(length(u)) FROM (SELECT mixed u FROM t UNION SELECT upper(mixed) FROM t WHERE {ASCII.format('mixed')}) x"


PIECES = [(1, 4), (3, 10), (-2, 5), (1, 0), (8, 1), (9, 40), (17, 16), (1, 32), (1, 33), (40, 3)]
QUERIES = [*ranges(), *likes(), *tops(), *computed()]
ASCII_BEFORE = [sql for sql in computed() if "sorted" in sql]  # the transaction brings other letters into that column
COPY = ["CREATE TABLE made AS SELECT i, mixed, upper(sorted) AS upper, mixed || '!' AS more FROM t",
        "SELECT count(*), count(DISTINCT mixed), count(DISTINCT upper), count(DISTINCT more), min(more), max(upper) FROM made",
        "INSERT INTO made SELECT i, digest, mixed, sorted FROM t WHERE i % 3 > 0",
        "SELECT count(*), count(DISTINCT mixed), count(DISTINCT upper), count(DISTINCT more), min(more), max(upper) FROM made",
        "SELECT count(*) FROM made JOIN t ON made.i = t.i AND made.more = t.mixed || '!'", "DROP TABLE made"]
PHASES = [TABLES, QUERIES, COPY,
          ["UPDATE t SET sorted = 'user' || i, mixed = mixed || mixed WHERE i % 50 = 0", "DELETE FROM t WHERE i % 7 = 3"], QUERIES[::5],
          ["BEGIN", "INSERT INTO t SELECT i, sorted || 'x', mixed, few, digest FROM t WHERE i % 5 = 0"], [*QUERIES[1::7], *ASCII_BEFORE], ["ROLLBACK"],
          QUERIES[2::9],
          [f"INSERT INTO t SELECT {COLUMNS} FROM generate_series({ROWS}, {ROWS + 140000}) g(i)"], QUERIES[::6], COPY]


def answers(run):
    return [[run(sql) for sql in phase] for phase in PHASES]


def reopened(folder):
    """tcudb on disk, opened anew before each phase that is not within a transaction."""
    out, database = [], None
    for phase in PHASES:
        if database is None:
            database = engine.Database(BUILD, folder)
            db = database.connect()
        out.append([db.run(sql) for sql in phase])
        inside = phase[0] == "BEGIN" or (inside and phase[-1] != "ROLLBACK") if out[1:] else False
        if not inside:
            db.close()
            database.close()
            database = None
    return out


def differences(name, ours, theirs):
    wrong = 0
    for p, phase in enumerate(PHASES):
        for sql, mine, other in zip(phase, ours[p], theirs[p]):
            same = mine.error == other.error if mine.error or other.error else mine.rows == other.rows and mine.tag == other.tag
            if same:
                continue
            wrong += 1
            print(f"{name}, phase {p}: {mine.error or mine.rows[:9]} instead of {other.error or other.rows[:9]}\n    {sql}")
    return wrong


def main():
    try:
        with postgres.Cluster() as cluster:
            theirs = answers(cluster.connect().run)
    except postgres.Skip as reason:
        print(reason)
        return 77
    memory = answers(engine.Database(BUILD).connect().run)
    wrong = differences("in memory", memory, theirs)
    with tempfile.TemporaryDirectory() as folder:
        wrong += differences("on disk", reopened(str(pathlib.Path(folder) / "db.tcu")), theirs)
    print(f"{sum(map(len, PHASES))} statements, {wrong} differences")
    return 1 if wrong else 0


sys.exit(main())
