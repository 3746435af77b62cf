"""What PostgreSQL 15 has and tcudb has not is refused by name (0A000), not called unknown.

src/bind/foreign.def has the names of all functions, aggregates, system relations and settings that PostgreSQL 15 has, and says
up to which minor release. --write adds those of the release at hand. A later one may have more: those are shown, and no failure. Every
function over types that tcudb has is called with NULLs, every system relation is read, every setting is set to its default and
shown.
"""
import pathlib
import re
import sys
import textwrap

import engine
import postgres
from inputs import BUILD

FILE = pathlib.Path(__file__).resolve().parents[2] / "src/bind/foreign.def"
HEAD = """/*
 * foreign.def: what PostgreSQL 15 has in pg_catalog and information_schema, by name, up to release 15.{}: written by
 * test/oracle/foreign_test.py --write. Names that tcudb has, too, are among them; each list is sorted by bytes.
 */
"""
CALLABLE = "pronamespace = 'pg_catalog'::regnamespace and not 'internal'::regtype = any(proargtypes)"
LISTS = {
    "FUNCTIONS": f"select distinct proname::text from pg_proc where prokind <> 'a' and {CALLABLE}",
    "AGGREGATES": f"select distinct proname::text from pg_proc where prokind = 'a' and {CALLABLE}",
    "CATALOG_RELATIONS": "select relname::text from pg_class where relnamespace = 'pg_catalog'::regnamespace and relkind in ('r', 'v')",
    "INFORMATION_RELATIONS": "select relname::text from pg_class where relnamespace = 'information_schema'::regnamespace "
                             "and relkind in ('r', 'v')",
    "SETTINGS": "select lower(name) from pg_settings where name !~ '[.]'",
}


def block(macro, names):
    body = textwrap.fill(", ".join(f'"{name}"' for name in names), 118, initial_indent="    ", subsequent_indent="    ",
                         break_on_hyphens=False)
    return f"#ifdef {macro}\n{macro}(\n{body})\n#undef {macro}\n#endif\n"


TYPES = ("'bool','int2','int4','int8','numeric','float4','float8','date','timestamp','interval','text','varchar',"
         "'bpchar','name'")
CALLS = f"""
select quote_ident(proname) || '(' || array_to_string(array(
           select 'NULL::' || format_type(t, null) from unnest(proargtypes) with ordinality as u (t, n) order by n), ', ') || ')'
from pg_proc as p
where prokind = 'f' and {CALLABLE} and provariadic = 0 and not 'cstring'::regtype = any(proargtypes)
  and prorettype not in ('cstring'::regtype, 'internal'::regtype, 'trigger'::regtype) and proname !~ '^(pg_sleep|position$)'
  and not exists (select from unnest(proargtypes) as u (t) join pg_type as y on y.oid = t where typname not in ({TYPES}))
  and not exists (select from pg_operator where oprcode = p.oid)
order by 1
"""


def refused_or_known(theirs, excused):
    """How many calls and relations are said not to exist; not of names that a later release has brought."""
    database = engine.Database(BUILD)
    ours, wrong = database.connect(), 0
    texts = [f"select {row[0]}" for row in theirs.run(CALLS).rows]
    for macro, schema in (("CATALOG_RELATIONS", "pg_catalog"), ("INFORMATION_RELATIONS", "information_schema")):
        texts += [f"select count(*) from {schema}.{row[0]}" for row in theirs.run(LISTS[macro]).rows]
    for name, context in theirs.run("select name, context from pg_settings where name !~ '[.]' order by 1").rows:
        texts += [f"show {name}"] + ([f"set {name} to default"] if context in ("user", "superuser") else [])
    for text in texts:
        error = ours.run(text).error
        unknown = error and error.sqlstate in ("42883", "42P01", "42704", "XX000")
        if unknown and not excused & set(re.findall(r"\w+", text)):
            wrong += 1
            print(f"{text}: {error.sqlstate} {error.message}")
    ours.close()
    database.close()
    print(f"{len(texts)} calls, relations and settings, {wrong} called unknown")
    return wrong


def listed(text, macro):
    """The names that the file has in a list."""
    return re.findall('"(.*?)"', re.search(rf"^{macro}\((.*?)\)$", text, re.S | re.M).group(1))


def main():
    text = FILE.read_text()
    known = int(re.search(r"release 15\.(\d+)", text).group(1))
    try:
        with postgres.Cluster() as cluster:
            db = cluster.connect()
            release = int(db.run("show server_version_num").rows[0][0]) % 10000
            lists, missing = {}, []
            for macro, query in LISTS.items():
                result = db.run(f"{query} order by 1")
                assert not result.error, result.error
                names, have = {row[0] for row in result.rows}, set(listed(text, macro))
                lists[macro] = sorted(names | have, key=str.encode)
                missing += sorted(names - have)
            later = release > known
            wrong = refused_or_known(db, set(missing) if later else set())
    except postgres.Skip as reason:
        print(reason)
        return 77
    if "--write" in sys.argv:
        FILE.write_text(HEAD.format(max(release, known)) + "".join(block(*item) for item in lists.items()))
    print(f"PostgreSQL 15.{release}, {FILE.name} up to 15.{known}, it lacks {', '.join(missing) or 'no name'}")
    return 1 if wrong or (missing and not later) else 0


sys.exit(main())
