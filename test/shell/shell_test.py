#!/usr/bin/env python3
"""The shell from outside: arguments and input in, output, messages and exit status out.

Each case: name, arguments, standard input, expected standard output, expected standard error, exit status. Errors
are compared whole if given as a string; a list gives parts that must occur.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
TCUDB = str(BUILD / "tcudb")
FOLDER = tempfile.mkdtemp(prefix="tcudb-shell-")
ENV = {**os.environ, "HOME": FOLDER, "TERM": "dumb"}
ENV.pop("PAGER", None)

VALUES = "select * from (values (1, 'one', 1.50::numeric(4,2)), (20, null, -3.25)) as v (a, b, c)"


def write(name, text):
    path = pathlib.Path(FOLDER) / name
    path.write_text(text)
    return str(path)


def cases():
    yield "aligned", ["-c", VALUES], "", (
        " a  |  b  |   c   \n"
        "----+-----+-------\n"
        "  1 | one |  1.50\n"
        " 20 |     | -3.25\n"
        "(2 rows)\n\n"), "", 0
    yield "box", ["--box", "-c", VALUES], "", (
        "┌─────────┬──────┬──────────────┐\n"
        "│    a    │  b   │      c       │\n"
        "│ integer │ text │ numeric(4,2) │\n"
        "├─────────┼──────┼──────────────┤\n"
        "│       1 │ one  │         1.50 │\n"
        "│      20 │      │        -3.25 │\n"
        "└─────────┴──────┴──────────────┘\n"
        "(2 rows)\n"), "", 0
    yield "csv", ["--csv", "-c", "select 1 as a, 'x,y' as b, 'say \"hi\"' as c, null as d"], "", \
        'a,b,c,d\n1,"x,y","say ""hi""",\n', "", 0
    yield "json", ["--json", "-c", VALUES], "", \
        '[{"a":1,"b":"one","c":1.50},\n{"a":20,"b":null,"c":-3.25}]\n', "", 0
    yield "json of nothing", ["--json", "-c", "select 1 as a where false"], "", "[]\n", "", 0
    yield "jsonlines", ["--jsonlines", "-c", "select 'a\"b\\c' as t, true as b, 'NaN'::float8 as n"], "", \
        '{"t":"a\\"b\\\\c","b":true,"n":"NaN"}\n', "", 0
    yield "markdown", ["--markdown", "-c", "select 1 as a, 'x|y' as b"], "", \
        "|   a | b    |\n|----:|------|\n|   1 | x\\|y |\n", "", 0
    yield "line", ["--line", "-c", VALUES], "", \
        "a = 1\nb = one\nc = 1.50\n\na = 20\nb = \nc = -3.25\n", "", 0
    yield "expanded", ["-x", "-c", VALUES], "", (
        "-[ RECORD 1 ]\na | 1\nb | one\nc | 1.50\n-[ RECORD 2 ]\na | 20\nb | \nc | -3.25\n\n"), "", 0
    yield "one dash", ["-csv", "-c", "select 1 as a"], "", "a\n1\n", "", 0
    yield "unaligned", ["-At", "-c", VALUES], "", "1|one|1.50\n20||-3.25\n", "", 0
    yield "separator and null", ["-A", "-F", ";", "--null=~", "-c", VALUES], "", \
        "a;b;c\n1;one;1.50\n20;~;-3.25\n(2 rows)\n", "", 0
    yield "multi-line values", ["-c", "select 'x\ny' as a, 1 as b"], "", \
        " a | b \n---+---\n x+| 1\n y | \n(1 row)\n\n", "", 0
    yield "wide characters", ["-c", "select '日本' as k, 'é' as e"], "", \
        "  k   | e \n------+---\n 日本 | é\n(1 row)\n\n", "", 0
    yield "tags", ["-c", "create table t (a int)", "-c", "insert into t values (1), (2)", "-c", "select a from t order by a"], "", \
        "CREATE TABLE\nINSERT 0 2\n a \n---\n 1\n 2\n(2 rows)\n\n", "", 0
    yield "quiet", ["-q", "-c", "create table t (a int); insert into t values (7); select a from t"], "", \
        " a \n---\n 7\n(1 row)\n\n", "", 0
    yield "stdin", [], "select 1 as a;\nselect\n 2 as b\n;\n", \
        " a \n---\n 1\n(1 row)\n\n b \n---\n 2\n(1 row)\n\n", "", 0
    yield "last semicolon is optional", ["-q"], "select 'end' as a", " a  \n-----\n end\n(1 row)\n\n".replace(" a  ", "  a  "), "", 0
    yield "an error stops -c", ["-c", "select 1/0", "-c", "select 1"], "", "", "ERROR:  division by zero\n", 3
    yield "an error stops stdin", ["-qAt"], "select 1;\nselect x;\nselect 2;\n", "1\n", \
        "ERROR:  column \"x\" does not exist\nLINE 1: select x;\n               ^\n", 3
    yield "ON_ERROR_STOP=0 goes on", ["-qAt", "-v", "ON_ERROR_STOP=0"], "select 1;\nselect x;\nselect 2;\n", "1\n2\n", \
        "ERROR:  column \"x\" does not exist\nLINE 1: select x;\n               ^\n", 0
    script = write("bad.sql", "-- a script\nselect 1 as one;\n\nselect nope\nfrom nothing;\nselect 3;\n")
    yield "an error stops -f, with its place", ["-qAt", "-f", script], "", "1\n", \
        [f"tcudb:{script}:5: ERROR:  relation \"nothing\" does not exist\n", "LINE 2: from nothing;\n             ^\n",
         "HINT:  The database has no tables yet."], 3
    yield "no such script", ["-f", "/no/such.sql"], "", "", ["/no/such.sql: No such file or directory"], 1
    yield "a folder as script", ["-f", "/tmp"], "", "", ["/tmp: Is a directory"], 1
    yield "a file as database", ["-c", "select 1", write("data.csv", "a\n1\n")], "", "", \
        ["is a file; a tcudb database is a directory", "SELECT * FROM"], 2
    yield "a folder that is no database", ["-c", "select 1", FOLDER], "", "", ["is not a tcudb database", "HINT:"], 2
    yield "no database in a folder that is not there", ["--existing", "-c", "select 1", FOLDER + "/nix.tcu"], "", "", ["ERROR:"], 2
    yield "a pipe is no table", ["-c", "select count(*) from '/dev/stdin' t(a)"], "1\n2\n", "", \
        ["\"/dev/stdin\" is a pipe or a device, which can be read only once", "HINT:  Read it into a table (COPY "], 3
    yield "a pipe is copied", ["-qAt", "-c", "create table p(a int)", "-c", "copy p from '/dev/stdin'", "-c", "select sum(a) from p"], \
        "1\n2\n", "3\n", "", 0
    yield "SQL as database", ["select 1"], "", "", ["no database is called \"select 1\"", "tcudb -c \"select 1\""], 2
    yield "a script with a mark and CRLF", ["-qAt", "-f", write("bom.sql", "\ufeffselect 1;\r\nselect 2;\r\n")], "", "1\n2\n", "", 0
    yield "a script in UTF-16", ["-f", write("utf16.sql", "s\0e\0l\0;\0\n\0")], "", "", [":1: ERROR:  this is no SQL text", "UTF-8"], 3
    yield "no such data", ["-c", "select * from 'nix.csv'"], "", "", ["nix.csv\" for reading: No such file", "HINT:  The name is looked for"], 3
    yield "a folder as data", ["-c", f"select * from '{FOLDER}'"], "", "", ["is a directory", "/*.csv'"], 3
    yield "a program as data", ["-c", f"select * from '{write('program.csv', chr(0) * 999 + chr(10))}'"], "", "", ["program.csv\" is not text", "HINT:"], 3
    yield "a sheet as data", ["-c", f"select * from '{write('sheet.xlsx', 'PK' + chr(3) + chr(4) + 'x')}'"], "", "", ["is not text", "save the sheet as CSV"], 3
    yield "other formats", ["-c", "select * from 'x.parquet'"], "", "", ["reading Parquet files is not supported yet", "LINE 1", "HINT:  Export"], 3
    days = write("days.csv", "day\n2020-01-01\n")
    yield "a header as data", ["-q", "-c", "create table t (a date)", "-c", f"copy t from '{days}' (format csv)"], "", "", \
        ["invalid input syntax for type date", "HINT:  If the first line holds the columns' names, add HEADER"], 3
    table = ["-q", "-c", "create table t (a int, b int)", "-c"]
    yield "data as a script", ["-f", days], "", "", ["syntax error", f"HINT:  {days} holds data", "SELECT * FROM"], 3
    yield "another program's database", [write("x.sqlite", "SQLite format 3" + chr(0))], "", "", ["is a file", "HINT:  It is another program's"], 2
    yield "it as data", ["-c", f"select * from '{write('x.csv', 'SQLite format 3' + chr(0))}'"], "", "", ["is not text", "a database of SQLite"], 3
    yield "no file of a pattern", ["-c", "select * from 'nix*.csv'"], "", "", ["no file matches \"nix*.csv\"", "HINT:  The name is looked for"], 3
    yield "semicolons for COPY", [*table, f"copy t from '{write('semi.csv', 'a;b' + chr(10) + '1;2' + chr(10))}' (format csv, header)"], "", "", \
        ["invalid input syntax", "line 2, column a: \"1;2\"", "HINT:  Fields separated by ; take the option DELIMITER ';'"], 3
    yield "UTF-16 for COPY", [*table, f"copy t from '{write('wide.csv', '1' + chr(0) + ',' + chr(0))}' (format csv)"], "", "", \
        ["invalid byte sequence", "HINT:  UTF-16 takes the option ENCODING 'utf-16'"], 3
    yield "COPY without a table", ["-c", f"copy nix from '{days}' (format csv)"], "", "", ["does not exist", "HINT:  CREATE TABLE t AS SELECT"], 3
    yield "a misspelt table of COPY", [*table, f"copy tt from '{days}' (format csv)"], "", "", ["HINT:  Perhaps you meant \"t\""], 3
    yield "a file in an argument without quotes", ["-c", "select * from read_csv(data.csv)"], "", "", ["HINT:  A file's name takes single quotes"], 3
    yield "a table of a file", ["-c", f"create table u from '{days}'"], "", "", ["HINT:  CREATE TABLE t AS SELECT * FROM"], 3
    yield "rows of a file", ["-c", f"insert into u from '{days}'"], "", "", ["HINT:  INSERT INTO t SELECT * FROM"], 3
    yield "a wrong size", ["--memory=x"], "", "", ["one with K, M, G or T", "not \"x\""], 1
    yield "bad option", ["--frobnicate"], "", "", ["unrecognized option \"--frobnicate\"", "--help"], 1
    yield "two databases", ["a.tcu", "b.tcu"], "", "", ["only one database"], 1
    yield "version", ["--version"], "", ["tcudb 0."], "", 0
    yield "help", ["--help"], "", ["usage: tcudb", "--csv"], "", 0
    yield "long line in an error", ["-c", "select " + "1, " * 40 + "oops, " + "2, " * 40 + "3"], "", "", \
        ["LINE 1: ...", ", oops, 2", "...\n"], 3
    yield "misspelt table", ["-q", "-c", "create table customer (a int); select * from custmer"], "", "", \
        ["HINT:  Perhaps you meant \"customer\"."], 3
    yield "variables", ["-qAt", "-v", "n=3"], "\\set name 'O''Brien'\nselect :n + 1, :'name', 1::int;\n\\echo :n\n", \
        "4|O'Brien|1\n3\n", "", 0
    yield "quotes and comments hold semicolons", ["-qAt"], \
        "select ';' as a, $$;$$ /* ; */ -- ;\n, \"b;\" from (select 1 as \"b;\") x;\n", ";|;|1\n", "", 0
    yield "two statements on a line", ["-qAt"], "select 1; select 2;\n", "1\n2\n", "", 0
    yield "\\g and \\gx", ["-q"], "select 1 as a \\g\nselect 2 as b \\gx\n", \
        " a \n---\n 1\n(1 row)\n\n-[ RECORD 1 ]\nb | 2\n\n", "", 0
    out = FOLDER + "/out.csv"
    yield "\\o", ["-q", "--csv"], f"\\o {out}\nselect 1 as a;\n\\o\nselect 2 as b;\n\\! cat {out}\n", "b\n2\na\n1\n", "", 0
    yield ".once", ["-qAt"], f".once {out}\nselect 5;\nselect 6;\n\\! cat {out}\n", "6\n5\n", "", 0
    yield "modes by dot commands", ["-q"], ".mode csv\nselect 1 as a;\n.headers off\nselect 2 as a;\n.mode line\nselect 3 as a;\n", \
        "a\n1\n2\na = 3\n", "", 0
    yield "pset", ["-qt"], "\\pset null NIX\nselect null;\n\\pset format unaligned\nselect 1, 2;\n", " NIX\n\n1|2\n", "", 0
    yield "describe", ["-q"], "create table t (a int not null, b numeric(5,2) default 1.5, c varchar(3));\n\\d t\n", (
        "Table \"t\"\n"
        " Column |         Type         | Nullable | Default \n"
        "--------+----------------------+----------+---------\n"
        " a      | integer              | not null | \n"
        " b      | numeric(5,2)         |          | 1.5\n"
        " c      | character varying(3) |          | \n"
        "(3 rows)\n\n"), "", 0
    yield "schema", ["-q"], "create table \"T x\" (a int not null, b text);\ncreate view v as select a from \"T x\";\n.schema\n", \
        ["CREATE TABLE \"T x\" (\n    a integer NOT NULL,\n    b text\n);\n", "CREATE VIEW v (a) AS "], "", 0
    yield "dump", ["-q"], "create table t (a int not null, b text);\ninsert into t values (1, 'it''s'), (2, null);\n.dump\n", \
        "CREATE TABLE t (\n    a integer NOT NULL,\n    b text\n);\nINSERT INTO t VALUES (1, 'it''s');\nINSERT INTO t VALUES (2, NULL);\n", "", 0
    yield "dump of foreign keys", ["-q"], "create table z (a int primary key);\ncreate table c (a int references z);\ninsert into z values (1);\ninsert into c values (1);\n.dump\n\\d c\n", \
        ["INSERT INTO z VALUES (1);\nALTER TABLE c ADD CONSTRAINT c_a_fkey FOREIGN KEY (a) REFERENCES z(a);\n",
         "Foreign key: c_a_fkey FOREIGN KEY (a) REFERENCES z(a)"], "", 0
    yield "tables", ["-qt"], "create table t (a int); insert into t values (1);\n\\dt\n", ["t | table | 1 | 1"], "", 0
    yield "nothing to describe", ["-q", "-c", "\\dt"], "", "", "Did not find any relations.\n", 0
    yield "describe what is not there", ["-q", "-c", "\\d nix"], "", "", "Did not find any relation named \"nix\".\nHINT:  \\d lists all.\n", 3
    yield "unknown commands", ["-q", "-c", "\\frob"], "", "", ["invalid command \\frob", "Try \\? for help."], 3
    yield "unknown dot command", ["-q"], ".tabels\n", "", ["unknown command .tabels", "Perhaps you meant .tables"], 3
    yield "unknown mode", ["-q"], ".mode xml\n", "", ["there is no output mode \"xml\"", "csv"], 3
    yield "COPY data in a script", ["-qAt"], "create table t (a int, b text);\ncopy t from stdin;\n1\tx\n2\t\\N\n\\.\nselect * from t order by a;\n", \
        "1|x\n2|\n", "", 0
    yield "COPY from standard input with -c", ["-qAt", "-c", "create table t (a int)", "-c", "copy t from stdin", "-c", "select sum(a) from t"], \
        "1\n2\n3\n", "6\n", "", 0
    yield "COPY to stdout", ["-q", "-c", "copy (select 1, 'a b', null) to stdout"], "", "1\ta b\t\\N\n", "", 0
    yield "\\copy without quotes", ["-qAt"], f"create table t (a int);\n\\copy t from {write('c.csv', 'a' + chr(10) + '5' + chr(10))} (format csv, header)\nselect * from t;\n", \
        "5\n", "", 0
    yield "a file is a table", ["-qAt", "-c", f"select * from '{write('d.csv', 'k,v' + chr(10) + '1,x' + chr(10))}'"], "", "1|x\n", "", 0
    yield "import", ["-qAt"], f".import {write('e.csv', 'k,v' + chr(10) + '1,x' + chr(10))} e\nselect * from e;\n", "1|x\n", "", 0
    inner = write("inner.sql", "select 'inner';\n")
    yield "\\i", ["-qAt"], f"select 1;\n\\i {inner}\n.read {inner}\nselect 2;\n", "1\ninner\ninner\n2\n", "", 0
    loop = write("loop.sql", "")
    write("loop.sql", f"\\i {loop}\n")
    yield "\\i of itself", ["-q", "-f", loop], "", "", ["files include each other more than 32 deep"], 3
    yield "timing names the engine", ["-qAt", "--timing", "-c", "select 1"], "", ["Time: ", " ms (cpu)\n"], "", 0
    yield "fallback is said", ["-qAt", "-c", "set tcudb.engine = 'gpu'; select 1"], "", "1\n", ["NOTICE:  ran on cpu, not gpu: "], 0
    yield "device", ["-q"], ".device cpu\n.device\n", " tcudb.engine \n--------------\n cpu\n(1 row)\n\n", "", 0
    yield "no such device", ["-q"], ".device tpu\n", "", ["invalid value for parameter \"tcudb.engine\"", "auto|cpu|gpu|tcu"], 3
    yield "notices", ["-c", "drop table if exists nix"], "", "DROP TABLE\n", "NOTICE:  table \"nix\" does not exist, skipping\n", 0
    for sql, hint in (("show create table t", ".schema"), ("select a, from t", "comma too many"), ("create table t(order int)", '"order"'),
                      ("select ifnull(1, 2)", "coalesce"), ("select 1 limit 1, 2", "LIMIT and OFFSET"), ("delete t", "DELETE FROM"),
                      ("select * from t wher a = 1", "WHERE"), ("select `a`", "double quotes"), ("from t", "SELECT * FROM"),
                      ("select * from ok.csv", "single quotes"), ("select 'a'::text + 'b'", "||"), ("use x", ".open")):
        yield f"hint for {sql}", ["-q", "-c", sql], "", "", ["ERROR", hint], 3
    yield "DESCRIBE of a query", ["-q", "--csv", "-c", "describe select 1 as a, 'x'::varchar(3) as b;"], "", \
        "column_name,column_type\na,integer\nb,character varying(3)\n", "", 0
    yield "DESCRIBE of a table", ["-q", "-c", "create table t (a int)", "-c", "DESC t"], "", (
        "Table \"t\"\n Column |  Type   | Nullable | Default \n--------+---------+----------+---------\n"
        " a      | integer |          | \n(1 row)\n\n"), "", 0
    yield "DESCRIBE of nothing", ["-q", "-c", "describe nix"], "", "", "Did not find any relation named \"nix\".\nHINT:  \\d lists all.\n", 3
    yield "SUMMARIZE", ["-q", "--csv", "-c", "summarize select * from (values (1, 'b', true), (3, null, false), (5, 'a', null)) v (\"N x\", s, f)"], "", (
        "column_name,column_type,min,max,distinct,avg,std,q25,q50,q75,count,nulls\n"
        "N x,integer,1,5,3,3,2,2,3,4,3,0\ns,text,a,b,2,,,,,,3,1\nf,boolean,false,true,2,,,,,,3,1\n"), "", 0
    yield "SUMMARIZE of nothing", ["-q", "-c", "summarize nix"], "", "", ["relation \"nix\" does not exist"], 3
    for sql, part in [("select \"text\"", "single quotes"), ("select * from `t`", "double quotes"), ("selct 1", "meant SELECT"),
                      ("select 1 a form t", "FROM"), ("create table x (a datetime)", "timestamp"), ("select 1 == 2", "written ="),
                      ("select top 3 * from t", "LIMIT"), ("use other", ".open"), ("select ‘x’", "typographic"),
                      ("select 'it's'", "twice"), ("crate table x (a int)", "CREATE"), ("create table x (a string)", "text")]:
        yield f"a hint for {sql}", ["-q", "-c", sql], "", "", ["HINT:", part], 3
    yield "show tables", ["-qAt", "-c", "create table t (a int); show tables"], "", "t|table|1|0|\n", "", 0
    yield "verbose errors", ["-q", "-v", "VERBOSITY=verbose", "-c", "select 1/0"], "", "", "ERROR:  22012: division by zero\n", 3
    yield "echo", ["-eAt", "-c", "select 1"], "", "select 1\n1\n", "", 0
    yield "history of an insert mode", ["-q"], ".mode insert t\nselect 1 as a, 'it''s' as b, null as c;\n", "INSERT INTO t VALUES (1, 'it''s', NULL);\n", "", 0
    yield "output file that cannot be", ["-o", "/no/such/file", "-c", "select 1"], "", "", ["/no/such/file"], 1
    yield "empty statements", ["-qAt"], ";;\n;select 1;;\n-- end\n", "1\n", "", 0
    yield "explain", ["-qAt", "-c", "explain select 1"], "", ["Engine: cpu"], "", 0


def differs(expected, got):
    if isinstance(expected, str):
        return expected != got
    return any(part not in got for part in expected)


def main():
    failed = 0
    total = 0
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, args, stdin, out, err, rc in cases():
        if pattern not in name:
            continue
        total += 1
        run = subprocess.run([TCUDB, "-X", *args], input=stdin, capture_output=True, text=True, env=ENV, timeout=60, cwd=FOLDER)
        if differs(out, run.stdout) or differs(err, run.stderr) or run.returncode != rc:
            failed += 1
            print(f"--- {name}: {' '.join(args)}\nexpected {rc}, output {out!r}\n  errors {err!r}")
            print(f"got {run.returncode}, output {run.stdout!r}\n  errors {run.stderr!r}")
    print(f"{total - failed} of {total} shell cases passed")
    sys.exit(1 if failed else 0)


main()
