/*
 * schema.c: what SQL shows of the definitions that the transaction sees: information_schema's tables, columns, views,
 * table_constraints, key_column_usage, constraint_column_usage, pg_catalog's pg_tables and pg_views.
 *
 * Each is a VALUES node (listing.c) with PostgreSQL's columns; what we have not (owners, domains) is NULL or its only
 * answer. There is one schema, public. The default of a column is its own text; NOT NULL is not listed as a
 * constraint. Cost: binding of all views for `columns`. Relations that are queries over others are in system.def.
 */
#include "bind/listing.h"
#include "catalog/reference.h"

static tcudb_status number_or_null(Listing *l, int64_t n, Error *err)
{
    return n < 0 ? bind_list_null(l, TYPE_INT4, 1, err) : bind_list_int(l, TYPE_INT4, n, err);
}

/* catalog, schema, name */
static tcudb_status name_in(Listing *l, bool temp, Str name, Error *err)
{
    TRY(bind_list_word(l, "tcudb", err));
    TRY(bind_list_word(l, temp ? "pg_temp_1" : "public", err));
    return bind_list_text(l, name, err);
}

static tcudb_status full_name(Listing *l, Str name, Error *err)
{
    return name_in(l, false, name, err);
}

/* What information_schema lists as tables: no sequences, nothing of our own. */
static bool is_shown(const TableDef *def)
{
    SequenceDef sequence;
    return !bind_hidden(def->name) && !note_sequence(def, &sequence);
}

static bool is_temp(const TableDef *def)
{
    return def->temp != TEMP_NONE;
}

/* ---- tables, views */

static tcudb_status table_row(Listing *l, bool temp, Str name, const char *kind, Error *err)
{
    TRY(bind_list_row(l, err));
    TRY(name_in(l, temp, name, err));
    TRY(bind_list_word(l, kind, err));
    TRY(bind_list_null(l, TYPE_TEXT, 5, err));
    TRY(bind_list_word(l, strcmp(kind, "VIEW") == 0 ? "NO" : "YES", err));
    TRY(bind_list_word(l, "NO", err));
    return temp ? bind_list_word(l, "PRESERVE", err) : bind_list_null(l, TYPE_TEXT, 1, err);
}

static tcudb_status fill_tables(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t i = 0; i < txn_table_count(txn); i++) {
        const TableDef *def = table_def(txn_table_at(txn, i));
        if (is_shown(def))
            TRY(table_row(l, is_temp(def), def->name, is_temp(def) ? "LOCAL TEMPORARY" : "BASE TABLE", err));
    }
    for (uint32_t i = 0; i < txn_view_count(txn); i++) TRY(table_row(l, false, txn_view_at(txn, i)->name, "VIEW", err));
    return TCUDB_OK;
}

static tcudb_status fill_views(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t i = 0; i < txn_view_count(txn); i++) {
        TRY(bind_list_row(l, err));
        TRY(full_name(l, txn_view_at(txn, i)->name, err));
        TRY(bind_list_text(l, txn_view_at(txn, i)->sql, err));
        TRY(bind_list_word(l, "NONE", err));
        for (uint32_t k = 0; k < 5; k++) TRY(bind_list_word(l, "NO", err));
    }
    return TCUDB_OK;
}

static tcudb_status fill_pg_tables(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t i = 0; i < txn_table_count(txn); i++) {
        const TableDef *def = table_def(txn_table_at(txn, i));
        if (!is_shown(def)) continue;
        TRY(bind_list_row(l, err));
        TRY(bind_list_word(l, is_temp(def) ? "pg_temp_1" : "public", err));
        TRY(bind_list_text(l, def->name, err));
        TRY(bind_list_word(l, "tcudb", err));
        TRY(bind_list_null(l, TYPE_TEXT, 1, err));
        TRY(bind_list_bool(l, def->nkeys > 0, err));
        for (uint32_t k = 0; k < 3; k++) TRY(bind_list_bool(l, false, err));
    }
    return TCUDB_OK;
}

