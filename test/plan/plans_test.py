#!/usr/bin/env python3
"""What the optimizer makes of queries: the cases of *.cases beside this file. See rules.cases for the format."""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "oracle"))
from default_rates import SETTINGS, fix_rates  # noqa: E402

TCUDB = pathlib.Path(os.environ.get("BUILD", HERE.parent.parent / "build")) / "tcudb"


def read(path):
    setup, cases = [], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        key, _, value = line.partition(":")
        value = value.strip()
        if not line or line.startswith("#"):
            continue
        if key == "setup":
            setup.append(value + ";")
        elif key == "query":
            cases.append((number, value, [], []))
        elif key == "set":
            cases[-1][3].append(value)
        else:
            cases[-1][2].append((key, value))
    return setup, cases


def final_plans(setup, cases):
    """The plan after the last rule and the physical one, for each query; column numbers and estimates removed."""
    script = [f"{setting};" for setting in SETTINGS] + setup
    for i, (_, query, _, settings) in enumerate(cases):
        script += [f"SET {setting};" for setting in settings] + [f"SELECT '~~{i}';\nEXPLAIN (STAGES) {query};"]
        script += [f"RESET {setting.split()[0]};" for setting in settings]
    done = subprocess.run([TCUDB, "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=0", "-f", "-"], input="\n".join(script),
                          capture_output=True, text=True)
    plans = {}
    for part in re.split(r"^~~", done.stdout, flags=re.M)[1:]:
        number, _, text = part.partition("\n")
        stages = re.split(r"^(?:Bound plan|After rule .*|Physical plan):\n", text, flags=re.M)
        both = stages[-2:] if len(stages) > 2 else [text, text]
        plans[int(number)] = [re.sub(r"#\d+", "", re.sub(r"  \(rows[ =][^)]*\)", "", plan)) for plan in both]
    return plans, done.stderr


def holds(key, value, plans):
    if key == "says":
        return value in plans[1]
    plan = plans[0]
    if key == "has":
        return value in plan
    if key == "lacks":
        return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", plan) is None
    return plan.count(value) == int(key.split()[1])


def main():
    fix_rates()
    passed = failed = 0
    for path in sorted(HERE.glob("*.cases")):
        setup, cases = read(path)
        plans, errors = final_plans(setup, cases)
        for i, (number, query, checks, _) in enumerate(cases):
            both = plans.get(i, ["", ""])
            faults = [f"{k}: {v}" for k, v in checks if not both[0].strip() or not holds(k, v, both)]
            passed += not faults
            failed += bool(faults)
            if faults:
                print(f"{path.name}:{number}: {query}\n  not: {'; '.join(faults)}\n{both[0]}\n{both[1]}")
        if failed:
            print(errors)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


sys.exit(main())
