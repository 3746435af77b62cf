/*
 * sequence.c: CREATE, ALTER SEQUENCE, serial and identity columns, and the functions over sequences.
 *
 * A sequence is a table of one row (last_value, log_cnt, is_called) whose definition has a note (catalog/notes.h).
 * Which one nextval('s') means is settled while binding, so its name must be written out; the statement lists the
 * sequences that it uses, and session/sequence.c reads and writes their rows. serial is integer NOT NULL DEFAULT
 * nextval('t_a_seq') with a sequence that goes when the column goes; an identity column is the same under another note.
 */
#include "bind/bind_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- options */

typedef struct Options {
    SequenceDef def;
    bool has_min, has_max, has_start, restart;
    int64_t restart_value;
    bool has_restart_value;
    const char *name; /* SEQUENCE NAME of an identity column; NULL: one is made */
} Options;

static void type_bounds(TypeId type, int64_t *min, int64_t *max)
{
    *min = type == TYPE_INT2 ? INT16_MIN : type == TYPE_INT4 ? INT32_MIN : INT64_MIN;
    *max = type == TYPE_INT2 ? INT16_MAX : type == TYPE_INT4 ? INT32_MAX : INT64_MAX;
}

static bool number_of(const Node *node, int64_t *out)
{
    if (NODE_IS(node, INTEGER)) *out = node->integer->ival;
    if (NODE_IS(node, FLOAT)) *out = strtoll(node->float_->fval, NULL, 10);
    return NODE_IS(node, INTEGER) || NODE_IS(node, FLOAT);
}

static tcudb_status type_option(Binder *b, const PgQuery__DefElem *option, Options *o, Error *err)
{
    Type type = {0};
    TRY(bind_typename(b, option->arg->type_name, &type, err));
    if (type.id != TYPE_INT2 && type.id != TYPE_INT4 && type.id != TYPE_INT8)
        return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "sequence type must be smallint, integer, or bigint");
    int64_t min = 0, max = 0;
    type_bounds(o->def.type, &min, &max); /* bounds that were the old type's become the new one's */
    if (o->has_min && o->def.min == min) o->has_min = false;
    if (o->has_max && o->def.max == max) o->has_max = false;
    o->def.type = (TypeId)type.id;
    return TCUDB_OK;
}

static tcudb_status read_option(Binder *b, const PgQuery__DefElem *option, Options *o, Error *err)
{
    const char *name = option->defname;
    int64_t n = 0;
    bool number = number_of(option->arg, &n);
    if (strcmp(name, "as") == 0) return type_option(b, option, o, err);
    if (strcmp(name, "increment") == 0 && number) {
        o->def.increment = n;
        if (n == 0) return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "INCREMENT must not be zero");
    } else if (strcmp(name, "minvalue") == 0) {
        o->has_min = number;
        if (number) o->def.min = n;
    } else if (strcmp(name, "maxvalue") == 0) {
        o->has_max = number;
        if (number) o->def.max = n;
    } else if (strcmp(name, "start") == 0 && number) {
        o->has_start = true;
        o->def.start = n;
    } else if (strcmp(name, "restart") == 0) {
        o->restart = true;
        o->has_restart_value = number;
        o->restart_value = n;
    } else if (strcmp(name, "cache") == 0 && number) {
        o->def.cache = n;
        if (n <= 0)
            return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "CACHE (%" PRId64 ") must be greater than zero", n);
    } else if (strcmp(name, "cycle") == 0) {
        o->def.cycle = !NODE_IS(option->arg, BOOLEAN) || option->arg->boolean->boolval;
    } else if (strcmp(name, "owned_by") == 0) {
        const PgQuery__List *owner = option->arg->list;
        if (owner->n_items != 1 || strcmp(sql_string(owner->items[0]), "none") != 0)
            return error_unsupported(err, 0, "OWNED BY together with other options");
    } else if (strcmp(name, "sequence_name") == 0) {
        const PgQuery__List *parts = option->arg->list;
        o->name = sql_last_name(parts->items, parts->n_items);
    } else {
        return error_unsupported(err, 0, "the sequence option \"%s\"", name);
    }
    return TCUDB_OK;
}

static tcudb_status check_bound(const char *what, int64_t value, const SequenceDef *def, bool least, Error *err)
{
    if (least ? value >= def->min : value <= def->max) return TCUDB_OK;
    return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "%s value (%" PRId64 ") cannot be %s than %s (%" PRId64 ")",
                     what, value, least ? "less" : "greater", least ? "MINVALUE" : "MAXVALUE",
                     least ? def->min : def->max);
}

static tcudb_status out_of_range(const char *what, int64_t value, TypeId type, Error *err)
{
    return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE,
                     "%s (%" PRId64 ") is out of range for sequence data type %s", what, value,
                     type_base_name(TYPE(type)));
}

