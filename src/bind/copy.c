/*
 * copy.c: COPY table (columns) FROM/TO file (options), COPY (query) TO file.
 *
 * Options are handed on by name; files/ knows what they mean. COPY TO is a plan whose columns are written;
 * COPY FROM a list of table columns in file order.
 */
#include "bind/bind_int.h"

#include <assert.h>

static tcudb_status copy_columns(Binder *b, const PgQuery__CopyStmt *node, const TableDef *def, Stmt *stmt, Error *err)
{
    uint32_t n = (uint32_t)node->n_attlist;
    uint32_t *columns = ARENA_ARRAY(b->arena, uint32_t, n + def->ncols, err);
    TRY_PTR(columns);
    for (uint32_t i = 0; i < def->ncols && node->n_attlist == 0; i++)
        if (!bind_is_generated(def, def->cols[i].name)) columns[n++] = i;
    for (uint32_t i = 0; i < node->n_attlist; i++) {
        Str name = str_of(sql_string(node->attlist[i]));
        TRY(bind_column_number(def, name, 0, &columns[i], err));
        if (bind_is_generated(def, name)) {
            error_set(err, SQLSTATE_INVALID_COLUMN_REFERENCE, "column \"" STR_FMT "\" is a generated column",
                      STR_ARG(name));
            error_detail(err, "Generated columns cannot be used in COPY.");
            return TCUDB_ERROR;
        }
        for (uint32_t k = 0; k < i; k++) {
            if (columns[k] != columns[i]) continue;
            return error_set(err, SQLSTATE_DUPLICATE_COLUMN, "column \"" STR_FMT "\" specified more than once",
                             STR_ARG(name));
        }
    }
    stmt->ncolumns = n;
    stmt->columns = columns;
    return TCUDB_OK;
}

static tcudb_status copy_table_out(Binder *b, const Table *table, Stmt *stmt, Error *err)
{
    Plan *scan = NULL;
    TRY(bind_table_scan(b, table, NULL, &scan, err));
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, stmt->ncolumns, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < stmt->ncolumns; i++) {
        exprs[i].col = scan->cols[stmt->columns[i]];
        exprs[i].expr = expr_col(b->arena, exprs[i].col.id, exprs[i].col.type, 0, err);
        TRY_PTR(exprs[i].expr);
    }
    return plan_project(b->arena, scan, exprs, stmt->ncolumns, &stmt->plan, err);
}

static tcudb_status copy_relation(Binder *b, const PgQuery__CopyStmt *node, Stmt *stmt, Error *err)
{
    Str name = {0};
    TRY(bind_relation_name(b, node->relation, &name, err));
    if (!node->is_from && txn_view(b->env->txn, name) != NULL) {
        tcudb_status status =
            error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "cannot copy from view \"%s\"", node->relation->relname);
        error_hint(err, "Try the COPY (SELECT ...) TO variant.");
        return status;
    }
    const Table *table = NULL;
    TRY(bind_table_for_change(b, node->relation, "copying to", &table, err));
    stmt->name = table_def(table)->name;
    TRY(copy_columns(b, node, table_def(table), stmt, err));
    return node->is_from ? TCUDB_OK : copy_table_out(b, table, stmt, err);
}

tcudb_status bind_copy(Binder *b, const PgQuery__CopyStmt *node, Stmt *stmt, Error *err)
{
    stmt->kind = node->is_from ? STMT_COPY_FROM : STMT_COPY_TO;
    stmt->tag = "COPY";
    stmt->text = str_of(node->filename);
    if (node->is_program) return error_unsupported(err, 0, "COPY ... PROGRAM");
    if (node->where_clause != NULL)
        return error_unsupported(err, bind_node_position(b, node->where_clause), "COPY FROM ... WHERE");
    TRY(bind_options(b, node->options, node->n_options, stmt, err));
    if (node->relation != NULL) return copy_relation(b, node, stmt, err);
    assert(!node->is_from);
    if (!NODE_IS(node->query, SELECT_STMT)) return error_unsupported(err, 0, "COPY of a data-modifying statement");
    return bind_select(b, NULL, NULL, node->query->select_stmt, false, &stmt->plan, err);
}
