/*
 * schema.c: information_schema: tables, columns, views, table_constraints, key_column_usage; pg_catalog's pg_tables and
 * pg_views.
 *
 * Each is a VALUES node made from the definitions that the transaction sees, with PostgreSQL's columns; what we have
 * not (owners, domains, identity) is NULL or its only answer. There is one schema, public. The default of a column is
 * its own text; NOT NULL is not listed as a constraint. Cost: binding of all views for `columns`.
 */
#include "bind/bind_int.h"

#include <assert.h>

typedef struct Listing {
    Binder *b;
    const struct Relation *relation;
    Expr **cells;
    uint64_t nrows, cap;
    uint32_t at; /* next cell of the row */
} Listing;

typedef tcudb_status (*FillFn)(Listing *l, Error *err);

typedef struct Relation {
    const char *schema, *name;
    FillFn fill;
    const char *columns; /* separated by blanks; those that end in # are integers, in ? booleans */
    uint32_t ncols;
} Relation;

/* ---- cells */

static tcudb_status new_row(Listing *l, Error *err)
{
    uint32_t ncols = l->relation->ncols;
    assert(l->nrows == 0 || l->at == ncols);
    if (l->nrows == l->cap) {
        uint64_t cap = l->cap == 0 ? 16 : 2 * l->cap;
        Expr **cells = ARENA_ARRAY(l->b->arena, Expr *, cap * ncols, err);
        TRY_PTR(cells);
        if (l->nrows > 0) memcpy(cells, l->cells, l->nrows * ncols * sizeof *cells);
        l->cells = cells;
        l->cap = cap;
    }
    l->nrows++;
    l->at = 0;
    return TCUDB_OK;
}

static tcudb_status put(Listing *l, const Value *value, Error *err)
{
    Expr **cell = &l->cells[(l->nrows - 1) * l->relation->ncols + l->at++];
    *cell = expr_const(l->b->arena, value, 0, err);
    TRY_PTR(*cell);
    return TCUDB_OK;
}

static tcudb_status text(Listing *l, Str s, Error *err)
{
    return put(l, &(Value){.type = TYPE(TYPE_TEXT), .str = s}, err);
}

static tcudb_status word(Listing *l, const char *s, Error *err)
{
    return text(l, str_of(s), err);
}

static tcudb_status number(Listing *l, int64_t n, Error *err)
{
    return put(l, &(Value){.type = TYPE(TYPE_INT4), .i32 = (int32_t)n}, err);
}

static tcudb_status truth(Listing *l, bool yes, Error *err)
{
    return put(l, &(Value){.type = TYPE(TYPE_BOOL), .b = yes}, err);
}

static tcudb_status no_text(Listing *l, uint32_t n, Error *err)
{
    for (uint32_t i = 0; i < n; i++) TRY(put(l, &(Value){.type = TYPE(TYPE_TEXT), .null = true}, err));
    return TCUDB_OK;
}

static tcudb_status number_or_null(Listing *l, int64_t n, Error *err)
{
    return n < 0 ? put(l, &(Value){.type = TYPE(TYPE_INT4), .null = true}, err) : number(l, n, err);
}

/* catalog, schema, name */
static tcudb_status full_name(Listing *l, Str name, Error *err)
{
    TRY(word(l, "tcudb", err));
    TRY(word(l, "public", err));
    return text(l, name, err);
}

/* ---- tables, views */

static tcudb_status table_row(Listing *l, Str name, const char *kind, Error *err)
{
    TRY(new_row(l, err));
    TRY(full_name(l, name, err));
    TRY(word(l, kind, err));
    TRY(no_text(l, 5, err));
    TRY(word(l, strcmp(kind, "VIEW") == 0 ? "NO" : "YES", err));
    TRY(word(l, "NO", err));
    return no_text(l, 1, err);
}

