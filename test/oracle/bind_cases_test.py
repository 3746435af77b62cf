"""The expectations of test/unit/bind_cases.def are PostgreSQL's: asks it again. With --write, fills them in.

A line is CASE("sql", "answer"): the result's columns as "name type | ...", parameters as " $1 type", or an error as
"SQLSTATE message [position]". DIFFERS("sql", "ours", "why") is not compared.
"""
import ctypes
import json
import pathlib
import re
import sys

import postgres

DEF = pathlib.Path(__file__).resolve().parent.parent / "unit/bind_cases.def"
LINE = re.compile(r'^CASE\(("(?:[^"\\]|\\.)*"),\s*("(?:[^"\\]|\\.)*")\)$')


def describe(db, sql, names):
    pq = db.pq
    for function in ("PQprepare", "PQdescribePrepared"):
        getattr(pq, function).restype = ctypes.c_void_p
    pq.PQprepare.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]
    pq.PQdescribePrepared.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    pq.PQparamtype.argtypes, pq.PQparamtype.restype = [ctypes.c_void_p, ctypes.c_int], ctypes.c_uint
    pq.PQnparams.argtypes = [ctypes.c_void_p]
    result = pq.PQprepare(db.conn, b"", sql.encode(), 0, None)
    if pq.PQresultStatus(result) != 1:
        field = lambda code: (pq.PQresultErrorField(result, ord(code)) or b"").decode()
        return f"{field('C')} {field('M')} [{field('P') or 0}]"
    result = pq.PQdescribePrepared(db.conn, b"")
    answer = " | ".join(f"{pq.PQfname(result, i).decode()} {names[pq.PQftype(result, i)]}"
                        for i in range(pq.PQnfields(result)))
    for i in range(pq.PQnparams(result)):
        answer += f" ${i + 1} {names[pq.PQparamtype(result, i)]}"
    return answer.strip()


def main():
    lines = DEF.read_text().splitlines()
    wrong = 0
    with postgres.Cluster() as cluster:
        db = cluster.connect()
        names = {int(oid): name for oid, name in db.run("select oid, format_type(oid, null) from pg_type").rows}
        for i, line in enumerate(lines):
            if line.startswith("SCHEMA("):
                made = db.run(json.loads(line[len("SCHEMA("):-1]))
                assert made.error is None, made.error
            case = LINE.match(line)
            if not case:
                continue
            sql, expected = json.loads(case[1]), json.loads(case[2])
            answer = describe(db, sql, names)
            if answer != expected:
                wrong += 1
                print(f"{sql}\n  PostgreSQL: {answer}\n  expected:   {expected}")
                lines[i] = f"CASE({json.dumps(sql, ensure_ascii=False)}, {json.dumps(answer, ensure_ascii=False)})"
    if "--write" in sys.argv:
        DEF.write_text("\n".join(lines) + "\n")
        return 0
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except postgres.Skip as reason:
        print(reason)
        sys.exit(77)
