"""The expectations of test/unit/type_cases.def are PostgreSQL's: asks it again.

A line is CASE("want", "function", "argument"...): an argument is "value::type", or an unknown literal without a type.
"""
import ast
import pathlib
import re
import sys

import postgres

DEF = pathlib.Path(__file__).resolve().parent.parent / "unit/type_cases.def"
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def literal(spec):
    found = re.match(r"^(.*)::([a-z0-9]+(?:\([0-9,]+\))?)$", spec, re.S)
    text, suffix = (found.group(1), "::" + found.group(2)) if found else (spec, "")
    return ("null" if text == "NULL" else "'" + text.replace("'", "''") + "'") + suffix


def expression(name, args):
    if name == "cast":
        printed = "" if args[1].startswith("bpchar") else "::text"
        return f"({literal(args[0])})::{args[1]}{printed}"
    values = [literal(a) for a in args]
    if name == "extract":
        return f"extract({args[0].split('::')[0]} from {values[1]})"
    if name[0].isalpha():
        return f"{name}({', '.join(values)})"
    return f"{name} ({values[0]})" if len(values) == 1 else f"{values[0]} {name} {values[1]}"


def main():
    wrong = 0
    with postgres.Cluster() as cluster:
        db = cluster.connect()
        for line in DEF.read_text().splitlines():
            if not line.startswith("CASE("):
                continue
            want, name, *args = [ast.literal_eval(s) for s in STRING.findall(line)]
            result = db.run("select " + expression(name, args))
            if result.error:
                got = "ERROR: " + result.error.message
            else:
                got = "NULL" if result.rows[0][0] is None else result.rows[0][0]
            if name == "cast" and args[1] == "bool":
                got = {"true": "t", "false": "f"}.get(got, got)
            folds = name in ("lower", "upper", "initcap") or "~" in name or name.startswith("regexp")  # Unicode in tcudb, ASCII in PostgreSQL's C locale
            if got != want and not (folds and not line.isascii()):
                wrong += 1
                print(f"{line}\n    PostgreSQL: {got}")
    if wrong:
        sys.exit(f"{wrong} expectations are not PostgreSQL's")


try:
    main()
except postgres.Skip as reason:
    print(reason)
    sys.exit(77)
