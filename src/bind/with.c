/*
 * with.c: WITH: each query is bound once; references are CTE_SCANs until the whole statement is known.
 *
 * bind_with_finish then turns the scan of a query used once (and every NOT MATERIALIZED or correlated one) into a
 * PROJECT over the query's plan, or over a copy of it with new column ids; what is left is shared through Cte. WITH
 * RECURSIVE queries of the form start UNION [ALL] step become a RECURSIVE node, in whose step the reference is a
 * WORK_SCAN.
 *
 * WITH RECURSIVE queries are bound in the order of their references. Limit: one may refer to itself once.
 */
#include "bind/bind_int.h"

#include <assert.h>

static tcudb_status cte_names(Binder *b, const PgQuery__CommonTableExpr *node, Plan *plan, CteEntry *entry, Error *err)
{
    if (node->n_aliascolnames > plan->ncols) {
        return error_at(err, SQLSTATE_INVALID_COLUMN_REFERENCE, bind_position(b, node->location),
                        "WITH query \"%s\" has %u columns available but %zu columns specified", node->ctename,
                        plan->ncols, node->n_aliascolnames);
    }
    entry->names = ARENA_ARRAY(b->arena, const char *, plan->ncols, err);
    TRY_PTR(entry->names);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        entry->names[i] = i < node->n_aliascolnames ? sql_string(node->aliascolnames[i]) : plan->cols[i].name;
    }
    return TCUDB_OK;
}

static tcudb_status new_entry(Binder *b, const PgQuery__CommonTableExpr *node, CteEntry **out, Error *err)
{
    CteEntry *entry = ARENA_NEW(b->arena, CteEntry, err);
    TRY_PTR(entry);
    entry->cte = ARENA_NEW(b->arena, Cte, err);
    TRY_PTR(entry->cte);
    entry->name = str_of(node->ctename);
    entry->cte->id = ++b->next_cte;
    entry->cte->name = node->ctename;
    entry->cte->materialize = node->ctematerialized == PG_QUERY__CTEMATERIALIZE__CTEMaterializeAlways;
    entry->never_materialize = node->ctematerialized == PG_QUERY__CTEMATERIALIZE__CTEMaterializeNever;
    *out = entry;
    return TCUDB_OK;
}

static void push(Binder *b, CteEntry *entry)
{
    entry->next = b->ctes;
    b->ctes = entry;
}

/* ---- recursion */

/* Where a recursive reference stands; only PLAIN is one that a round-by-round evaluation gets right. */
typedef enum Context { REF_PLAIN, REF_SUBQUERY, REF_OUTER_JOIN, REF_EXCEPT, REF_INTERSECT } Context;

typedef struct RefSearch {
    const char *name;
    uint32_t found;
    Context worst; /* of the references found */
    int location;  /* of the first of the worst */
} RefSearch;

static bool is_nullable_side(const PgQuery__JoinExpr *join, const char *field)
{
    bool left = strcmp(field, "larg") == 0, right = strcmp(field, "rarg") == 0;
    switch (join->jointype) {
    case PG_QUERY__JOIN_TYPE__JOIN_LEFT: return right;
    case PG_QUERY__JOIN_TYPE__JOIN_RIGHT: return left;
    case PG_QUERY__JOIN_TYPE__JOIN_FULL: return left || right;
    default: return false;
    }
}

static Context context_below(const ProtobufCMessage *message, const char *field, Context context)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    if (type == &pg_query__sub_link__descriptor) return REF_SUBQUERY;
    if (type == &pg_query__join_expr__descriptor && is_nullable_side((const PgQuery__JoinExpr *)message, field)) {
        return REF_OUTER_JOIN;
    }
    if (type == &pg_query__select_stmt__descriptor) {
        const PgQuery__SelectStmt *select = (const PgQuery__SelectStmt *)message;
        if (select->op == PG_QUERY__SET_OPERATION__SETOP_EXCEPT && strcmp(field, "rarg") == 0) return REF_EXCEPT;
        if (select->op == PG_QUERY__SET_OPERATION__SETOP_INTERSECT && select->all) return REF_INTERSECT;
    }
    return context;
}

/* Whether a WITH below defines the same name: then references under it are its own. */
static bool shadows(const ProtobufCMessage *message, const char *name)
{
    if (message->descriptor != &pg_query__select_stmt__descriptor) return false;
    const PgQuery__WithClause *with = ((const PgQuery__SelectStmt *)message)->with_clause;
    for (size_t i = 0; with != NULL && i < with->n_ctes; i++) {
        if (strcmp(with->ctes[i]->common_table_expr->ctename, name) == 0) return true;
    }
    return false;
}