static tcudb_status fill_tables(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t i = 0; i < txn_table_count(txn); i++)
        TRY(table_row(l, table_def(txn_table_at(txn, i))->name, "BASE TABLE", err));
    for (uint32_t i = 0; i < txn_view_count(txn); i++) TRY(table_row(l, txn_view_at(txn, i)->name, "VIEW", err));
    return TCUDB_OK;
}

static tcudb_status fill_views(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t i = 0; i < txn_view_count(txn); i++) {
        TRY(new_row(l, err));
        TRY(full_name(l, txn_view_at(txn, i)->name, err));
        TRY(text(l, txn_view_at(txn, i)->sql, err));
        TRY(word(l, "NONE", err));
        for (uint32_t k = 0; k < 5; k++) TRY(word(l, "NO", err));
    }
    return TCUDB_OK;
}

static tcudb_status fill_pg_tables(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t i = 0; i < txn_table_count(txn); i++) {
        const TableDef *def = table_def(txn_table_at(txn, i));
        TRY(new_row(l, err));
        TRY(word(l, "public", err));
        TRY(text(l, def->name, err));
        TRY(word(l, "tcudb", err));
        TRY(no_text(l, 1, err));
        TRY(truth(l, def->nkeys > 0, err));
        for (uint32_t k = 0; k < 3; k++) TRY(truth(l, false, err));
    }
    return TCUDB_OK;
}

static tcudb_status fill_pg_views(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t i = 0; i < txn_view_count(txn); i++) {
        TRY(new_row(l, err));
        TRY(word(l, "public", err));
        TRY(text(l, txn_view_at(txn, i)->name, err));
        TRY(word(l, "tcudb", err));
        TRY(text(l, txn_view_at(txn, i)->sql, err));
    }
    return TCUDB_OK;
}

/* ---- columns */

typedef struct TypeFacts {
    int64_t length, octets, precision, radix, scale, datetime; /* < 0: NULL */
    const char *udt;
} TypeFacts;

static TypeFacts type_facts(Type type)
{
    const int64_t no_limit = INT64_C(1) << 30;
    TypeFacts f = {-1, -1, -1, -1, -1, -1, type_base_name(type)};
    int64_t length = type.length == 0 ? -1 : (int64_t)type.length;
    switch (type.id) {
    case TYPE_INT2: f = (TypeFacts){-1, -1, 16, 2, 0, -1, "int2"}; break;
    case TYPE_INT4: f = (TypeFacts){-1, -1, 32, 2, 0, -1, "int4"}; break;
    case TYPE_INT8: f = (TypeFacts){-1, -1, 64, 2, 0, -1, "int8"}; break;
    case TYPE_FLOAT4: f = (TypeFacts){-1, -1, 24, 2, -1, -1, "float4"}; break;
    case TYPE_FLOAT8: f = (TypeFacts){-1, -1, 53, 2, -1, -1, "float8"}; break;
    case TYPE_NUMERIC:
        f = (TypeFacts){
            -1, -1,       type.precision == 0 ? -1 : type.precision, 10, type.precision == 0 ? -1 : type.scale,
            -1, "numeric"};
        break;
    case TYPE_TEXT: f = (TypeFacts){-1, no_limit, -1, -1, -1, -1, "text"}; break;
    case TYPE_VARCHAR: f = (TypeFacts){length, length < 0 ? no_limit : 4 * length, -1, -1, -1, -1, "varchar"}; break;
    case TYPE_BPCHAR: f = (TypeFacts){length, length < 0 ? no_limit : 4 * length, -1, -1, -1, -1, "bpchar"}; break;
    case TYPE_DATE: f.datetime = 0; break;
    case TYPE_TIMESTAMP: f.datetime = type.precision > 0 ? type.precision - 1 : 6, f.udt = "timestamp"; break;
    case TYPE_BOOL: f.udt = "bool"; break;
    default: break;
    }
    return f;
}

