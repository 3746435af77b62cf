/*
 * constraint.c: PRIMARY KEY, UNIQUE and CHECK: from CREATE TABLE into a TableDef, and from there into changes.
 *
 * A CHECK is kept as its text. It is bound when the table is made, for its errors, and again for every INSERT and
 * UPDATE, over the new row's columns. Names that the statement leaves out are PostgreSQL's: t_pkey, t_a_b_key,
 * t_a_check, with a number behind them if they are taken. A new table's primary key stands first among its keys, the
 * checks are in the order of their names: that is the order in which PostgreSQL looks at them.
 */
#include "bind/bind_int.h"
#include "catalog/reference.h"

#include <assert.h>
#include <stdlib.h>

/* ---- names */

static bool key_named(const TableBuild *t, Str name)
{
    for (uint32_t i = 0; i < t->nkeys; i++)
        if (str_equal(t->keys[i].name, name)) return true;
    return false;
}

static bool check_named(const TableBuild *t, Str name)
{
    for (uint32_t i = 0; i < t->nchecks; i++)
        if (str_equal(t->checks[i].name, name)) return true;
    return bind_find_note(t, NOTE_REFERENCE, name).ptr != NULL;
}

/* Whether a relation has the name that a key would take: a key is an index, too. */
static bool relation_named(Binder *b, const TableBuild *t, Str name)
{
    if (bind_name_is(name, t->table) || key_named(t, name) || bind_find_note(t, NOTE_INDEX, name).ptr != NULL)
        return true;
    const Table *of = names_index_of(b->env->txn, name, t->temp != TEMP_NONE);
    if (of != NULL && bind_name_is(table_def(of)->name, t->table)) return false; /* it goes with this statement */
    return names_taken(b->env->txn, name, t->temp != TEMP_NONE);
}

/* What stands in the way of a name; NULL: nothing. Checks come before keys, so a name that a check would take is
 * another check's. */
typedef enum ConstraintUse { OF_KEY, OF_CHECK, OF_REFERENCE } ConstraintUse;

static const char *obstacle(Binder *b, const TableBuild *t, Str name, ConstraintUse use)
{
    if (use == OF_KEY && relation_named(b, t, name)) return "relation";
    if (!key_named(t, name) && !check_named(t, name)) return NULL;
    return use == OF_CHECK && !t->altered ? "check constraint" : "constraint";
}

static tcudb_status refuse_name(const TableBuild *t, Str name, const char *what, Error *err)
{
    bool relation = strcmp(what, "relation") == 0;
    if (strcmp(what, "constraint") == 0)
        return error_set(err, SQLSTATE_DUPLICATE_OBJECT,
                         "constraint \"" STR_FMT "\" for relation \"%s\" already exists", STR_ARG(name), t->table);
    return error_set(err, relation ? SQLSTATE_DUPLICATE_TABLE : SQLSTATE_DUPLICATE_OBJECT,
                     "%s \"" STR_FMT "\" already exists", what, STR_ARG(name));
}

static tcudb_status constraint_name(Binder *b, const TableBuild *t, const char *given, const char *made,
                                    ConstraintUse use, Str *out, Error *err)
{
    const char *name = given[0] != '\0' ? given : made, *what;
    for (uint32_t n = 1; (what = obstacle(b, t, str_of(name), use)) != NULL; n++) {
        if (given[0] != '\0') return refuse_name(t, str_of(given), what, err);
        name = arena_printf(b->arena, err, "%s%u", made, n);
        TRY_PTR(name);
    }
    *out = str_of(name);
    return TCUDB_OK;
}

tcudb_status bind_constraint_free_name(Binder *b, const TableBuild *t, const char *given, const char *made, Str *out,
                                       Error *err)
{
    return constraint_name(b, t, given, made, OF_REFERENCE, out, err);
}

tcudb_status bind_constraint_rename(Binder *b, const TableBuild *t, Str from, Str to, Error *err)
{
    const char *what = obstacle(b, t, to, key_named(t, from) ? OF_KEY : OF_REFERENCE);
    return what == NULL ? TCUDB_OK : refuse_name(t, to, what, err);
}

/* ---- keys */