static void find_refs(const ProtobufCMessage *message, Context context, RefSearch *search);

static void find_refs_in_field(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, Context context,
                               RefSearch *search)
{
    const char *base = (const char *)message;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t n = *(const size_t *)(base + field->quantifier_offset);
        const ProtobufCMessage *const *items = *(const ProtobufCMessage *const *const *)(base + field->offset);
        for (size_t i = 0; i < n; i++) find_refs(items[i], context, search);
        return;
    }
    bool oneof = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
    if (oneof && *(const uint32_t *)(base + field->quantifier_offset) != field->id) return;
    const ProtobufCMessage *child = *(const ProtobufCMessage *const *)(base + field->offset);
    if (child != NULL) find_refs(child, context, search);
}

/* A walk over the tree by protobuf's own descriptors. */
static void find_refs(const ProtobufCMessage *message, Context context, RefSearch *search)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    if (type == &pg_query__range_var__descriptor) {
        const PgQuery__RangeVar *range = (const PgQuery__RangeVar *)message;
        if (range->schemaname[0] != '\0' || strcmp(range->relname, search->name) != 0) return;
        if (search->found++ == 0 || context > search->worst) search->location = range->location;
        if (context > search->worst) search->worst = context;
        return;
    }
    if (shadows(message, search->name)) return;
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        if (field->type != PROTOBUF_C_TYPE_MESSAGE) continue;
        find_refs_in_field(message, field, context_below(message, field->name, context), search);
    }
}

static bool mentions(const ProtobufCMessage *message, const char *name)
{
    RefSearch search = {.name = name};
    find_refs(message, REF_PLAIN, &search);
    return search.found > 0;
}

static tcudb_status check_refs(Binder *b, const PgQuery__SelectStmt *stmt, const char *name, Error *err)
{
    static const char *const where[] = {"", "a subquery", "an outer join", "EXCEPT", "INTERSECT"};
    RefSearch search = {.name = name};
    find_refs(&stmt->larg->base, REF_PLAIN, &search);
    if (search.found > 0) {
        return error_at(err, SQLSTATE_INVALID_RECURSION, bind_position(b, search.location),
                        "recursive reference to query \"%s\" must not appear within its non-recursive term", name);
    }
    if (stmt->with_clause != NULL) find_refs(&stmt->with_clause->base, REF_SUBQUERY, &search);
    find_refs(&stmt->rarg->base, REF_PLAIN, &search);
    if (search.worst == REF_PLAIN) return TCUDB_OK;
    return error_at(err, SQLSTATE_INVALID_RECURSION, bind_position(b, search.location),
                    "recursive reference to query \"%s\" must not appear within %s", name, where[search.worst]);
}

static tcudb_status check_step(Binder *b, const PgQuery__CommonTableExpr *node, const PgQuery__SelectStmt *stmt,
                               Plan *start, Plan *step, Error *err)
{
    int position = bind_position(b, node->location);
    if (start->ncols != step->ncols) {
        return error_at(err, SQLSTATE_SYNTAX_ERROR, position, "each UNION query must have the same number of columns");
    }
    if (stmt->n_sort_clause > 0) {
        return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
                        "ORDER BY in a recursive query is not implemented");
    }
    if (stmt->limit_count != NULL) {
        return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position, "LIMIT in a recursive query is not implemented");
    }
    if (stmt->limit_offset != NULL) {
        return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
                        "OFFSET in a recursive query is not implemented");
    }
    if (stmt->n_locking_clause > 0)
        return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED,
                         "FOR UPDATE/SHARE in a recursive query is not implemented");
    for (uint32_t i = 0; i < start->ncols; i++) {
        Type types[2] = {start->cols[i].type, bind_stored_type(step, step->cols[i].id)}, common;
        TRY(func_common_type(types, 2, "UNION", bind_setop_position(b, stmt->rarg, i), &common, err));
        bool same = type_equal(types[0], types[1]), modified = !type_equal(types[0], TYPE(types[0].id));
        if (common.id == types[0].id && (same || !modified)) continue;
        char have[TYPE_NAME_MAX], want[TYPE_NAME_MAX];
        if (!type_equal(common, types[1])) common = TYPE(common.id);
        tcudb_status status =
            error_at(err, SQLSTATE_DATATYPE_MISMATCH, bind_setop_position(b, stmt->larg, i),
                     "recursive query \"%s\" column %u has type %s in non-recursive term but type %s overall",
                     node->ctename, i + 1, type_name(types[0], have), type_name(common, want));
        error_hint(err, "Cast the output of the non-recursive term to the correct type.");
        return status;
    }
    return TCUDB_OK;
}

