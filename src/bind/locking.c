/*
 * locking.c: FOR UPDATE and its kin, which lock nothing: there is one writer at a time.
 *
 * What PostgreSQL refuses is refused: queries whose rows are no rows of tables, and OF names that are none of the
 * query's tables.
 */
#include "bind/bind_int.h"

#include <assert.h>

typedef PgQuery__LockingClause Locking;

static const char *clause(const Locking *locking)
{
    switch (locking->strength) {
    case PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORKEYSHARE: return "FOR KEY SHARE";
    case PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORSHARE: return "FOR SHARE";
    case PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORNOKEYUPDATE: return "FOR NO KEY UPDATE";
    default: return "FOR UPDATE";
    }
}

/* What keeps the query's rows from being rows of tables; NULL: nothing. block NULL: it is no plain SELECT. */
static const char *obstacle(const PgQuery__SelectStmt *stmt, const Block *block)
{
    if (block == NULL) return "UNION/INTERSECT/EXCEPT";
    if (stmt->n_distinct_clause > 0) return "DISTINCT clause";
    if (stmt->n_group_clause > 0) return "GROUP BY clause";
    if (stmt->having_clause != NULL) return "HAVING clause";
    if (block->naggs > 0) return "aggregate functions";
    if (block->window_defs != NULL) return "window functions";
    return block->srfs != NULL ? "set-returning functions in the target list" : NULL;
}

typedef struct Search {
    const char *name;
    bool found;
    const char *kind; /* why it cannot be locked; NULL: it can */
} Search;

static void meet(const PgQuery__Alias *alias, const char *name, const char *kind, Search *search)
{
    if (alias != NULL) name = alias->aliasname;
    if (search->found || strcmp(name, search->name) != 0) return;
    search->found = true;
    search->kind = kind;
}

/* The entries of FROM in the order of PostgreSQL's range table: a join behind its sides. */
static void find(const Node *node, Search *search)
{
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_RANGE_VAR: meet(node->range_var->alias, node->range_var->relname, NULL, search); break;
    case PG_QUERY__NODE__NODE_RANGE_SUBSELECT: meet(node->range_subselect->alias, "", NULL, search); break;
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION: meet(node->range_function->alias, "", "a function", search); break;
    case PG_QUERY__NODE__NODE_JOIN_EXPR: {
        const PgQuery__JoinExpr *join = node->join_expr;
        find(join->larg, search);
        find(join->rarg, search);
        meet(join->alias != NULL ? join->alias : join->join_using_alias, "", "a join", search);
        break;
    }
    default: break;
    }
}

static tcudb_status check_name(Binder *b, const PgQuery__SelectStmt *stmt, const Locking *locking,
                               const PgQuery__RangeVar *range, Error *err)
{
    int position = bind_position(b, range->location);
    Search search = {.name = range->relname};
    if (range->schemaname[0] != '\0')
        return error_at(err, SQLSTATE_SYNTAX_ERROR, position, "%s must specify unqualified relation names",
                        clause(locking));
    for (size_t i = 0; i < stmt->n_from_clause; i++) find(stmt->from_clause[i], &search);
    if (!search.found)
        return error_at(err, SQLSTATE_UNDEFINED_TABLE, position,
                        "relation \"%s\" in %s clause not found in FROM clause", range->relname, clause(locking));
    if (search.kind == NULL) return TCUDB_OK;
    return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position, "%s cannot be applied to %s", clause(locking),
                    search.kind);
}

tcudb_status bind_check_locking(Binder *b, const PgQuery__SelectStmt *stmt, const Block *block, Error *err)
{
    for (size_t i = 0; i < stmt->n_locking_clause; i++) {
        const Locking *locking = stmt->locking_clause[i]->locking_clause;
        const char *what = obstacle(stmt, block);
        if (stmt->n_values_lists > 0)
            return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "%s cannot be applied to VALUES", clause(locking));
        if (what != NULL)
            return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "%s is not allowed with %s", clause(locking), what);
        for (size_t k = 0; k < locking->n_locked_rels; k++) {
            assert(NODE_IS(locking->locked_rels[k], RANGE_VAR));
            TRY(check_name(b, stmt, locking, locking->locked_rels[k]->range_var, err));
        }
    }
    return TCUDB_OK;
}
