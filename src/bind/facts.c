/*
 * facts.c: the facts that pg_catalog's relations are made of: relations, attributes, keys, checks, settings.
 *
 * They stand in a schema of their own, " system", for the queries of system.def. An oid is the number of a table or
 * view in the store, past 16384; what belongs to a table (keys, their indexes, checks, defaults) takes numbers from a
 * block of the table's own, far above them. Arrays are their text: indkey is '1 2', conkey '{1,2}'.
 */
#include "bind/listing.h"
#include "catalog/reference.h"

#include <assert.h>

enum { FIRST_OID = 16384, BLOCK_OIDS = 4096 };
static const int64_t blocks_oid = INT64_C(1) << 32;

/* Temporary tables are numbered in a database of their own, from 2^62. */
static int64_t number_of(const TableDef *def)
{
    return (int64_t)(def->id & ((UINT64_C(1) << 40) - 1)) + (def->temp == TEMP_NONE ? 0 : INT64_C(1) << 40);
}

static int64_t table_oid(const TableDef *def)
{
    return FIRST_OID + number_of(def);
}

/* Of the i-th constraint of a table, keys before checks before notes; its index comes BLOCK_OIDS / 2 later. The kinds
 * of PostgreSQL are joined by U and I, of indexes that are no constraints: unique, and not. */
static int64_t constraint_oid(const TableDef *def, uint32_t i)
{
    return blocks_oid + number_of(def) * BLOCK_OIDS + i;
}

static int64_t note_oid(const TableDef *def, uint32_t i)
{
    return constraint_oid(def, def->nkeys + def->nchecks + i);
}

/* ---- indexes that are not unique: notes with the names of their columns, byte 1 between them, "" an expression */

static bool is_plain_index(const TableDef *def, const NoteDef *note)
{
    if (!note_is(note, NOTE_INDEX)) return false;
    for (uint32_t k = 0; k < def->nkeys; k++)
        if (str_equal(def->keys[k].name, note->subject)) return false;
    return true;
}

static bool has_index(const TableDef *def)
{
    for (uint32_t i = 0; i < def->nnotes; i++)
        if (note_is(&def->notes[i], NOTE_INDEX)) return true;
    return def->nkeys > 0;
}

/* How many there are; names may be NULL. */
static uint32_t index_columns(const NoteDef *note, Str *names)
{
    const char *at = note->text.ptr, *end = at + note->text.len;
    for (uint32_t n = 0;; n++) {
        const char *stop = memchr(at, '\1', (size_t)(end - at));
        if (stop == NULL) stop = end;
        if (names != NULL) names[n] = (Str){at, (uint32_t)(stop - at)};
        if (stop == end) return n + 1;
        at = stop + 1;
    }
}

static tcudb_status put_oid(Listing *l, int64_t oid, Error *err)
{
    return bind_list_int(l, TYPE_INT8, oid, err);
}

/* ---- relations: oid^ name kind persistence natts% rows^ keys? checks% definition */

static tcudb_status relation_row(Listing *l, int64_t oid, Str name, const char *kind, bool temp, uint32_t natts,
                                 uint64_t rows, bool keys, uint32_t checks, Error *err)
{
    TRY(bind_list_row(l, err));
    TRY(put_oid(l, oid, err));
    TRY(bind_list_text(l, name, err));
    TRY(bind_list_word(l, kind, err));
    TRY(bind_list_word(l, temp ? "t" : "p", err));
    TRY(bind_list_int(l, TYPE_INT2, natts, err));
    TRY(bind_list_int(l, TYPE_INT8, (int64_t)rows, err));
    TRY(bind_list_bool(l, keys, err));
    return bind_list_int(l, TYPE_INT2, checks, err);
}

static tcudb_status table_rows_of(Listing *l, const Table *table, Error *err)
{
    const TableDef *def = table_def(table);
    bool temp = def->temp != TEMP_NONE;
    SequenceDef sequence;
    bool is_sequence = note_sequence(def, &sequence);
    if (bind_hidden(def->name)) return TCUDB_OK;
    TRY(relation_row(l, table_oid(def), def->name, is_sequence ? "S" : "r", temp, def->ncols, table_rows(table),
                     has_index(def), def->nchecks, err));
    TRY(bind_list_null(l, TYPE_TEXT, 1, err));
    for (uint32_t i = 0; i < def->nkeys; i++) {
        TRY(relation_row(l, constraint_oid(def, i) + BLOCK_OIDS / 2, def->keys[i].name, "i", temp, def->keys[i].ncols,
                         table_rows(table), false, 0, err));
        TRY(bind_list_null(l, TYPE_TEXT, 1, err));
    }
    for (uint32_t i = 0; i < def->nnotes; i++) {
        if (!is_plain_index(def, &def->notes[i])) continue;
        TRY(relation_row(l, note_oid(def, i) + BLOCK_OIDS / 2, def->notes[i].subject, "i", temp,
                         index_columns(&def->notes[i], NULL), table_rows(table), false, 0, err));
        TRY(bind_list_null(l, TYPE_TEXT, 1, err));
    }
    return TCUDB_OK;
}