static tcudb_status settle_options(Options *o, Error *err)
{
    SequenceDef *def = &o->def;
    int64_t min = 0, max = 0;
    type_bounds(def->type, &min, &max);
    bool up = def->increment > 0;
    if (!o->has_max) def->max = up ? max : -1;
    if (def->max < min || def->max > max) return out_of_range("MAXVALUE", def->max, def->type, err);
    if (!o->has_min) def->min = up ? 1 : min;
    if (def->min < min || def->min > max) return out_of_range("MINVALUE", def->min, def->type, err);
    if (def->min >= def->max)
        return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE,
                         "MINVALUE (%" PRId64 ") must be less than MAXVALUE (%" PRId64 ")", def->min, def->max);
    if (!o->has_start) def->start = up ? def->min : def->max;
    TRY(check_bound("START", def->start, def, true, err));
    TRY(check_bound("START", def->start, def, false, err));
    if (!o->restart) return TCUDB_OK;
    if (!o->has_restart_value) o->restart_value = def->start;
    TRY(check_bound("RESTART", o->restart_value, def, true, err));
    return check_bound("RESTART", o->restart_value, def, false, err);
}

static tcudb_status read_options(Binder *b, Node *const *options, size_t n, Options *o, Error *err)
{
    for (size_t i = 0; i < n; i++) TRY(read_option(b, options[i]->def_elem, o, err));
    return settle_options(o, err);
}

/* ---- definitions */

static tcudb_status sequence_table(Binder *b, Str name, const SequenceDef *def, TableDef *out, Error *err)
{
    static const ColumnDef cols[] = {
        {.name = STR_LIT("last_value"), .type = TYPE(TYPE_INT8), .not_null = true},
        {.name = STR_LIT("log_cnt"), .type = TYPE(TYPE_INT8), .not_null = true},
        {.name = STR_LIT("is_called"), .type = TYPE(TYPE_BOOL), .not_null = true},
    };
    NoteDef *note = ARENA_NEW(b->arena, NoteDef, err);
    TRY_PTR(note);
    const char *note_text = note_sequence_text(b->arena, def, err);
    TRY_PTR(note_text);
    *note = (NoteDef){.kind = STR_LIT(NOTE_SEQUENCE), .text = str_of(note_text)};
    *out = (TableDef){.name = name, .ncols = 3, .cols = cols, .nnotes = 1, .notes = note};
    return TCUDB_OK;
}

static const Options new_options = {.def = {.type = TYPE_INT8, .increment = 1, .cache = 1}};

tcudb_status bind_create_sequence(Binder *b, const PgQuery__CreateSeqStmt *node, Stmt *stmt, Error *err)
{
    TableTemp temp = TEMP_NONE;
    Options o = new_options;
    stmt->kind = STMT_CREATE_SEQUENCE;
    stmt->tag = "CREATE SEQUENCE";
    stmt->flag = node->if_not_exists;
    TRY(bind_ddl_target(b, node->sequence, PG_QUERY__ON_COMMIT_ACTION__ONCOMMIT_NOOP, 0, &stmt->name, &temp, err));
    TRY(read_options(b, node->options, node->n_options, &o, err));
    TRY(sequence_table(b, stmt->name, &o.def, &stmt->table, err));
    stmt->table.temp = temp;
    return TCUDB_OK;
}

static tcudb_status find_sequence(Binder *b, Str name, int position, const Table **out, SequenceDef *def, Error *err)
{
    *out = bind_find_table(b, name);
    bool index = *out == NULL && bind_table_of_index(b, name) != NULL;
    if (*out == NULL) return bind_no_relation(b, "", name, "not a sequence", index ? 0 : position, err);
    if (note_sequence(table_def(*out), def)) return TCUDB_OK;
    return error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "\"" STR_FMT "\" is not a sequence", STR_ARG(name));
}