static tcudb_status fill_pg_views(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t i = 0; i < txn_view_count(txn); i++) {
        TRY(bind_list_row(l, err));
        TRY(bind_list_word(l, "public", err));
        TRY(bind_list_text(l, txn_view_at(txn, i)->name, err));
        TRY(bind_list_word(l, "tcudb", err));
        TRY(bind_list_text(l, txn_view_at(txn, i)->sql, err));
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

static tcudb_status number_text(Listing *l, int64_t n, Error *err)
{
    const char *text = arena_printf(l->b->arena, err, "%lld", (long long)n);
    TRY_PTR(text);
    return bind_list_word(l, text, err);
}

/* is_identity, generation, start, increment, maximum, minimum, cycle */
static tcudb_status identity_cells(Listing *l, const TableDef *def, Str column, Error *err)
{
    Str kind = def == NULL ? (Str){0} : note_find(def, NOTE_IDENTITY, column);
    const Table *table = kind.ptr == NULL ? NULL : txn_table(l->b->env->txn, note_find(def, NOTE_SERIAL, column));
    SequenceDef sequence;
    if (table == NULL || !note_sequence(table_def(table), &sequence)) {
        TRY(bind_list_word(l, "NO", err));
        TRY(bind_list_null(l, TYPE_TEXT, 5, err));
        return bind_list_word(l, "NO", err);
    }
    TRY(bind_list_word(l, "YES", err));
    TRY(bind_list_word(l, str_equal(kind, STR_LIT("a")) ? "ALWAYS" : "BY DEFAULT", err));
    TRY(number_text(l, sequence.start, err));
    TRY(number_text(l, sequence.increment, err));
    TRY(number_text(l, sequence.max, err));
    TRY(number_text(l, sequence.min, err));
    return bind_list_word(l, sequence.cycle ? "YES" : "NO", err);
}

/* is_generated, generation_expression */
static tcudb_status generated_cells(Listing *l, const TableDef *def, Str column, Error *err)
{
    Str text = def == NULL ? (Str){0} : note_find(def, NOTE_GENERATED, column);
    TRY(bind_list_word(l, text.ptr == NULL ? "NEVER" : "ALWAYS", err));
    return text.ptr == NULL ? bind_list_null(l, TYPE_TEXT, 1, err) : bind_list_text(l, text, err);
}

/* def NULL: of a view */
static tcudb_status column_row(Listing *l, const TableDef *def, Str table, Str name, uint32_t i, Type type,
                               bool not_null, Str initial, Error *err)
{
    TypeFacts f = type_facts(type);
    if (def != NULL && note_find(def, NOTE_IDENTITY, name).ptr != NULL) initial = (Str){0};
    TRY(bind_list_row(l, err));
    TRY(name_in(l, def != NULL && is_temp(def), table, err));
    TRY(bind_list_text(l, name, err));
    TRY(bind_list_int(l, TYPE_INT4, i + 1, err));
    TRY(initial.len > 0 ? bind_list_text(l, initial, err) : bind_list_null(l, TYPE_TEXT, 1, err));
    TRY(bind_list_word(l, not_null ? "NO" : "YES", err));
    TRY(bind_list_word(l, type_base_name(type), err));
    const int64_t numbers[] = {f.length, f.octets, f.precision, f.radix, f.scale, f.datetime};
    for (uint32_t k = 0; k < 6; k++) TRY(number_or_null(l, numbers[k], err));
    TRY(bind_list_null(l, TYPE_TEXT, 1, err)); /* interval_type */
    TRY(number_or_null(l, -1, err));
    TRY(bind_list_null(l, TYPE_TEXT, 9, err)); /* character set, collation, domain */
    TRY(bind_list_word(l, "tcudb", err));
    TRY(bind_list_word(l, "pg_catalog", err));
    TRY(bind_list_word(l, f.udt, err));
    TRY(bind_list_null(l, TYPE_TEXT, 3, err)); /* scope */
    TRY(number_or_null(l, -1, err));
    TRY(number_text(l, i + 1, err));
    TRY(bind_list_word(l, "NO", err)); /* is_self_referencing */
    TRY(identity_cells(l, def, name, err));
    TRY(generated_cells(l, def, name, err));
    return bind_list_word(l, def == NULL ? "NO" : "YES", err);
}

static tcudb_status view_columns(Listing *l, const ViewDef *view, Error *err)
{
    Plan *plan = NULL;
    TRY(bind_view_or_none(l->b, view, &plan, err));
    for (uint32_t i = 0; plan != NULL && i < view->ncols; i++)
        TRY(column_row(l, NULL, view->name, view->cols[i], i, plan->cols[i].type, false, (Str){0}, err));
    return TCUDB_OK;
}

static tcudb_status fill_columns(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        for (uint32_t i = 0; i < def->ncols && is_shown(def); i++) {
            const ColumnDef *col = &def->cols[i];
            TRY(column_row(l, def, def->name, col->name, i, col->type, col->not_null, col->default_sql, err));
        }
    }
    for (uint32_t v = 0; v < txn_view_count(txn); v++) TRY(view_columns(l, txn_view_at(txn, v), err));
    return TCUDB_OK;
}

/* ---- constraints */

static tcudb_status constraint_row(Listing *l, const TableDef *def, Str name, const char *kind, Error *err)
{
    TRY(bind_list_row(l, err));
    TRY(name_in(l, is_temp(def), name, err));
    TRY(name_in(l, is_temp(def), def->name, err));
    TRY(bind_list_word(l, kind, err));
    TRY(bind_list_word(l, "NO", err));
    TRY(bind_list_word(l, "NO", err));
    TRY(bind_list_word(l, "YES", err));
    return strcmp(kind, "UNIQUE") == 0 ? bind_list_word(l, "YES", err) : bind_list_null(l, TYPE_TEXT, 1, err);
}