static tcudb_status bind_step(Binder *b, Block *outer, const Block *sibling, const PgQuery__SelectStmt *stmt,
                              CteEntry *entry, Plan *start, Plan **step, Error *err)
{
    CteEntry *before = b->ctes;
    entry->cte->plan = start; /* for the columns of references */
    entry->in_own_term = true;
    push(b, entry);
    tcudb_status status = bind_select(b, outer, sibling, stmt->rarg, true, step, err);
    b->ctes = before;
    entry->in_own_term = false;
    return status;
}

/* What modifiers PostgreSQL gives a column all its rounds have; without one, its digits may grow from round to round.
 */
static void column_types(const Plan *start, Type *types)
{
    for (uint32_t i = 0; i < start->ncols; i++) types[i] = bind_stored_type(start, start->cols[i].id);
}

static tcudb_status bind_recursive(Binder *b, Block *outer, const Block *sibling, const PgQuery__CommonTableExpr *node,
                                   const PgQuery__SelectStmt *stmt, CteEntry *entry, Error *err)
{
    Plan *start = NULL, *step = NULL;
    CteEntry *before = b->ctes;
    TRY(check_refs(b, stmt, node->ctename, err));
    if (stmt->with_clause != NULL) TRY(bind_with_push(b, outer, sibling, stmt->with_clause, err));
    TRY(bind_select(b, outer, sibling, stmt->larg, false, &start, err));
    Type *types = ARENA_ARRAY(b->arena, Type, start->ncols, err);
    TRY_PTR(types);
    column_types(start, types);
    TRY(bind_retype(b, start, types, CAST_IMPLICIT, &start, err));
    TRY(cte_names(b, node, start, entry, err));
    TRY(bind_step(b, outer, sibling, stmt, entry, start, &step, err));
    TRY(check_step(b, node, stmt, start, step, err));
    TRY(bind_retype(b, step, types, CAST_ASSIGNMENT, &step, err));
    Plan *plan = plan_new(b->arena, PLAN_RECURSIVE, 2, start->ncols, err);
    TRY_PTR(plan);
    for (uint32_t i = 0; i < start->ncols; i++) plan->cols[i] = bind_new_col(b, types[i], entry->names[i]);
    plan->inputs[0] = start;
    plan->inputs[1] = step;
    plan->recursive.cte = entry->cte;
    plan->recursive.all = stmt->all;
    entry->cte->plan = plan;
    entry->recursive = true;
    b->ctes = before;
    return TCUDB_OK;
}

/* ---- data-modifying queries: each is a step that runs before the statement (session/steps.c) */

static tcudb_status bind_change(Binder *b, const Node *node, Stmt *stmt, Error *err)
{
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_INSERT_STMT: return bind_insert(b, node->insert_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_DELETE_STMT: return bind_delete(b, node->delete_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_UPDATE_STMT: return bind_update(b, node->update_stmt, stmt, err);
    default: return error_unsupported(err, 0, "this kind of statement in WITH");
    }
}

/* What stands for its rows until they are there. */
static tcudb_status rows_of_step(Binder *b, const Plan *change, KeptRows *kept, Plan **out, Error *err)
{
    *out = plan_new(b->arena, PLAN_VALUES, 0, change->ncols, err);
    TRY_PTR(*out);
    for (uint32_t i = 0; i < change->ncols; i++)
        (*out)->cols[i] = bind_new_col(b, change->cols[i].type, change->cols[i].name);
    (*out)->values.kept = kept;
    return TCUDB_OK;
}

static tcudb_status bind_step_query(Binder *b, Block *outer, const Block *sibling, const PgQuery__CommonTableExpr *node,
                                    Error *err)
{
    CteEntry *entry = NULL, *before = b->ctes;
    Stmt change = {0};
    if (outer != NULL || sibling != NULL || b->view_depth > 0)
        return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, bind_position(b, node->location),
                        "WITH clause containing a data-modifying statement must be at the top level");
    TRY(bind_change(b, node->ctequery, &change, err));
    assert(change.plan != NULL);
    b->ctes = before;
    KeptRows *kept = ARENA_NEW(b->arena, KeptRows, err);
    TRY_PTR(kept);
    TRY_PTR(b->steps = ARENA_MORE(b->arena, b->steps, b->nsteps, &b->cap_steps, err));
    b->steps[b->nsteps++] = (StmtStep){change.plan, kept, change.name};
    TRY(new_entry(b, node, &entry, err));
    TRY(rows_of_step(b, change.plan, kept, &entry->cte->plan, err));
    TRY(cte_names(b, node, entry->cte->plan, entry, err));
    entry->no_rows = change.plan->ncols == 0;
    push(b, entry);
    return TCUDB_OK;
}