/* ALTER SEQUENCE s OWNED BY t.c, alone: a note of the column, as serial columns have it. */
static tcudb_status own_sequence(Binder *b, const PgQuery__List *owner, Stmt *stmt, Error *err)
{
    const Table *table = NULL;
    uint32_t col = 0;
    if (owner->n_items < 2) {
        error_set(err, SQLSTATE_SYNTAX_ERROR, "invalid OWNED BY option");
        error_hint(err, "Specify OWNED BY table.column or OWNED BY NONE.");
        return TCUDB_ERROR;
    }
    Str name = str_of(sql_string(owner->items[owner->n_items - 2]));
    Str column = str_of(sql_string(owner->items[owner->n_items - 1]));
    table = bind_find_table(b, name);
    if (table == NULL)
        return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"" STR_FMT "\" does not exist", STR_ARG(name));
    TRY(bind_column_number(table_def(table), column, 0, &col, err));
    for (uint32_t t = 0; t < txn_table_count(b->env->txn); t++) {
        const TableDef *other = table_def(txn_table_at(b->env->txn, t));
        for (uint32_t i = 0; i < other->nnotes; i++) {
            const NoteDef *note = &other->notes[i];
            if (!note_is(note, NOTE_SERIAL) || !str_equal(note->text, stmt->name)) continue;
            if (str_equal(other->name, name) && str_equal(note->subject, column)) continue;
            return error_unsupported(err, 0, "OWNED BY of a sequence that another column owns");
        }
    }
    TableBuild t;
    TRY(bind_build_of(b, table_def(table), 0, 1, &t, err));
    bind_set_note(&t, NOTE_SERIAL, column, stmt->name);
    stmt->kind = STMT_NOTE;
    stmt->name = table_def(table)->name;
    stmt->table = bind_table_def(&t, stmt->name);
    return TCUDB_OK;
}

static bool only_owner(const PgQuery__AlterSeqStmt *node)
{
    if (node->n_options != 1 || strcmp(node->options[0]->def_elem->defname, "owned_by") != 0) return false;
    const PgQuery__List *owner = node->options[0]->def_elem->arg->list;
    return owner->n_items != 1 || strcmp(sql_string(owner->items[0]), "none") != 0;
}

/* RESTART, or another definition: both put a row in the place of the old one (plan.values: restart). */
tcudb_status bind_alter_sequence(Binder *b, const PgQuery__AlterSeqStmt *node, Stmt *stmt, Error *err)
{
    const Table *table = NULL;
    Options o = {.has_min = true, .has_max = true, .has_start = true};
    stmt->kind = STMT_ALTER_SEQUENCE;
    stmt->tag = "ALTER SEQUENCE";
    tcudb_status status = bind_relation_name(b, node->sequence, &stmt->name, err);
    stmt->flag =
        node->missing_ok && (status == TCUDB_OK ? bind_find_table(b, stmt->name) == NULL : bind_was_missing(err));
    if (stmt->flag) return TCUDB_OK;
    TRY(status);
    TRY(find_sequence(b, stmt->name, 0, &table, &o.def, err));
    if (only_owner(node)) return own_sequence(b, node->options[0]->def_elem->arg->list, stmt, err);
    TRY(read_options(b, node->options, node->n_options, &o, err));
    TRY(sequence_table(b, stmt->name, &o.def, &stmt->table, err));
    stmt->table.temp = table_def(table)->temp;
    stmt->restart = o.restart;
    stmt->restart_value = o.restart_value;
    return TCUDB_OK;
}

/* ---- columns */

static bool name_taken(Binder *b, const TableBuild *t, const char *name)
{
    for (uint32_t i = 0; i < t->nserials; i++)
        if (bind_name_is(t->serials[i].name, name)) return true;
    return names_taken(b->env->txn, str_of(name), t->temp != TEMP_NONE);
}

/* A sequence of the column's, which the statement makes, and the default that takes its numbers. */
static tcudb_status add_serial(Binder *b, TableBuild *t, ColumnDef *col, const Options *o, Error *err)
{
    const SequenceDef *def = &o->def;
    const char *made = o->name;
    if (made == NULL) made = arena_printf(b->arena, err, "%s_" STR_FMT "_seq", t->table, STR_ARG(col->name));
    TRY_PTR(made);
    const char *name = made;
    for (uint32_t n = 1; name_taken(b, t, name); n++) {
        if (o->name != NULL) return error_set(err, SQLSTATE_DUPLICATE_TABLE, "relation \"%s\" already exists", name);
        name = arena_printf(b->arena, err, "%s%u", made, n);
        TRY_PTR(name);
    }
    TRY_PTR(t->serials = ARENA_MORE(b->arena, t->serials, t->nserials, &t->cap_serials, err));
    TableDef *table = &t->serials[t->nserials++];
    TRY(sequence_table(b, str_of(name), def, table, err));
    table->temp = t->temp;
    b->new_sequences = t->serials;
    b->nnew_sequences = t->nserials;
    const char *quoted = NULL, *text;
    TRY(text_quoted_name(b->arena, str_of(name), &quoted, err));
    text = arena_printf(b->arena, err, "nextval('%s'::regclass)", quoted);
    TRY_PTR(text);
    col->default_sql = str_of(text);
    col->not_null = true;
    return TCUDB_OK;
}

static TypeId serial_type(const PgQuery__TypeName *node)
{
    static const struct {
        const char *name;
        TypeId type;
    } types[] = {{"serial", TYPE_INT4},  {"serial4", TYPE_INT4},     {"bigserial", TYPE_INT8},
                 {"serial8", TYPE_INT8}, {"smallserial", TYPE_INT2}, {"serial2", TYPE_INT2}};
    for (size_t i = 0; i < sizeof types / sizeof types[0] && node->n_names == 1 && node->n_array_bounds == 0; i++)
        if (strcmp(sql_string(node->names[0]), types[i].name) == 0) return types[i].type;
    return TYPE_NONE;
}