static tcudb_status fill_constraints(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        for (uint32_t i = 0; i < def->nkeys; i++)
            if (!note_only_index(def, &def->keys[i]))
                TRY(constraint_row(l, def, def->keys[i].name, def->keys[i].primary ? "PRIMARY KEY" : "UNIQUE", err));
        for (uint32_t i = 0; i < def->nchecks; i++) TRY(constraint_row(l, def, def->checks[i].name, "CHECK", err));
        Reference *list;
        uint32_t n;
        TRY(reference_list(l->b->arena, def, &list, &n, err));
        for (uint32_t i = 0; i < n; i++) TRY(constraint_row(l, def, list[i].name, "FOREIGN KEY", err));
    }
    return TCUDB_OK;
}

static tcudb_status key_rows(Listing *l, const TableDef *def, const KeyDef *key, Error *err)
{
    for (uint32_t c = 0; c < key->ncols; c++) {
        TRY(bind_list_row(l, err));
        TRY(name_in(l, is_temp(def), key->name, err));
        TRY(name_in(l, is_temp(def), def->name, err));
        TRY(bind_list_text(l, def->cols[key->cols[c]].name, err));
        TRY(bind_list_int(l, TYPE_INT4, c + 1, err));
        TRY(number_or_null(l, -1, err));
    }
    return TCUDB_OK;
}

/* Where each column stands in the key that is referred to. */
static tcudb_status reference_rows(Listing *l, const TableDef *def, const Reference *r, Error *err)
{
    const Table *table = txn_permanent_table(l->b->env->txn, r->table);
    const TableDef *to = table == NULL ? def : table_def(table);
    for (uint32_t c = 0; c < r->n; c++) {
        int64_t at = -1;
        for (uint32_t k = 0; k < to->nkeys; k++)
            for (uint32_t i = 0; at < 0 && to->keys[k].ncols == r->n && i < r->n; i++)
                if (str_equal(to->cols[to->keys[k].cols[i]].name, r->keys[c])) at = i + 1;
        TRY(bind_list_row(l, err));
        TRY(full_name(l, r->name, err));
        TRY(full_name(l, def->name, err));
        TRY(bind_list_text(l, r->cols[c], err));
        TRY(bind_list_int(l, TYPE_INT4, c + 1, err));
        TRY(number_or_null(l, at, err));
    }
    return TCUDB_OK;
}

static tcudb_status fill_key_columns(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        for (uint32_t i = 0; i < def->nkeys; i++)
            if (!note_only_index(def, &def->keys[i])) TRY(key_rows(l, def, &def->keys[i], err));
        Reference *list;
        uint32_t n;
        TRY(reference_list(l->b->arena, def, &list, &n, err));
        for (uint32_t i = 0; i < n; i++) TRY(reference_rows(l, def, &list[i], err));
    }
    return TCUDB_OK;
}

/* ---- columns that constraints use: of foreign keys those that they refer to */

static tcudb_status usage_row(Listing *l, Str table, Str column, const TableDef *def, Str constraint, Error *err)
{
    TRY(bind_list_row(l, err));
    TRY(name_in(l, is_temp(def), table, err));
    TRY(bind_list_text(l, column, err));
    return name_in(l, is_temp(def), constraint, err);
}

static tcudb_status usage_of_references(Listing *l, const TableDef *def, Error *err)
{
    Reference *list;
    uint32_t n;
    TRY(reference_list(l->b->arena, def, &list, &n, err));
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t c = 0; c < list[i].n; c++)
            TRY(usage_row(l, list[i].table, list[i].keys[c], def, list[i].name, err));
    return TCUDB_OK;
}

static tcudb_status fill_column_usage(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        for (uint32_t i = 0; i < def->nkeys; i++)
            for (uint32_t c = 0; c < def->keys[i].ncols && !note_only_index(def, &def->keys[i]); c++)
                TRY(usage_row(l, def->name, def->cols[def->keys[i].cols[c]].name, def, def->keys[i].name, err));
        TRY(usage_of_references(l, def, err));
    }
    return TCUDB_OK;
}

/* ---- relations */

static const Listed relations[] = {
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
    {"information_schema", "constraint_column_usage", fill_column_usage,
     "table_catalog table_schema table_name column_name constraint_catalog constraint_schema constraint_name", 7},
    {"pg_catalog", "pg_tables", fill_pg_tables,
     "schemaname tablename tableowner tablespace hasindexes? hasrules? hastriggers? rowsecurity?", 8},
    {"pg_catalog", "pg_views", fill_pg_views, "schemaname viewname viewowner definition", 4},
};

const Listed *bind_schema_listed(uint32_t i)
{
    return i < sizeof relations / sizeof relations[0] ? &relations[i] : NULL;
}