static tcudb_status fill_relations(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) TRY(table_rows_of(l, txn_table_at(txn, t), err));
    for (uint32_t v = 0; v < txn_view_count(txn); v++) {
        const ViewDef *view = txn_view_at(txn, v);
        TRY(relation_row(l, FIRST_OID + (int64_t)view->id, view->name, "v", false, view->ncols, 0, false, 0, err));
        TRY(bind_list_text(l, view->sql, err));
    }
    return TCUDB_OK;
}

/* ---- attributes: relid^ name num% type^ mod# not_null? initial identity generated sequence */

static tcudb_status text_or_null(Listing *l, Str text, Error *err)
{
    return text.len > 0 ? bind_list_text(l, text, err) : bind_list_null(l, TYPE_TEXT, 1, err);
}

/* def NULL: of a view */
static tcudb_status attribute_row(Listing *l, const TableDef *def, int64_t relation, Str name, uint32_t num, Type type,
                                  bool not_null, Str initial, Error *err)
{
    Str identity = def == NULL ? (Str){0} : note_find(def, NOTE_IDENTITY, name);
    Str generated = def == NULL ? (Str){0} : note_find(def, NOTE_GENERATED, name);
    if (identity.len > 0) initial = (Str){0};
    if (generated.len > 0) initial = generated;
    TRY(bind_list_row(l, err));
    TRY(put_oid(l, relation, err));
    TRY(bind_list_text(l, name, err));
    TRY(bind_list_int(l, TYPE_INT2, num, err));
    TRY(put_oid(l, type_oid(type), err));
    TRY(bind_list_int(l, TYPE_INT4, type_typmod(type), err));
    TRY(bind_list_bool(l, not_null, err));
    TRY(text_or_null(l, initial, err));
    TRY(bind_list_text(l, identity, err));
    TRY(bind_list_word(l, generated.len > 0 ? "s" : "", err));
    return text_or_null(l, def == NULL ? (Str){0} : note_find(def, NOTE_SERIAL, name), err);
}

/* A view that no longer binds has none. */
static tcudb_status view_attributes(Listing *l, const ViewDef *view, Error *err)
{
    Plan *plan = NULL;
    TRY(bind_view_or_none(l->b, view, &plan, err));
    for (uint32_t i = 0; plan != NULL && i < view->ncols; i++)
        TRY(attribute_row(l, NULL, FIRST_OID + (int64_t)view->id, view->cols[i], i + 1, plan->cols[i].type, false,
                          (Str){0}, err));
    return TCUDB_OK;
}

static tcudb_status fill_attributes(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        for (uint32_t i = 0; i < def->ncols && !bind_hidden(def->name); i++)
            TRY(attribute_row(l, def, table_oid(def), def->cols[i].name, i + 1, def->cols[i].type,
                              def->cols[i].not_null, def->cols[i].default_sql, err));
    }
    for (uint32_t v = 0; v < txn_view_count(txn); v++) TRY(view_attributes(l, txn_view_at(txn, v), err));
    return TCUDB_OK;
}

static uint32_t column_named(const TableDef *def, Str name)
{
    for (uint32_t i = 0; i < def->ncols; i++)
        if (str_equal(def->cols[i].name, name)) return i + 1;
    return 0;
}

/* ---- constraints: relid^ relation oid^ name kind index^ cols natts% definition
 *                   refid^ refcols on_update on_delete match: of foreign keys, whose index is the key's they refer to
 */

static tcudb_status key_text(const TableDef *def, const KeyDef *key, Buf *cols, Buf *names, Error *err)
{
    for (uint32_t i = 0; i < key->ncols; i++) {
        TRY(buf_printf(cols, err, "%s%u", i == 0 ? "" : " ", key->cols[i] + 1));
        TRY(buf_printf(names, err, "%s", i == 0 ? "" : ", "));
        TRY(text_quote_name(def->cols[key->cols[i]].name, names, err));
    }
    return TCUDB_OK;
}

