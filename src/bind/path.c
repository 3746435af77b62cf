/*
 * path.c: schemas: there is one, public; and search_path, which says where names without a schema are looked for.
 *
 * pg_temp is always in sight. A path without public, as pg_dump's scripts set it, hides the
 * tables from names that do not say "public."; unknown schemas in a path are passed over, as in PostgreSQL. The text of
 * views, defaults and statements of our own (BindEnv.own_text) means public whatever the path is. Names in strings, as
 * in nextval('s') and 't'::regclass, are looked for in public, too.
 */
#include "bind/bind_int.h"

#include <assert.h>

/* One name of the path, quoted or not, at *at; *at moves behind it. */
static bool next_name(const char **at, char *name, size_t size)
{
    const char *from = *at + strspn(*at, " \t\n\r,");
    size_t n = 0;
    bool quoted = false;
    *at = from;
    if (*from == '\0') return false;
    for (; *from != '\0' && (quoted || *from != ','); from++) {
        char c = *from;
        if (c == '"' && quoted && from[1] == '"')
            from++;
        else if (c == '"') {
            quoted = !quoted;
            continue;
        }
        if (!quoted && strchr(" \t\n\r", c) != NULL) continue;
        if (n + 1 < size) name[n++] = !quoted && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    name[n] = '\0';
    *at = from;
    return true;
}

static bool path_names(const char *path, const char *schema)
{
    char name[SETTING_TEXT_MAX];
    while (next_name(&path, name, sizeof name))
        if (strcmp(name, schema) == 0) return true;
    return false;
}

bool bind_sees_public(const Binder *b)
{
    return b->env->own_text || b->view_depth > 0 || path_names(b->env->settings->search_path, "public");
}

bool bind_sees(const Binder *b, Str name)
{
    return bind_sees_public(b) || txn_is_temp(b->env->txn, name);
}

tcudb_status bind_schema_shows(const Binder *b, const char *schema, Str name, bool *known, bool *shown, Error *err)
{
    Txn *txn = b->env->txn;
    bool public = strcmp(schema, "public") == 0, temp = strcmp(schema, "pg_temp") == 0, none = schema[0] == '\0';
    bool hidden = public && txn_is_temp(txn, name);
    if (hidden && names_taken(txn, name, false))
        return error_unsupported(err, 0, "public." STR_FMT " beside a temporary table of that name", STR_ARG(name));
    *known = public || temp || none;
    *shown = none ? bind_sees(b, name) : public ? !hidden : temp && names_taken(txn, name, true);
    return TCUDB_OK;
}

tcudb_status bind_no_schema(const char *schema, int position, Error *err)
{
    error_at(err, SQLSTATE_INVALID_SCHEMA_NAME, position, "schema \"%s\" does not exist", schema);
    error_hint(err, "There is one schema, public; others are not supported yet.");
    return TCUDB_ERROR;
}

bool bind_was_missing(Error *err)
{
    bool missing = err != NULL && (strcmp(err->sqlstate, SQLSTATE_UNDEFINED_TABLE) == 0 ||
                                   strcmp(err->sqlstate, SQLSTATE_INVALID_SCHEMA_NAME) == 0);
    if (missing) error_clear(err);
    return missing;
}

tcudb_status bind_path_target(const Binder *b, int position, Error *err)
{
    if (bind_sees_public(b)) return TCUDB_OK;
    if (path_names(b->env->settings->search_path, "pg_temp"))
        return error_unsupported(err, position, "a search_path of pg_temp alone to create in");
    error_at(err, SQLSTATE_INVALID_SCHEMA_NAME, position, "no schema has been selected to create in");
    error_hint(err, "SET search_path TO public, or write public. before the name.");
    return TCUDB_ERROR;
}

/* ---- statements about schemas */

bool bind_is_schema(const char *name)
{
    return strcmp(name, "public") == 0 || strcmp(name, "pg_catalog") == 0 || strcmp(name, "information_schema") == 0;
}

static tcudb_status only_public(const Binder *b, Error *err)
{
    tcudb_status status = bind_refuse_by_name(b, err);
    error_hint(err, "There is one schema, public.");
    return status;
}

tcudb_status bind_create_schema(const Binder *b, const PgQuery__CreateSchemaStmt *node, Stmt *stmt, Error *err)
{
    if (strcmp(node->schemaname, "public") != 0) return only_public(b, err);
    if (!node->if_not_exists) return error_set(err, SQLSTATE_DUPLICATE_SCHEMA, "schema \"public\" already exists");
    return bind_nothing(stmt, "CREATE SCHEMA");
}

tcudb_status bind_drop_schema(const Binder *b, const PgQuery__DropStmt *node, Stmt *stmt, Error *err)
{
    for (size_t i = 0; i < node->n_objects; i++) {
        const char *name = sql_string(node->objects[i]);
        if (bind_is_schema(name)) return only_public(b, err);
        if (!node->missing_ok)
            return error_set(err, SQLSTATE_INVALID_SCHEMA_NAME, "schema \"%s\" does not exist", name);
    }
    return bind_nothing(stmt, "DROP SCHEMA");
}

tcudb_status bind_own_schema(const Binder *b, const PgQuery__AlterOwnerStmt *node, Stmt *stmt, Error *err)
{
    const char *name = NODE_IS(node->object, STRING) ? sql_string(node->object) : "";
    if (node->object_type != PG_QUERY__OBJECT_TYPE__OBJECT_SCHEMA) return bind_refuse_by_name(b, err);
    return bind_is_schema(name) ? bind_nothing(stmt, "ALTER SCHEMA") : bind_no_schema(name, 0, err);
}

tcudb_status bind_rename_schema(const Binder *b, const char *name, Error *err)
{
    return bind_is_schema(name) ? only_public(b, err) : bind_no_schema(name, 0, err);
}
