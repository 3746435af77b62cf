"""Runs the same statements on tcudb and PostgreSQL and says where the answers differ.

Rows are compared as bags unless the statement has an outer ORDER BY; integers, numerics and text to the letter,
floating point to 1e-12 relative; errors by SQLSTATE. 0A000 from tcudb (not supported yet) is counted apart.
"""
import math
import re

FLOAT_OIDS = {700, 701}


def _close(a, b):
    if a == b:
        return True
    if a is None or b is None:
        return False
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    if math.isnan(x) and math.isnan(y):
        return True
    return math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-300)


def _key(row):
    return tuple((value is None, value or "") for value in row)


def ordered(sql):
    """Whether the outermost query has an ORDER BY (a rough scan: at parenthesis depth 0)."""
    depth, outside = 0, []
    for token in re.findall(r"'(?:[^']|'')*'|[()]|[A-Za-z_]+|.", sql, re.S):
        depth += (token == "(") - (token == ")")
        if depth == 0:
            outside.append(token)
    return "order by" in " ".join("".join(outside).lower().split())


def rows_differ(ours, theirs, sql):
    """None if equal, else what differs, in words."""
    if len(ours.columns) != len(theirs.columns):
        return f"{len(ours.columns)} columns instead of {len(theirs.columns)}"
    if ours.columns != theirs.columns:
        return f"columns {ours.columns} instead of {theirs.columns}"
    if len(ours.rows) != len(theirs.rows):
        return f"{len(ours.rows)} rows instead of {len(theirs.rows)}"
    floats = [oid in FLOAT_OIDS for oid in theirs.types]
    a, b = ours.rows, theirs.rows
    if not ordered(sql):
        a, b = sorted(a, key=_key), sorted(b, key=_key)
    for x, y in zip(a, b):
        if not all(_close(u, v) if f else u == v for u, v, f in zip(x, y, floats)):
            if any(floats) and not ordered(sql):
                return None if _match_floats(a, b, floats) else f"row {x} instead of {y}"
            return f"row {x} instead of {y}"
    return None


def _match_floats(a, b, floats):
    """Bags whose float columns may differ in the last digits: greedy matching within equal exact columns."""
    rest = list(b)
    for x in a:
        for i, y in enumerate(rest):
            if all(_close(u, v) if f else u == v for u, v, f in zip(x, y, floats)):
                del rest[i]
                break
        else:
            return False
    return True


def show(result):
    e = result.error
    return f"{e.sqlstate} {e.message} [{e.position}]" if e else f"{len(result.rows)} rows"


def difference(ours, theirs, sql):
    """None if a statement did and said the same on both sides, else what differs, in words."""
    if ours.error or theirs.error:
        return None if ours.error == theirs.error else f"{show(ours)} instead of {show(theirs)}"
    if ours.tag != theirs.tag and not ours.rows:
        return f"tag {ours.tag} instead of {theirs.tag}"
    return rows_differ(ours, theirs, sql)


class Remembered:
    """PostgreSQL's answers, asked once a query."""

    def __init__(self, db):
        self.db, self.answers = db, {}

    def run(self, sql):
        if sql not in self.answers:
            self.answers[sql] = self.db.run(sql)
        return self.answers[sql]


class Tally:
    def __init__(self):
        self.same = self.unsupported = self.both_failed = 0
        self.differences = []

    def check(self, ours_db, theirs_db, sql):
        ours, theirs = ours_db.run(sql), theirs_db.run(sql)
        if ours.error and ours.error.sqlstate == "0A000" and not theirs.error:
            self.unsupported += 1
            return
        if ours.error or theirs.error:
            if ours.error and theirs.error and ours.error.sqlstate == theirs.error.sqlstate:
                self.both_failed += 1
                return
            self.differences.append((sql, f"{show(ours)} instead of {show(theirs)}"))
            return
        difference = rows_differ(ours, theirs, sql)
        if difference:
            self.differences.append((sql, difference))
        else:
            self.same += 1

    def report(self, limit=10):
        for sql, difference in self.differences[:limit]:
            print(f"{difference}\n    {sql}")
        print(f"{self.same} equal, {self.both_failed} equal errors, {self.unsupported} not supported, {len(self.differences)} different")
        return not self.differences