static tcudb_status constraint_row(Listing *l, const TableDef *def, uint32_t i, Str name, const char *kind, Error *err)
{
    TRY(bind_list_row(l, err));
    TRY(put_oid(l, table_oid(def), err));
    TRY(bind_list_text(l, def->name, err));
    TRY(put_oid(l, constraint_oid(def, i), err));
    TRY(bind_list_text(l, name, err));
    TRY(bind_list_word(l, kind, err));
    if (kind[0] == 'f') return TCUDB_OK; /* the index follows */
    return put_oid(l, kind[0] == 'c' ? 0 : constraint_oid(def, i) + BLOCK_OIDS / 2, err);
}

static tcudb_status no_reference(Listing *l, Error *err)
{
    TRY(put_oid(l, 0, err));
    TRY(bind_list_null(l, TYPE_TEXT, 1, err));
    for (uint32_t i = 0; i < 3; i++) TRY(bind_list_word(l, " ", err));
    return TCUDB_OK;
}

static tcudb_status put_buf(Listing *l, const Buf *buf, Error *err)
{
    char *copy = arena_strndup(l->b->arena, buf->len == 0 ? "" : buf->data, buf->len, err);
    TRY_PTR(copy);
    return bind_list_text(l, (Str){copy, (uint32_t)buf->len}, err);
}

static tcudb_status key_cells(Listing *l, const TableDef *def, const KeyDef *key, Error *err)
{
    Buf cols, names;
    buf_init(&cols, NULL);
    buf_init(&names, NULL);
    tcudb_status status;
    TRY_GOTO(key_text(def, key, &cols, &names, err));
    TRY_GOTO(put_buf(l, &cols, err));
    TRY_GOTO(bind_list_int(l, TYPE_INT2, key->ncols, err));
    TRY_GOTO(put_buf(l, &names, err));
    TRY_GOTO(no_reference(l, err));
done:
    buf_free(&cols);
    buf_free(&names);
    return status;
}

/* "1 2" */
static tcudb_status put_numbers(Listing *l, const TableDef *def, const Str *names, uint32_t n, Error *err)
{
    const char *text = "";
    for (uint32_t i = 0; i < n; i++) {
        text = arena_printf(l->b->arena, err, "%s%s%u", text, i == 0 ? "" : " ", column_named(def, names[i]));
        TRY_PTR(text);
    }
    return bind_list_word(l, text, err);
}

/* The key over these columns; nkeys: none. */
static uint32_t key_of(const TableDef *def, const Str *names, uint32_t n)
{
    uint32_t k = 0;
    for (bool same = false; k < def->nkeys; k += !same) {
        same = def->keys[k].ncols == n;
        for (uint32_t i = 0; i < n && same; i++) {
            bool there = false;
            for (uint32_t c = 0; c < n; c++) there = there || column_named(def, names[c]) == def->keys[k].cols[i] + 1;
            same = there;
        }
        if (same) break;
    }
    return k;
}

static tcudb_status put_definition(Listing *l, const Reference *r, Error *err)
{
    Buf buf;
    buf_init(&buf, NULL);
    tcudb_status status = reference_sql(r, &buf, err);
    if (status == TCUDB_OK) status = put_buf(l, &buf, err);
    buf_free(&buf);
    return status;
}

static tcudb_status reference_row(Listing *l, const TableDef *def, uint32_t i, const Reference *r, Error *err)
{
    const Table *table = txn_permanent_table(l->b->env->txn, r->table);
    const TableDef *to = table == NULL ? def : table_def(table);
    const char *letters =
        arena_printf(l->b->arena, err, "%c%c%c", (char)r->on_update, (char)r->on_delete, r->full ? 'f' : 's');
    TRY_PTR(letters);
    TRY(constraint_row(l, def, i, r->name, "f", err));
    TRY(put_oid(l, constraint_oid(to, key_of(to, r->keys, r->n)) + BLOCK_OIDS / 2, err));
    TRY(put_numbers(l, def, r->cols, r->n, err));
    TRY(bind_list_int(l, TYPE_INT2, r->n, err));
    TRY(put_definition(l, r, err));
    TRY(put_oid(l, table_oid(to), err));
    TRY(put_numbers(l, to, r->keys, r->n, err));
    for (uint32_t k = 0; k < 3; k++) TRY(bind_list_text(l, (Str){letters + k, 1}, err));
    return TCUDB_OK;
}

