#!/usr/bin/env python3
"""PostgreSQL's own regression scripts (DATA/pg_regress) on tcudb and on PostgreSQL 15, a statement at a time.

usage: BUILD=build python3 test/oracle/regress.py [SCRIPT...]       (insert.sql; without one, all)

No test: the scripts also ask for what tcudb refuses by name (0A000), those statements run on neither side. Each statement
that says another thing here than there is printed, then the sums. EXPLAIN is passed over, and COPY from and to the client.
"""
import collections
import gzip
import pathlib
import re
import sys
import tempfile

import compare
import engine
import postgres
from inputs import BUILD, DATA

SETUP = "test_setup.sql"
PIECES = re.compile(
    r"""(?P<comment>--[^\n]*)|(?P<escaped>\b[eE]'(?:\\.|''|[^'\\])*')|(?P<text>'(?:''|[^'])*')|(?P<name>"(?:""|[^"])*")"""
    r"""|(?P<dollar>\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)|(?P<meta>\\[^\n]*)|(?P<end>;)|(?P<open>\()|(?P<close>\))""", re.S)


def pieces(script):
    """psql's view of a script: ("sql", statement) and ("meta", backslash command)."""
    script = re.sub(r"/\*.*?\*/", " ", script, flags=re.S)
    at, statement, depth = 0, "", 0
    while True:
        found = PIECES.search(script, at)
        statement += script[at:found.start() if found else len(script)]
        if not found:
            return
        at, kind, text = found.end(), found.lastgroup, found.group()
        depth += (kind == "open") - (kind == "close" and depth > 0)
        if kind == "meta":
            yield "meta", text
        elif kind == "end" and depth == 0:
            yield "sql", statement.strip()
            if re.match(r"(?is)copy\b.*\bfrom\s+stdin", statement.strip()):
                at = after_data(script, at)
            statement = ""
        elif kind != "comment":
            statement += text


def after_data(script, at):
    """Where the rows end that follow COPY FROM STDIN, unless it is one that PostgreSQL refuses: then none follow."""
    start = script.find("\n", at) + 1
    stop = script.find("\n\\.\n", start - 1)
    none = re.match(r"(?i)\s*(--|copy|create|drop|select|begin|insert)", script[start:])
    return at if none or stop < 0 else stop + 4


class Variables(dict):
    """\\set and :'name'."""

    def set(self, command):
        found = re.match(r"\\set\s+(\w+)\s+(.*)", command)
        if found:
            parts = found.group(2).split()
            self[found.group(1)] = "".join(self.get(p[1:], "") if p[0] == ":" else p.strip("'") for p in parts)

    def fill(self, statement):
        return re.sub(r":'(\w+)'", lambda m: f"'{self[m.group(1)]}'" if m.group(1) in self else m.group(0), statement)


def run(name, ours, theirs, folder, counts, quiet=False):
    variables = Variables(abs_srcdir=str(folder), abs_builddir=str(folder), libdir="/none", regresslib="/none")
    block = False
    for kind, text in pieces((DATA / "pg_regress/sql" / name).read_text(errors="replace")):
        if kind == "meta":
            variables.set(text)
            continue
        if not text or re.match(r"(?is)explain\b|copy\b.*\b(stdin|stdout)\b", text):
            continue
        statement = variables.fill(text)
        block = re.match(r"(?i)(begin|start transaction)\b", statement) is not None or block
        if re.match(r"(?i)(commit|rollback|abort|end)\b(?!\s+to\b)", statement):
            block = False
        here = ours.run(statement)
        if here.error and here.error.sqlstate == "0A000":
            counts["refused by name"] += 1
            if block:
                theirs.run("select 1/0")  # as broken as ours
            continue
        there = theirs.run(statement)
        found = compare.difference(here, there, statement)
        counts["different" if found else "same"] += 1
        if found and not quiet:
            print(f"{name}: {found}\n    {statement[:400]}")
        if block and (here.error is None) != (there.error is None):
            (theirs if here.error else ours).run("select 1/0")


def main():
    scripts = sys.argv[1:] or sorted(p.name for p in (DATA / "pg_regress/sql").glob("*.sql") if p.name != SETUP)
    total = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="tcudb-regress-") as scratch, postgres.Cluster() as cluster:
        folder = pathlib.Path(scratch)
        folder.chmod(0o755)
        (folder / "data").mkdir(mode=0o755)
        for packed in (DATA / "pg_regress/data").glob("*.gz"):
            (folder / "data" / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
        theirs = cluster.connect()
        for name in scripts:
            database = engine.Database(BUILD)
            ours = database.connect()
            for reset in ("ROLLBACK", "RESET ALL", "SET client_min_messages = error", "DROP SCHEMA IF EXISTS public CASCADE",
                          "CREATE SCHEMA public", "DISCARD TEMP", "DEALLOCATE ALL"):
                theirs.run(reset)
            counts = collections.Counter()
            run(SETUP, ours, theirs, folder, collections.Counter(), quiet=True)
            run(name, ours, theirs, folder, counts)
            print(f"{name}: {dict(counts)}", flush=True)
            total += counts
            ours.close()
            database.close()
    print(f"{len(scripts)} scripts: {dict(total)}")


main()
