/*
 * column.c: a column's definition, in CREATE TABLE and ALTER TABLE ... ADD COLUMN.
 *
 * Its clauses are looked at in the order they are written; what contradicts an earlier one is an error at the later
 * one. serial is NOT NULL and has a default, as if both were written behind the others, nowhere. Keys, checks, foreign
 * keys and generation expressions are bound once all columns are known (ddl.c).
 */
#include "bind/bind_int.h"

tcudb_status bind_ddl_set_default(Binder *b, ColumnDef *col, const Node *node, Error *err)
{
    TRY(sql_expression_text(b->arena, node, b->env->cancel, &col->default_sql, err));
    Expr *e = NULL;
    ApplyList list = {0};
    Block block = {.place = PLACE_DEFAULT, .applies = &list};
    TRY(bind_expr(b, &block, node, &e, err)); /* errors at their place now, not at the first INSERT */
    TRY(bind_settle_sequence_names(b, &col->default_sql, err));
    const Func *cast = NULL;
    if (e->type.id != TYPE_UNKNOWN && !type_equal(e->type, col->type) &&
        func_cast(e->type, col->type, CAST_ASSIGNMENT, 0, &cast, NULL) != TCUDB_OK) {
        tcudb_status status = error_set(err, SQLSTATE_DATATYPE_MISMATCH,
                                        "column \"" STR_FMT "\" is of type %s but default expression is of type %s",
                                        STR_ARG(col->name), type_base_name(col->type), type_base_name(e->type));
        error_hint(err, "You will need to rewrite or cast the expression.");
        return status;
    }
    return bind_coerce(b, e, col->type, CAST_ASSIGNMENT, e->position, &e, err);
}

/* What the clauses so far have said. */
typedef struct Clauses {
    const char *table;
    Str column;
    bool null, not_null, has_default, identity, generated;
} Clauses;

static tcudb_status refuse(const Clauses *c, const char *what, int position, Error *err)
{
    return error_at(err, SQLSTATE_SYNTAX_ERROR, position, "%s for column \"" STR_FMT "\" of table \"%s\"", what,
                    STR_ARG(c->column), c->table);
}

/* What a clause says of its column, beside what the others say. */
static tcudb_status say(Clauses *c, PgQuery__ConstrType clause, int position, Error *err)
{
    bool null = clause == PG_QUERY__CONSTR_TYPE__CONSTR_NULL,
         identity = clause == PG_QUERY__CONSTR_TYPE__CONSTR_IDENTITY;
    bool is_default = clause == PG_QUERY__CONSTR_TYPE__CONSTR_DEFAULT;
    bool generated = clause == PG_QUERY__CONSTR_TYPE__CONSTR_GENERATED;
    bool not_null = clause == PG_QUERY__CONSTR_TYPE__CONSTR_NOTNULL || identity;
    if (c->has_default && is_default) return refuse(c, "multiple default values specified", position, err);
    if (c->identity && identity) return refuse(c, "multiple identity specifications", position, err);
    if (c->generated && generated) return refuse(c, "multiple generation clauses specified", position, err);
    c->null |= null;
    c->not_null |= not_null;
    c->has_default |= is_default;
    c->identity |= identity;
    c->generated |= generated;
    if (c->null && c->not_null) return refuse(c, "conflicting NULL/NOT NULL declarations", position, err);
    if (c->has_default && c->identity) return refuse(c, "both default and identity specified", position, err);
    if (c->has_default && c->generated)
        return refuse(c, "both default and generation expression specified", position, err);
    if (c->identity && c->generated)
        return refuse(c, "both identity and generation expression specified", position, err);
    return TCUDB_OK;
}

static tcudb_status column_clause(Binder *b, TableBuild *columns, ColumnDef *col, const PgQuery__Constraint *clause,
                                  Error *err)
{
    switch (clause->contype) {
    case PG_QUERY__CONSTR_TYPE__CONSTR_NULL:
    case PG_QUERY__CONSTR_TYPE__CONSTR_NOTNULL:
    case PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY:
    case PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE:
    case PG_QUERY__CONSTR_TYPE__CONSTR_CHECK:
    case PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN: return TCUDB_OK; /* once all columns are known */
    case PG_QUERY__CONSTR_TYPE__CONSTR_DEFAULT: return bind_ddl_set_default(b, col, clause->raw_expr, err);
    case PG_QUERY__CONSTR_TYPE__CONSTR_GENERATED: /* a sign for the others; the expression once all are known */
        bind_set_note(columns, NOTE_GENERATED, col->name, STR_LIT(""));
        return TCUDB_OK;
    case PG_QUERY__CONSTR_TYPE__CONSTR_IDENTITY: return bind_identity_column(b, columns, clause, col, err);
    default: return error_unsupported(err, bind_position(b, clause->location), "this constraint");
    }
}

static tcudb_status column_clauses(Binder *b, TableBuild *columns, ColumnDef *col, const PgQuery__ColumnDef *node,
                                   bool serial, Error *err)
{
    Clauses said = {.table = columns->table, .column = col->name};
    for (size_t i = 0; i < node->n_constraints; i++) {
        const PgQuery__Constraint *clause = node->constraints[i]->constraint;
        TRY(say(&said, clause->contype, bind_position(b, clause->location), err));
        TRY(column_clause(b, columns, col, clause, err));
    }
    col->not_null = said.not_null || serial || node->is_not_null;
    if (!serial) return TCUDB_OK;
    TRY(say(&said, PG_QUERY__CONSTR_TYPE__CONSTR_DEFAULT, 0, err));
    return say(&said, PG_QUERY__CONSTR_TYPE__CONSTR_NOTNULL, 0, err);
}

tcudb_status bind_ddl_define_column(Binder *b, TableBuild *columns, const PgQuery__ColumnDef *node, Error *err)
{
    int position = bind_position(b, node->location);
    ColumnDef *col = &columns->cols[columns->n];
    col->name = str_of(node->colname);
    for (uint32_t i = 0; i < columns->n; i++) {
        if (!str_equal(columns->cols[i].name, col->name)) continue;
        return error_set(err, SQLSTATE_DUPLICATE_COLUMN, "column \"%s\" specified more than once", node->colname);
    }
    if (node->coll_clause != NULL) return error_unsupported(err, position, "a column's COLLATE");
    bool serial = false;
    TRY(bind_serial_column(b, columns, node, col, &serial, err));
    if (!serial) TRY(bind_typename(b, node->type_name, &col->type, err));
    if (col->type.id == TYPE_INTERVAL || col->type.id == TYPE_UNKNOWN) {
        return error_unsupported(err, bind_position(b, node->type_name->location), "a column of type %s",
                                 type_base_name(col->type));
    }
    columns->n++;
    return column_clauses(b, columns, col, node, serial, err);
}