static tcudb_status key_columns(Binder *b, const TableBuild *t, const PgQuery__Constraint *node, KeyDef *key,
                                Error *err)
{
    uint32_t *cols = ARENA_ARRAY(b->arena, uint32_t, node->n_keys, err);
    TRY_PTR(cols);
    for (uint32_t i = 0; i < node->n_keys; i++) {
        Str name = str_of(sql_string(node->keys[i]));
        while (cols[i] < t->n && !str_equal(t->cols[cols[i]].name, name)) cols[i]++;
        if (cols[i] == t->n) {
            return error_at(err, SQLSTATE_UNDEFINED_COLUMN, bind_position(b, node->location),
                            "column \"" STR_FMT "\" named in key does not exist", STR_ARG(name));
        }
        for (uint32_t k = 0; k < i; k++) {
            if (cols[k] != cols[i]) continue;
            return error_at(err, SQLSTATE_DUPLICATE_COLUMN, bind_position(b, node->location),
                            "column \"" STR_FMT "\" appears twice in %s constraint", STR_ARG(name),
                            key->primary ? "primary key" : "unique");
        }
    }
    key->cols = cols;
    key->ncols = (uint32_t)node->n_keys;
    return TCUDB_OK;
}

static tcudb_status key_name(Binder *b, const TableBuild *t, const char *given, KeyDef *key, Error *err)
{
    const char *made = t->table;
    assert(key->cols != NULL);
    for (uint32_t i = 0; i < key->ncols && !key->primary; i++) {
        made = arena_printf(b->arena, err, "%s_" STR_FMT, made, STR_ARG(t->cols[key->cols[i]].name));
        TRY_PTR(made);
    }
    made = arena_printf(b->arena, err, "%s_%s", made, key->primary ? "pkey" : "key");
    TRY_PTR(made);
    return constraint_name(b, t, given, made, OF_KEY, &key->name, err);
}

const KeyDef *bind_primary_key(const TableBuild *t)
{
    for (uint32_t i = 0; i < t->nkeys; i++)
        if (t->keys[i].primary) return &t->keys[i];
    return NULL;
}

tcudb_status bind_constraint_key(Binder *b, TableBuild *t, const PgQuery__Constraint *node, const uint32_t *col,
                                 Error *err)
{
    int position = bind_position(b, node->location);
    KeyDef key = {.primary = node->contype == PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY, .cols = col, .ncols = 1};
    if (node->deferrable || node->initdeferred) return error_unsupported(err, position, "DEFERRABLE");
    if (node->nulls_not_distinct) return error_unsupported(err, position, "NULLS NOT DISTINCT");
    if (node->n_including > 0) return error_unsupported(err, position, "INCLUDE");
    if (node->indexname[0] != '\0') return error_unsupported(err, position, "USING INDEX");
    if (col == NULL) TRY(key_columns(b, t, node, &key, err));
    TRY(bind_storage(b, node->options, node->n_options, STORAGE_INDEX, false, err));
    return bind_constraint_add_key(b, t, node->conname, &key, position, err);
}

tcudb_status bind_constraint_add_key(Binder *b, TableBuild *t, const char *name, const KeyDef *def, int position,
                                     Error *err)
{
    KeyDef key = *def;
    if (key.primary && bind_primary_key(t) != NULL) {
        return error_at(err, SQLSTATE_INVALID_TABLE_DEFINITION, position,
                        "multiple primary keys for table \"%s\" are not allowed", t->table);
    }
    TRY(key_name(b, t, name, &key, err));
    for (uint32_t i = 0; i < key.ncols && key.primary; i++) t->cols[key.cols[i]].not_null = true;
    uint32_t at = key.primary && !t->altered ? 0 : t->nkeys;
    memmove(t->keys + at + 1, t->keys + at, (t->nkeys - at) * sizeof *t->keys);
    t->keys[at] = key;
    t->nkeys++;
    return TCUDB_OK;
}

/* ---- checks */

typedef struct Mentioned {
    ColId col;
    bool many;
} Mentioned;

static bool mention(void *ctx, const Expr *e)
{
    Mentioned *m = ctx;
    if (e->kind != EXPR_COL || e->col == m->col) return true;
    m->many = m->col != 0;
    m->col = e->col;
    return true;
}

/* t_a_check if a is the only column of the expression, else t_check. */
static tcudb_status check_name(Binder *b, const TableBuild *t, const Block *block, const Expr *e, const char *given,
                               Str *out, Error *err)
{
    Mentioned m = {0};
    (void)expr_walk(e, mention, &m);
    const char *made = arena_printf(b->arena, err, "%s_check", t->table);
    for (uint32_t i = 0; i < t->n && m.col != 0 && !m.many; i++) {
        if (block->items[0]->cols[i].expr->col != m.col) continue;
        made = arena_printf(b->arena, err, "%s_" STR_FMT "_check", t->table, STR_ARG(t->cols[i].name));
    }
    TRY_PTR(made);
    return constraint_name(b, t, given, made, OF_CHECK, out, err);
}