static tcudb_status column_row(Listing *l, Str table, Str name, uint32_t i, Type type, bool not_null, Str initial,
                               bool view, Error *err)
{
    TypeFacts f = type_facts(type);
    TRY(new_row(l, err));
    TRY(full_name(l, table, err));
    TRY(text(l, name, err));
    TRY(number(l, i + 1, err));
    TRY(initial.len > 0 ? text(l, initial, err) : no_text(l, 1, err));
    TRY(word(l, not_null ? "NO" : "YES", err));
    TRY(word(l, type_base_name(type), err));
    const int64_t numbers[] = {f.length, f.octets, f.precision, f.radix, f.scale, f.datetime};
    for (uint32_t k = 0; k < 6; k++) TRY(number_or_null(l, numbers[k], err));
    TRY(no_text(l, 1, err)); /* interval_type */
    TRY(number_or_null(l, -1, err));
    TRY(no_text(l, 9, err)); /* character set, collation, domain */
    TRY(word(l, "tcudb", err));
    TRY(word(l, "pg_catalog", err));
    TRY(word(l, f.udt, err));
    TRY(no_text(l, 3, err)); /* scope */
    TRY(number_or_null(l, -1, err));
    const char *position = arena_printf(l->b->arena, err, "%u", i + 1);
    TRY_PTR(position);
    TRY(word(l, position, err));
    TRY(word(l, "NO", err)); /* is_self_referencing, is_identity */
    TRY(word(l, "NO", err));
    TRY(no_text(l, 5, err));
    TRY(word(l, "NO", err));
    TRY(word(l, "NEVER", err));
    TRY(no_text(l, 1, err));
    return word(l, view ? "NO" : "YES", err);
}

/* A view that no longer binds has no columns. */
static tcudb_status view_columns(Listing *l, const ViewDef *view, Error *err)
{
    Plan *plan = NULL;
    Error local = {0};
    tcudb_status status = bind_view(l->b, view, 0, &plan, &local);
    if (status == TCUDB_ERROR) return TCUDB_OK;
    if (status != TCUDB_OK) {
        if (err != NULL) *err = local;
        return status;
    }
    for (uint32_t i = 0; i < view->ncols; i++)
        TRY(column_row(l, view->name, view->cols[i], i, plan->cols[i].type, false, (Str){0}, true, err));
    return TCUDB_OK;
}

static tcudb_status fill_columns(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        for (uint32_t i = 0; i < def->ncols; i++) {
            const ColumnDef *col = &def->cols[i];
            TRY(column_row(l, def->name, col->name, i, col->type, col->not_null, col->default_sql, false, err));
        }
    }
    for (uint32_t v = 0; v < txn_view_count(txn); v++) TRY(view_columns(l, txn_view_at(txn, v), err));
    return TCUDB_OK;
}

/* ---- constraints */

static tcudb_status constraint_row(Listing *l, const TableDef *def, Str name, const char *kind, Error *err)
{
    TRY(new_row(l, err));
    TRY(full_name(l, name, err));
    TRY(full_name(l, def->name, err));
    TRY(word(l, kind, err));
    TRY(word(l, "NO", err));
    TRY(word(l, "NO", err));
    TRY(word(l, "YES", err));
    return strcmp(kind, "UNIQUE") == 0 ? word(l, "YES", err) : no_text(l, 1, err);
}

static tcudb_status fill_constraints(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        for (uint32_t i = 0; i < def->nkeys; i++)
            TRY(constraint_row(l, def, def->keys[i].name, def->keys[i].primary ? "PRIMARY KEY" : "UNIQUE", err));
        for (uint32_t i = 0; i < def->nchecks; i++) TRY(constraint_row(l, def, def->checks[i].name, "CHECK", err));
    }
    return TCUDB_OK;
}

static tcudb_status key_rows(Listing *l, const TableDef *def, const KeyDef *key, Error *err)
{
    for (uint32_t c = 0; c < key->ncols; c++) {
        TRY(new_row(l, err));
        TRY(full_name(l, key->name, err));
        TRY(full_name(l, def->name, err));
        TRY(text(l, def->cols[key->cols[c]].name, err));
        TRY(number(l, c + 1, err));
        TRY(number_or_null(l, -1, err));
    }
    return TCUDB_OK;
}