static tcudb_status bind_one(Binder *b, Block *outer, const Block *sibling, const PgQuery__CommonTableExpr *node,
                             bool recursive, Error *err)
{
    int position = bind_position(b, node->location);
    if (!NODE_IS(node->ctequery, SELECT_STMT) && recursive && mentions(&node->ctequery->base, node->ctename))
        return error_at(err, SQLSTATE_INVALID_RECURSION, position,
                        "recursive query \"%s\" must not contain data-modifying statements", node->ctename);
    if (!NODE_IS(node->ctequery, SELECT_STMT)) return bind_step_query(b, outer, sibling, node, err);
    if (node->search_clause != NULL || node->cycle_clause != NULL) {
        return error_unsupported(err, position, "SEARCH and CYCLE");
    }
    const PgQuery__SelectStmt *stmt = node->ctequery->select_stmt;
    CteEntry *entry = NULL;
    TRY(new_entry(b, node, &entry, err));
    if (recursive && mentions(&node->ctequery->base, node->ctename)) {
        if (stmt->op != PG_QUERY__SET_OPERATION__SETOP_UNION) {
            return error_at(
                err, SQLSTATE_INVALID_RECURSION, position,
                "recursive query \"%s\" does not have the form non-recursive-term UNION [ALL] recursive-term",
                node->ctename);
        }
        TRY(bind_recursive(b, outer, sibling, node, stmt, entry, err));
    } else {
        TRY(bind_select(b, outer, sibling, stmt, false, &entry->cte->plan, err));
        TRY(cte_names(b, node, entry->cte->plan, entry, err));
    }
    push(b, entry);
    return TCUDB_OK;
}

/* WITH RECURSIVE: whether a query refers to another that is not bound yet. */
static bool waits(const PgQuery__WithClause *with, const bool *bound, size_t i)
{
    const ProtobufCMessage *query = &with->ctes[i]->common_table_expr->ctequery->base;
    for (size_t k = 0; k < with->n_ctes; k++)
        if (k != i && !bound[k] && mentions(query, with->ctes[k]->common_table_expr->ctename)) return true;
    return false;
}

/* The next query to bind: of WITH in the order written, of WITH RECURSIVE those first that others refer to. */
static tcudb_status next_query(const Binder *b, const PgQuery__WithClause *with, const bool *bound, size_t *out,
                               Error *err)
{
    size_t first = with->n_ctes;
    for (*out = 0; *out < with->n_ctes; ++*out) {
        if (bound[*out]) continue;
        if (first == with->n_ctes) first = *out;
        if (!with->recursive || !waits(with, bound, *out)) return TCUDB_OK;
    }
    return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED,
                    bind_position(b, with->ctes[first]->common_table_expr->location),
                    "mutual recursion between WITH items is not implemented");
}

static tcudb_status check_names(const Binder *b, const PgQuery__WithClause *with, Error *err)
{
    for (size_t i = 0; i < with->n_ctes; i++) {
        assert(NODE_IS(with->ctes[i], COMMON_TABLE_EXPR));
        const PgQuery__CommonTableExpr *node = with->ctes[i]->common_table_expr;
        for (size_t k = 0; k < i; k++) {
            if (strcmp(with->ctes[k]->common_table_expr->ctename, node->ctename) != 0) continue;
            return error_at(err, SQLSTATE_DUPLICATE_ALIAS, bind_position(b, node->location),
                            "WITH query name \"%s\" specified more than once", node->ctename);
        }
    }
    return TCUDB_OK;
}

tcudb_status bind_with_push(Binder *b, Block *outer, const Block *sibling, const PgQuery__WithClause *with, Error *err)
{
    bool *bound = ARENA_ARRAY(b->arena, bool, with->n_ctes, err);
    TRY_PTR(bound);
    TRY(check_names(b, with, err));
    for (size_t i = 0; i < with->n_ctes; i++) {
        size_t next = 0;
        TRY(next_query(b, with, bound, &next, err));
        TRY(bind_one(b, outer, sibling, with->ctes[next]->common_table_expr, with->recursive, err));
        bound[next] = true;
    }
    return TCUDB_OK;
}