static int by_name(const void *a, const void *b)
{
    return str_compare(((const CheckDef *)a)->name, ((const CheckDef *)b)->name);
}

tcudb_status bind_constraint_add_check(TableBuild *t, const CheckDef *check, Error *err)
{
    if (check_named(t, check->name)) {
        return error_set(err, SQLSTATE_DUPLICATE_OBJECT, "check constraint \"" STR_FMT "\" already exists",
                         STR_ARG(check->name));
    }
    t->checks[t->nchecks++] = *check;
    qsort(t->checks, t->nchecks, sizeof *t->checks, by_name);
    return TCUDB_OK;
}

tcudb_status bind_constraint_check(Binder *b, TableBuild *t, const PgQuery__Constraint *node, Error *err)
{
    Block block = {.place = PLACE_CHECK};
    ApplyList list = {0};
    Expr *e = NULL;
    CheckDef *check = &t->checks[t->nchecks];
    block.applies = &list;
    if (t->n == 0) return error_unsupported(err, bind_position(b, node->location), "CHECK on a table without columns");
    TRY(bind_scope_table(b, t, &block, err));
    TRY(bind_bool(b, &block, node->raw_expr, "CHECK", &e, err));
    TRY(sql_expression_text(b->arena, node->raw_expr, b->env->cancel, &check->sql, err));
    TRY(bind_renamed_expression(b, t, check->sql, 0, "", &check->sql, err));
    TRY(check_name(b, t, &block, e, node->conname, &check->name, err));
    t->nchecks++;
    qsort(t->checks, t->nchecks, sizeof *t->checks, by_name);
    return TCUDB_OK;
}

/* ---- in changes */

static const Node *only_target(const Ast *ast, uint32_t n)
{
    const Node *node = n == 1 ? ast->node : NULL;
    if (!NODE_IS(node, SELECT_STMT) || node->select_stmt->n_target_list != 1) return NULL;
    return node->select_stmt->target_list[0]->res_target->val;
}

tcudb_status bind_stored_expression(Binder *b, Str sql, const char *what, Str name, Ast **ast, const Node **out,
                                    Error *err)
{
    uint32_t n = 0;
    const char *text = arena_printf(b->arena, err, "SELECT " STR_FMT, STR_ARG(sql));
    TRY_PTR(text);
    TRY(sql_parse(b->arena, str_of(text), b->env->cancel, ast, &n, err));
    *out = only_target(*ast, n);
    if (*out != NULL) return TCUDB_OK;
    return error_set(err, SQLSTATE_DATA_CORRUPTED, "the %s \"" STR_FMT "\" is damaged", what, STR_ARG(name));
}

static tcudb_status row_check(Binder *b, Block *block, const CheckDef *def, RowCheck *out, Error *err)
{
    Ast *ast = NULL;
    const Node *node = NULL;
    const Ast *before = b->ast;
    TRY(bind_stored_expression(b, def->sql, "constraint", def->name, &ast, &node, err));
    out->name = bind_name(b, def->name, err);
    TRY_PTR(out->name);
    b->ast = ast;
    b->stored = true;
    tcudb_status status = bind_bool(b, block, node, "CHECK", &out->cond, err);
    b->stored = false;
    b->ast = before;
    if (status != TCUDB_OK && err != NULL) err->position = 0; /* it would point into the constraint's text */
    return status;
}

tcudb_status bind_check_mentions(Binder *b, const TableBuild *t, const CheckDef *check, uint32_t col, bool *yes,
                                 Error *err)
{
    Block block = {.place = PLACE_CHECK};
    ApplyList list = {0};
    RowCheck bound;
    block.applies = &list;
    TRY(bind_scope_table(b, t, &block, err));
    TRY(row_check(b, &block, check, &bound, err));
    *yes = bind_expr_has_col(bound.cond, block.items[0]->cols[col].expr->col);
    return TCUDB_OK;
}

tcudb_status bind_row_checks(Binder *b, const TableDef *def, const PlanCol *cols, Plan *change, Error *err)
{
    Block block = {.place = PLACE_CHECK};
    ApplyList list = {0};
    if (def->nchecks == 0) return TCUDB_OK;
    block.applies = &list;
    TRY(bind_scope_row(b, def, cols, &block, err));
    RowCheck *checks = ARENA_ARRAY(b->arena, RowCheck, def->nchecks, err);
    TRY_PTR(checks);
    for (uint32_t i = 0; i < def->nchecks; i++) TRY(row_check(b, &block, &def->checks[i], &checks[i], err));
    assert(list.first == NULL);
    change->modify.checks = checks;
    change->modify.nchecks = def->nchecks;
    return TCUDB_OK;
}