static tcudb_status fill_key_columns(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        for (uint32_t i = 0; i < def->nkeys; i++) TRY(key_rows(l, def, &def->keys[i], err));
    }
    return TCUDB_OK;
}

/* ---- relations */

static const Relation relations[] = {
    {"information_schema", "tables", fill_tables,
     "table_catalog table_schema table_name table_type self_referencing_column_name reference_generation "
     "user_defined_type_catalog user_defined_type_schema user_defined_type_name is_insertable_into is_typed "
     "commit_action",
     12},
    {"information_schema", "views", fill_views,
     "table_catalog table_schema table_name view_definition check_option is_updatable is_insertable_into "
     "is_trigger_updatable is_trigger_deletable is_trigger_insertable_into",
     10},
    {"information_schema", "columns", fill_columns,
     "table_catalog table_schema table_name column_name ordinal_position# column_default is_nullable data_type "
     "character_maximum_length# character_octet_length# numeric_precision# numeric_precision_radix# numeric_scale# "
     "datetime_precision# interval_type interval_precision# character_set_catalog character_set_schema "
     "character_set_name collation_catalog collation_schema collation_name domain_catalog domain_schema domain_name "
     "udt_catalog udt_schema udt_name scope_catalog scope_schema scope_name maximum_cardinality# dtd_identifier "
     "is_self_referencing is_identity identity_generation identity_start identity_increment identity_maximum "
     "identity_minimum identity_cycle is_generated generation_expression is_updatable",
     44},
    {"information_schema", "table_constraints", fill_constraints,
     "constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name constraint_type "
     "is_deferrable initially_deferred enforced nulls_distinct",
     11},
    {"information_schema", "key_column_usage", fill_key_columns,
     "constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name column_name "
     "ordinal_position# position_in_unique_constraint#",
     9},
    {"pg_catalog", "pg_tables", fill_pg_tables,
     "schemaname tablename tableowner tablespace hasindexes? hasrules? hastriggers? rowsecurity?", 8},
    {"pg_catalog", "pg_views", fill_pg_views, "schemaname viewname viewowner definition", 4},
};

static tcudb_status name_columns(const Relation *relation, Binder *b, Plan *plan, Error *err)
{
    const char *at = relation->columns;
    for (uint32_t i = 0; i < relation->ncols; i++) {
        size_t n = strcspn(at, " ");
        char last = at[n - 1];
        Type type = TYPE(last == '#' ? TYPE_INT4 : last == '?' ? TYPE_BOOL : TYPE_TEXT);
        char *name = arena_strndup(b->arena, at, n - (type.id != TYPE_TEXT), err);
        TRY_PTR(name);
        plan->cols[i] = bind_new_col(b, type, name);
        at += n + (at[n] == ' ');
    }
    assert(*at == '\0');
    return TCUDB_OK;
}

/* pg_catalog's are found without their schema, too, unless a table of the user's has the name. */
tcudb_status bind_schema_relation(Binder *b, const PgQuery__RangeVar *range, Plan **out, Error *err)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof relations / sizeof relations[0]; i++) {
        const Relation *relation = &relations[i];
        const char *schema = range->schemaname[0] == '\0' ? "pg_catalog" : range->schemaname;
        if (strcmp(relation->schema, schema) != 0 || strcmp(relation->name, range->relname) != 0) continue;
        Listing l = {.b = b, .relation = relation};
        TRY(relation->fill(&l, err));
        Plan *plan = plan_new(b->arena, PLAN_VALUES, 0, relation->ncols, err);
        TRY_PTR(plan);
        plan->values.nrows = l.nrows;
        plan->values.rows_exprs = l.cells;
        TRY(name_columns(relation, b, plan, err));
        *out = plan;
    }
    return TCUDB_OK;
}