tcudb_status bind_with_share(Binder *b, const char *name, Plan *query, bool copy, CteEntry **out, Error *err)
{
    CteEntry *entry = ARENA_NEW(b->arena, CteEntry, err);
    TRY_PTR(entry);
    entry->cte = ARENA_NEW(b->arena, Cte, err);
    TRY_PTR(entry->cte);
    *entry->cte = (Cte){.id = ++b->next_cte, .name = name, .plan = query};
    entry->name = str_of(name);
    entry->never_materialize = copy;
    entry->names = ARENA_ARRAY(b->arena, const char *, query->ncols, err);
    TRY_PTR(entry->names);
    for (uint32_t i = 0; i < query->ncols; i++) entry->names[i] = query->cols[i].name;
    *out = entry;
    return TCUDB_OK;
}

/* ---- references */

tcudb_status bind_with_scan(Binder *b, CteEntry *entry, int position, Plan **out, Error *err)
{
    const Plan *query = entry->cte->plan;
    if (entry->no_rows)
        return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
                        "WITH query \"" STR_FMT "\" does not have a RETURNING clause", STR_ARG(entry->name));
    if (entry->in_own_term && entry->self_refs++ > 0) {
        return error_at(err, SQLSTATE_INVALID_RECURSION, position,
                        "recursive reference to query \"" STR_FMT "\" must not appear more than once",
                        STR_ARG(entry->name));
    }
    Plan *scan = plan_new(b->arena, entry->in_own_term ? PLAN_WORK_SCAN : PLAN_CTE_SCAN, 0, query->ncols, err);
    TRY_PTR(scan);
    for (uint32_t i = 0; i < query->ncols; i++) {
        scan->cols[i] = bind_new_col(b, query->cols[i].type, entry->names[i]);
    }
    scan->cte_scan.cte = entry->cte;
    *out = scan;
    if (entry->in_own_term) return TCUDB_OK;
    entry->cte->uses++;
    CteUse *use = ARENA_NEW(b->arena, CteUse, err);
    TRY_PTR(use);
    *use = (CteUse){.next = b->cte_uses, .scan = scan, .entry = entry};
    b->cte_uses = use;
    return TCUDB_OK;
}

static tcudb_status inline_scan(Binder *b, Plan *scan, Plan *query, Error *err)
{
    assert(scan->ncols == query->ncols);
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, scan->ncols, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < scan->ncols; i++) {
        exprs[i].col = scan->cols[i];
        exprs[i].expr = expr_col(b->arena, query->cols[i].id, query->cols[i].type, 0, err);
        TRY_PTR(exprs[i].expr);
    }
    scan->inputs = ARENA_ARRAY(b->arena, Plan *, 1, err);
    TRY_PTR(scan->inputs);
    scan->kind = PLAN_PROJECT;
    scan->ninputs = 1;
    scan->inputs[0] = query;
    scan->project.exprs = exprs;
    return TCUDB_OK;
}

/* In the order of use, so that a query inlined into another's is inlined before that one is copied. */
tcudb_status bind_with_finish(Binder *b, Error *err)
{
    CteUse *reversed = NULL;
    while (b->cte_uses != NULL) {
        CteUse *use = b->cte_uses;
        b->cte_uses = use->next;
        use->next = reversed;
        reversed = use;
    }
    for (CteUse *use = reversed; use != NULL; use = use->next) {
        CteEntry *entry = use->entry;
        ColId *cols = NULL;
        uint32_t n = 0;
        TRY(plan_free_cols(b->arena, entry->cte->plan, &cols, &n, err));
        bool shared = entry->cte->uses > 1 && n == 0 && !entry->never_materialize;
        if (entry->cte->materialize || entry->recursive) shared = n == 0;
        if (b->nsteps > 0) shared = false; /* the uses may be in plans that run one after the other */
        if (shared) {
            entry->cte->materialize = true;
            continue;
        }
        Plan *query = entry->cte->plan;
        if (entry->cte->uses > 1 || n > 0) TRY(plan_copy(b->arena, query, &b->next_col, &query, err));
        TRY(inline_scan(b, use->scan, query, err));
    }
    return TCUDB_OK;
}