/* An index that is no key: kind 'I'; without a definition if it has expressions. */
static tcudb_status index_row(Listing *l, const TableDef *def, uint32_t i, Error *err)
{
    const NoteDef *note = &def->notes[i];
    uint32_t n = index_columns(note, NULL);
    bool plain = true;
    const char *text = "";
    Str *names = ARENA_ARRAY(l->b->arena, Str, n, err);
    TRY_PTR(names);
    (void)index_columns(note, names);
    TRY(constraint_row(l, def, def->nkeys + def->nchecks + i, note->subject, "I", err));
    TRY(put_numbers(l, def, names, n, err));
    TRY(bind_list_int(l, TYPE_INT2, n, err));
    for (uint32_t k = 0; k < n; k++) {
        const char *name = NULL;
        plain = plain && names[k].len > 0;
        TRY(text_quoted_name(l->b->arena, names[k], &name, err));
        text = arena_printf(l->b->arena, err, "%s%s%s", text, k == 0 ? "" : ", ", name);
        TRY_PTR(text);
    }
    TRY(text_or_null(l, plain ? str_of(text) : (Str){0}, err));
    return no_reference(l, err);
}

static tcudb_status table_constraints(Listing *l, const TableDef *def, Error *err)
{
    for (uint32_t i = 0; i < def->nkeys; i++) {
        const char *kind = def->keys[i].primary ? "p" : note_only_index(def, &def->keys[i]) ? "U" : "u";
        TRY(constraint_row(l, def, i, def->keys[i].name, kind, err));
        TRY(key_cells(l, def, &def->keys[i], err));
    }
    for (uint32_t i = 0; i < def->nchecks; i++) {
        TRY(constraint_row(l, def, def->nkeys + i, def->checks[i].name, "c", err));
        TRY(bind_list_null(l, TYPE_TEXT, 1, err));
        TRY(bind_list_int(l, TYPE_INT2, 0, err));
        TRY(bind_list_text(l, def->checks[i].sql, err));
        TRY(no_reference(l, err));
    }
    for (uint32_t i = 0; i < def->nnotes; i++) {
        Reference reference;
        bool refers = false;
        TRY(reference_read(l->b->arena, &def->notes[i], &reference, &refers, err));
        if (refers) TRY(reference_row(l, def, def->nkeys + def->nchecks + i, &reference, err));
        if (is_plain_index(def, &def->notes[i])) TRY(index_row(l, def, i, err));
    }
    return TCUDB_OK;
}

static tcudb_status fill_constraints(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        if (!bind_hidden(def->name)) TRY(table_constraints(l, def, err));
    }
    return TCUDB_OK;
}

/* ---- comments: objoid^ classoid^ objsubid# description */

enum { CLASS_OID = 1259, CONSTRAINT_OID = 2606, NAMESPACE_OID = 2615, DATABASE_OID = 1262, PUBLIC_OID = 2200 };

static tcudb_status comment_row(Listing *l, int64_t object, int64_t class, uint32_t column, Str text, Error *err)
{
    TRY(bind_list_row(l, err));
    TRY(put_oid(l, object, err));
    TRY(put_oid(l, class, err));
    TRY(bind_list_int(l, TYPE_INT4, column, err));
    return bind_list_text(l, text, err);
}

static int64_t oid_of_constraint(const TableDef *def, Str name)
{
    for (uint32_t i = 0; i < def->nkeys; i++)
        if (str_equal(def->keys[i].name, name)) return constraint_oid(def, i);
    for (uint32_t i = 0; i < def->nchecks; i++)
        if (str_equal(def->checks[i].name, name)) return constraint_oid(def, def->nkeys + i);
    for (uint32_t i = 0; i < def->nnotes; i++)
        if (note_is(&def->notes[i], NOTE_REFERENCE) && str_equal(def->notes[i].subject, name)) return note_oid(def, i);
    return 0;
}

static tcudb_status view_comment(Listing *l, Str subject, Str text, Error *err)
{
    const char *end = memchr(subject.ptr, '\1', subject.len);
    Str name = {subject.ptr, end == NULL ? subject.len : (uint32_t)(end - subject.ptr)};
    const ViewDef *view = txn_view(l->b->env->txn, name);
    uint32_t column = 0;
    if (view == NULL) return TCUDB_OK;
    for (uint32_t i = 0; i < view->ncols && end != NULL; i++)
        if (str_equal(view->cols[i], (Str){end + 1, subject.len - name.len - 1})) column = i + 1;
    return comment_row(l, FIRST_OID + (int64_t)view->id, CLASS_OID, column, text, err);
}