tcudb_status bind_serial_column(Binder *b, TableBuild *t, const PgQuery__ColumnDef *node, ColumnDef *col, bool *is,
                                Error *err)
{
    TypeId type = serial_type(node->type_name);
    *is = type != TYPE_NONE;
    if (!*is) return TCUDB_OK;
    Options o = new_options;
    o.def.type = type;
    col->type = TYPE(type);
    TRY(settle_options(&o, err));
    TRY(add_serial(b, t, col, &o, err));
    bind_set_note(t, NOTE_SERIAL, col->name, t->serials[t->nserials - 1].name);
    return TCUDB_OK;
}

tcudb_status bind_identity_type(Type type, Error *err)
{
    if (type.id == TYPE_INT2 || type.id == TYPE_INT4 || type.id == TYPE_INT8) return TCUDB_OK;
    return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE,
                     "identity column type must be smallint, integer, or bigint");
}

tcudb_status bind_identity_column(Binder *b, TableBuild *t, const PgQuery__Constraint *node, ColumnDef *col, Error *err)
{
    Options o = new_options;
    o.def.type = (TypeId)col->type.id;
    TRY(bind_identity_type(col->type, err));
    TRY(read_options(b, node->options, node->n_options, &o, err));
    TRY(add_serial(b, t, col, &o, err));
    bind_set_note(t, NOTE_IDENTITY, col->name, str_of(node->generated_when));
    bind_set_note(t, NOTE_SERIAL, col->name, t->serials[t->nserials - 1].name);
    return TCUDB_OK;
}

/* ---- functions */

static const char *written_name(const Node *node, int *location)
{
    while (NODE_IS(node, TYPE_CAST)) node = node->type_cast->arg;
    bool is =
        NODE_IS(node, A_CONST) && !node->a_const->isnull && node->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL;
    if (!is) return NULL;
    *location = node->a_const->location;
    return node->a_const->sval->sval;
}

bool bind_is_sequence_call(const PgQuery__FuncCall *call)
{
    const char *name = bind_func_name(call);
    if (strcmp(name, "nextval") == 0 || strcmp(name, "currval") == 0) return call->n_args == 1;
    if (strcmp(name, "setval") == 0) return call->n_args == 2 || call->n_args == 3;
    return strcmp(name, "lastval") == 0 && call->n_args == 0;
}

static bool is_new(const Binder *b, Str name)
{
    for (uint32_t i = 0; i < b->nnew_sequences; i++)
        if (str_equal(b->new_sequences[i].name, name)) return true;
    return false;
}

static tcudb_status use_sequence(Binder *b, Str name, Error *err)
{
    for (uint32_t i = 0; i < b->nsequences; i++)
        if (str_equal(b->sequences[i], name)) return TCUDB_OK;
    TRY_PTR(b->sequences = ARENA_MORE(b->arena, b->sequences, b->nsequences, &b->cap_sequences, err));
    b->sequences[b->nsequences++] = name;
    return TCUDB_OK;
}

static tcudb_status name_argument(Binder *b, const Node *node, const char *function, Expr **out, Error *err)
{
    int location = -1;
    const char *text = written_name(node, &location), *plain = NULL;
    const Table *table = NULL;
    SequenceDef def;
    if (text == NULL)
        return error_unsupported(err, bind_node_position(b, node), "%s of a name that is not written out", function);
    TRY(bind_plain_name(b, text, bind_position(b, location), &plain, err));
    Str name = str_of(plain);
    if (!is_new(b, name)) TRY(find_sequence(b, name, bind_position(b, location), &table, &def, err));
    TRY(use_sequence(b, name, err));
    *out = expr_const(b->arena, &(Value){.type = TYPE(TYPE_TEXT), .str = name}, 0, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

tcudb_status bind_sequence_call(Binder *b, Block *block, const PgQuery__FuncCall *call, Expr **out, Error *err)
{
    const char *name = bind_func_name(call);
    int position = bind_position(b, call->location);
    Expr *args[3];
    bool reads = strcmp(name, "currval") == 0 || strcmp(name, "lastval") == 0;
    b->advances = b->advances || !reads;
    b->asks_sequences = true;
    if (call->n_args > 0) TRY(name_argument(b, call->args[0], name, &args[0], err));
    for (size_t i = 1; i < call->n_args; i++) TRY(bind_expr(b, block, call->args[i], &args[i], err));
    return bind_call(b, FUNC_FUNCTION, name, args, (uint32_t)call->n_args, position, position, out, err);
}
