/*
 * system.c: finds the relations of information_schema and pg_catalog, and the functions of system.def.
 *
 *     FROM pg_index -> schema.c's and facts.c's lists, or a query of system.def bound in its place -> else 0A000
 *     pg_get_constraintdef(c.oid) -> its expression of system.def, with the arguments' expressions for $1, $2, ...
 *
 * Both are parsed and bound anew at every use. Names of PostgreSQL's that are not here are refused by name.
 */
#include "bind/listing.h"

/* ---- relations */

typedef struct Query {
    const char *schema, *name, *sql;
} Query;

static const Query queries[] = {
#define RELATION(schema, name, sql) {schema, name, sql},
#include "bind/system.def"
};

static bool is_listed(const Listed *relation, const char *schema, const char *name)
{
    return strcmp(relation->schema, schema) == 0 && strcmp(relation->name, name) == 0;
}

static const Listed *find_listed(const char *schema, const char *name)
{
    const Listed *at = NULL;
    for (uint32_t i = 0; (at = bind_schema_listed(i)) != NULL; i++)
        if (is_listed(at, schema, name)) return at;
    for (uint32_t i = 0; (at = bind_facts_listed(i)) != NULL; i++)
        if (is_listed(at, schema, name)) return at;
    return NULL;
}

static const Query *find_query(const char *schema, const char *name)
{
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
        if (strcmp(queries[i].schema, schema) == 0 && strcmp(queries[i].name, name) == 0) return &queries[i];
    return NULL;
}

/* pg_catalog's are found without their schema, too, unless a table of the user's has the name. */
tcudb_status bind_schema_relation(Binder *b, const PgQuery__RangeVar *range, Plan **out, Error *err)
{
    const char *schema = range->schemaname[0] == '\0' ? "pg_catalog" : range->schemaname;
    const Listed *listed = find_listed(schema, range->relname);
    if (listed != NULL) return bind_list_plan(b, listed, out, err);
    const Query *query = find_query(schema, range->relname);
    if (query != NULL) {
        ViewDef view = {.name = str_of(query->name), .sql = str_of(query->sql)};
        return bind_view_text(b, &view, out, err);
    }
    *out = NULL;
    if (!bind_foreign_relation(schema, range->relname)) return TCUDB_OK;
    return error_unsupported(err, bind_position(b, range->location), "the relation %s.%s", schema, range->relname);
}

/* ---- functions */

typedef struct Macro {
    const char *name, *sql;
    uint32_t nargs;
} Macro;

static const Macro macros[] = {
#define FUNCTION(name, nargs, body) {name, "SELECT " body, nargs},
#include "bind/system.def"
};
enum { MACROS = sizeof macros / sizeof macros[0] };

bool bind_system_has(const char *name)
{
    static const char *const others[] = {/* of foreign.c */
                                         "version",      "current_database", "current_schema",
                                         "pg_typeof",    "num_nulls",        "overlaps",
                                         "num_nonnulls", "current_setting",  "pg_backend_pid"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(others[i], name) == 0) return true;
    for (size_t i = 0; i < MACROS; i++)
        if (strcmp(macros[i].name, name) == 0) return true;
    return false;
}

static tcudb_status expand(Binder *b, Block *block, const Macro *macro, Expr **args, Expr **out, Error *err)
{
    static Expr *const no_args[1];
    Ast *ast = NULL;
    uint32_t n = 0;
    TRY(sql_parse(b->arena, str_of(macro->sql), b->env->cancel, &ast, &n, err));
    const PgQuery__SelectStmt *select = ((const Node *)ast->node)->select_stmt;
    Block own = {.place = block->place, .applies = block->applies};
    const Binder before = *b;
    b->ast = ast;
    b->ctes = NULL;
    b->macro_args = macro->nargs == 0 ? no_args : args;
    b->view_depth++;
    tcudb_status status = bind_expr(b, &own, select->target_list[0]->res_target->val, out, err);
    b->view_depth--;
    b->macro_args = before.macro_args;
    b->ctes = before.ctes;
    b->ast = before.ast;
    return status;
}

tcudb_status bind_system_macro(Binder *b, Block *block, const char *name, Expr **args, uint32_t nargs, Expr **out,
                               Error *err)
{
    *out = NULL;
    for (size_t i = 0; i < MACROS; i++) {
        if (macros[i].nargs != nargs || strcmp(macros[i].name, name) != 0) continue;
        tcudb_status status = expand(b, block, &macros[i], args, out, err);
        if (status == TCUDB_ERROR && err != NULL) err->position = nargs == 0 ? 0 : args[0]->position;
        return status;
    }
    return TCUDB_OK;
}