static tcudb_status comment_of(Listing *l, const TableDef *def, const NoteDef *note, Error *err)
{
    Str subject = note->subject;
    if (note_is(note, NOTE_COMMENT))
        return comment_row(l, table_oid(def), CLASS_OID, column_named(def, subject), note->text, err);
    if (note_is(note, NOTE_CONSTRAINT))
        return comment_row(l, oid_of_constraint(def, subject), CONSTRAINT_OID, 0, note->text, err);
    if (note_is(note, NOTE_VIEW) || note_is(note, NOTE_COLUMN)) return view_comment(l, subject, note->text, err);
    if (!note_is(note, NOTE_SCHEMA)) return TCUDB_OK;
    bool schema = str_equal(subject, STR_LIT("public"));
    return comment_row(l, schema ? PUBLIC_OID : 5, schema ? NAMESPACE_OID : DATABASE_OID, 0, note->text, err);
}

static tcudb_status fill_comments(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        for (uint32_t i = 0; i < def->nnotes; i++) TRY(comment_of(l, def, &def->notes[i], err));
    }
    return TCUDB_OK;
}

/* ---- sequences: oid^ name type^ start^ increment^ min^ max^ cache^ cycle? */

static tcudb_status fill_sequences(Listing *l, Error *err)
{
    Txn *txn = l->b->env->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        SequenceDef s;
        if (!note_sequence(def, &s)) continue;
        TRY(bind_list_row(l, err));
        TRY(put_oid(l, table_oid(def), err));
        TRY(bind_list_text(l, def->name, err));
        const int64_t numbers[] = {type_oid(TYPE(s.type)), s.start, s.increment, s.min, s.max, s.cache};
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) TRY(put_oid(l, numbers[i], err));
        TRY(bind_list_bool(l, s.cycle, err));
    }
    return TCUDB_OK;
}

/* ---- settings: name setting description */

static tcudb_status fill_settings(Listing *l, Error *err)
{
    const char *name = NULL, *help = NULL;
    Buf value;
    buf_init(&value, NULL);
    tcudb_status status = TCUDB_OK;
    for (uint32_t i = 0; status == TCUDB_OK && settings_at(i, &name, &help); i++) {
        value.len = 0;
        TRY_GOTO(settings_show(l->b->env->settings, str_of(name), &value, err));
        TRY_GOTO(bind_list_row(l, err));
        TRY_GOTO(bind_list_word(l, name, err));
        TRY_GOTO(put_buf(l, &value, err));
        TRY_GOTO(bind_list_word(l, help, err));
    }
done:
    buf_free(&value);
    return status;
}

static const Listed facts[] = {
    {" system", "relations", fill_relations, "oid^ name kind persistence natts% rows^ keys? checks% definition", 9},
    {" system", "attributes", fill_attributes,
     "relid^ name num% type^ mod# not_null? initial identity generated sequence", 10},
    {" system", "constraints", fill_constraints,
     "relid^ relation oid^ name kind index^ cols natts% definition refid^ refcols on_update on_delete match", 14},
    {" system", "comments", fill_comments, "objoid^ classoid^ objsubid# description", 4},
    {" system", "sequences", fill_sequences, "oid^ name type^ start^ increment^ min^ max^ cache^ cycle?", 9},
    {" system", "settings", fill_settings, "name setting description", 3},
};

/* Relations of pg_catalog that descriptions and dependencies are of, under PostgreSQL's numbers. */
static int64_t catalog_oid(Str name)
{
    static const struct {
        const char *name;
        int64_t oid;
    } known[] = {
        {"pg_class", 1259},    {"pg_type", 1247},       {"pg_attribute", 1249}, {"pg_proc", 1255},
        {"pg_database", 1262}, {"pg_constraint", 2606}, {"pg_attrdef", 2604},   {"pg_namespace", 2615},
        {"pg_index", 2610},    {"pg_authid", 1260},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (str_equal(name, str_of(known[i].name))) return known[i].oid;
    return 0;
}

int64_t bind_relation_oid(Binder *b, Str name)
{
    Txn *txn = b->env->txn;
    const Table *table = txn_table(txn, name);
    const ViewDef *view = txn_view(txn, name);
    if (table != NULL && !bind_hidden(name)) return table_oid(table_def(table));
    if (view != NULL) return FIRST_OID + (int64_t)view->id;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        for (uint32_t i = 0; i < def->nkeys; i++)
            if (str_equal(def->keys[i].name, name)) return constraint_oid(def, i) + BLOCK_OIDS / 2;
        for (uint32_t i = 0; i < def->nnotes; i++)
            if (note_is(&def->notes[i], NOTE_INDEX) && str_equal(def->notes[i].subject, name))
                return note_oid(def, i) + BLOCK_OIDS / 2;
    }
    return catalog_oid(name);
}

const Listed *bind_facts_listed(uint32_t i)
{
    return i < sizeof facts / sizeof facts[0] ? &facts[i] : NULL;
}
