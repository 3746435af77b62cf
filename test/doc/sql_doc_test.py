"""doc/sql.md names every function, aggregate and setting that there is."""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/oracle"))
import engine  # noqa: E402


def functions():
    return set(re.findall(r'^FUNCTION\("([a-z_0-9]+)"', (ROOT / "src/type/func.def").read_text(), re.M))


def aggregates():
    text = (ROOT / "src/type/agg.c").read_text()
    table = text[text.index("AggLine aggs[] = {"):text.index("AGG_COUNT_LINES")]
    return set(re.findall(r'["(]([a-z_0-9]+)", AGG_', table))


def settings():
    db = engine.Database(os.environ.get("BUILD", "build")).connect()
    return {row[0] for row in db.run("SHOW ALL").rows}


def main():
    documented = set(re.findall(r"`([A-Za-z_0-9.]+)`", (ROOT / "doc/sql.md").read_text()))
    internal = {"like_escape", "similar_to_escape", "any_value", "is_normalized"}  # what the parser makes of other syntax
    groups = {"function": functions(), "aggregate": aggregates(), "setting": settings()}
    missing = [f"{kind} {name}" for kind, names in groups.items() for name in sorted(names - documented - internal)]
    counts = ", ".join(f"{len(names)} {kind}s" for kind, names in groups.items())
    print(f"{counts}; missing in doc/sql.md: {', '.join(missing) or 'none'}")
    return 1 if missing or not all(len(names) > 10 for names in groups.values()) else 0


sys.exit(main())
