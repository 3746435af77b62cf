#!/usr/bin/env python3
"""tcudb calibrate: its file, what reads it, what a damaged or foreign one does; EXPLAIN's candidates in text and JSON."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TCUDB = pathlib.Path(os.environ.get("BUILD", pathlib.Path(__file__).resolve().parent.parent.parent / "build")) / "tcudb"
FORMS = {"plain", "vector", "sparse", "dense", "bits", "split", "doubles"}
SETUP = """CREATE TABLE t AS SELECT CAST(i % 100 AS int) AS k, CAST(i % 37 AS int) AS g, CAST(i % 11 AS int) AS v FROM generate_series(1, 20000) s(i);
"""
PRODUCT = "SELECT a.g, b.g AS h, sum(a.v * b.v) FROM t a JOIN t b ON a.k = b.k GROUP BY 1, 2"
ONE_SIDE = "SELECT b.g, sum(a.v) FROM t a JOIN t b ON a.k = b.k GROUP BY 1"
failures = []


def check(what, holds, seen=""):
    print(f"{'passed' if holds else 'FAILED'}  {what}")
    if not holds:
        failures.append(what)
        print("    ", str(seen)[:600])


def run(home, *arguments, sql=None):
    env = dict(os.environ, XDG_DATA_HOME=str(home), HOME=str(home))
    return subprocess.run([str(TCUDB), *arguments], input=sql, env=env, capture_output=True, text=True, timeout=280)


def query(home, sql):
    return run(home, "-X", "-q", "-t", "-A", "-f", "-", sql=sql)


def check_file(home):
    before = query(home, "SHOW RATES")
    check("rates are defaults at first", "|default|" in before.stdout and "|calibrated|" not in before.stdout, before.stdout)
    done = run(home, "calibrate")
    files = list((home / "tcudb").iterdir())
    check("calibrate ends well", done.returncode == 0, done)
    check("without a terminal every step is a line", done.stdout.count(" ns\n") >= 20 and "\r" not in done.stdout + done.stderr, done)
    check("one file is left", len(files) == 1 and files[0].name.startswith("rates-1-"), files)
    check("and named", f'"{files[0]}"' in done.stdout, done.stdout)
    lines = files[0].read_text().splitlines()
    check("it is whole", lines[0] == "tcudb rates 1" and lines[1].startswith("cpu ") and lines[-1] == "end", lines)
    rates = {line.split()[0]: [float(v) for v in line.split()[1:]] for line in lines[2:-1]}
    check("every rate is positive", all(v > 0 for values in rates.values() for v in values), rates)
    after = query(home, "SHOW RATES")
    shown = dict(line.split("|")[:2] for line in after.stdout.splitlines())
    check("rates are read when a database is opened", "|calibrated|" in after.stdout, after.stdout)
    check("as they are in the file", all([f"{v:.4g}" for v in rates[name]] == shown[name].split() for name in rates), shown)
    return files[0]


def check_damage(home, file):
    good = file.read_text()
    for what, text in (("truncated", good[:len(good) // 2]), ("empty", ""), ("of another kind", "hello\n"), ("with a letter", good.replace("emit ", "emit x")),
                       ("with a negative rate", good.replace("emit ", "emit -")), ("of another processor", good.replace("cpu ", "cpu Other ", 1)),
                       ("with an unknown rate", good.replace("end\n", "unheard_of 1\nend\n"))):
        file.write_text(text)
        done = query(home, "SELECT 42; SHOW RATES")
        warned = done.stderr.count("WARNING") == 1 and str(file) in done.stderr and "so the defaults are used" in done.stderr
        check(f"a file {what} is no failure", done.returncode == 0 and done.stdout.startswith("42\n"), done)
        check(f"a file {what} is warned of and not used", warned and "|calibrated|" not in done.stdout, done.stderr)
    file.write_text("".join(line for line in good.splitlines(True) if not line.startswith("emit ")))
    done = query(home, "SELECT 42; SHOW RATES")
    check("a rate that is missing keeps its default", "WARNING" not in done.stderr and "|calibrated|" in done.stdout, done)


def check_usage(home):
    check("--help", run(home, "calibrate", "--help").stdout.startswith("usage: tcudb calibrate"))
    check("bad usage", run(home, "calibrate", "--fast").returncode == 1)
    check("--help of the shell names it", "calibrate" in run(home, "--help").stdout)
    blocked = home / "blocked"
    blocked.write_text("")
    done = run(blocked, "calibrate")
    check("a folder that cannot be made is an error", done.returncode == 1 and "could not write" in done.stderr, done)


def plan_nodes(plan):
    yield plan
    for child in plan.get("Inputs", []):
        yield from plan_nodes(child)


def explain_json(home, sql, settings=""):
    done = query(home, SETUP + settings + f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
    text = done.stdout[done.stdout.index("[{"):]
    return next(n for n in plan_nodes(json.loads(text)[0]["Plan"]) if "Candidates" in n)


def check_candidates(home):
    node = explain_json(home, PRODUCT)
    able = {c["Form"]: c for c in node["Candidates"] if "Why not" not in c}
    unable = {c["Form"]: c["Why not"] for c in node["Candidates"] if "Why not" in c}
    check("all forms are listed", set(able) | set(unable) == FORMS, node["Candidates"])
    check("what cannot be says why", unable.get("bits") == "it adds values, bits only count", unable)
    sums = all(abs(c["Total ms"] - sum(c[f"{t} ms"] for t in ("Move", "Build", "Multiply", "Emit"))) < 0.001 for c in able.values())
    check("a total is the sum of its terms", sums, able)
    check("the cheapest is taken", node["Taken"] == min(able, key=lambda f: able[f]["Total ms"]), node)
    check("what ran has a time and a rate", node["Ran"] in FORMS and node["Actual ms"] > 0 and node["Rate"] > 0, node)
    for form in ("sparse", "dense", "split"):
        forced = explain_json(home, PRODUCT, f"SET tcudb.product_form = {form};")
        check(f"product_form = {form} takes it", forced["Taken"] == form and forced["Operator"] == "Contract", forced)
    off = explain_json(home, ONE_SIDE, "SET tcudb.eager_aggregation = off;")
    check("eager_aggregation = off", off["Taken"] != "vector" and any(c.get("Why not") == "tcudb.eager_aggregation is off" for c in off["Candidates"]), off)
    check("one-sided groups need vectors only", explain_json(home, ONE_SIDE)["Taken"] == "vector")
    text = query(home, SETUP + f"EXPLAIN ANALYZE {PRODUCT}").stdout
    check("text lists them", text.count("Candidate ") == len(FORMS) and text.count(", taken") == 1 and "(predicted " in text, text)


def check_corrections(home):
    done = query(home, SETUP + f"{ONE_SIDE};" * 8 + "SHOW CORRECTIONS; RESET tcudb.corrections; SELECT 'forgotten'; SHOW CORRECTIONS")
    before, _, after = done.stdout.partition("forgotten\n")
    check("queries are learnt from", "vector|" in before, done)
    check("RESET forgets", after.strip() == "", after)
    learnt = explain_json(home, ONE_SIDE, f"{ONE_SIDE};" * 4)
    check("a node that ran before is known", any(c.get("Before ms", 0) > 0 for c in learnt["Candidates"]), learnt)
    check("another one is not", not any("Before ms" in c for c in explain_json(home, PRODUCT, f"{ONE_SIDE};" * 4)["Candidates"]))
    compared = explain_json(home, PRODUCT, f"SET tcudb.contraction = off; {PRODUCT}; RESET tcudb.contraction;")
    check("a way that a setting forced once is not kept", compared["Operator"] == "Contract" and
          any("Before ms" in c for c in compared["Candidates"] if c["Form"] in ("plain", "vector")), compared)
    forgotten = explain_json(home, ONE_SIDE, f"{ONE_SIDE};" * 4 + "RESET tcudb.corrections;")
    check("RESET forgets nodes too", not any("Before ms" in c for c in forgotten["Candidates"]), forgotten)
    off = query(home, SETUP + "SET tcudb.corrections = off;" + f"{ONE_SIDE};" * 8 + "SELECT 'none'; SHOW CORRECTIONS")
    check("off learns nothing", off.stdout.partition("none\n")[2].strip() == "", off)


def main():
    with tempfile.TemporaryDirectory(prefix="tcudb-calibrate-") as name:
        home = pathlib.Path(name)
        check_candidates(home)
        check_corrections(home)
        check_usage(home)
        check_damage(home, check_file(home))
    print(f"{len(failures)} failed")
    return 1 if failures else 0


sys.exit(main())
