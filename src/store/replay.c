/*
 * replay.c: applies a log record to a root: at open, and when another process has committed.
 *
 * The root is the caller's own; versions of tables that others may see are copied before they are changed. Bytes
 * whose checksum is right may still be wrong: every number is checked, and what does not fit sets the reader's `bad`.
 */
#include "store/change.h"

#include <assert.h>

typedef struct Replay {
    Reader *r;
    Db *db;
    Root *root;
    Arena arena;
    struct Taken *taken; /* by CHANGE_TAKE_TABLE, waiting for their names; in the arena */
} Replay;

typedef struct Taken {
    struct Taken *next;
    Table *table;
} Taken;

static bool find_table(const Root *root, uint64_t id, uint32_t *at)
{
    for (*at = 0; *at < root->ntables; (*at)++)
        if (root->tables[*at]->meta->def.id == id) return true;
    return false;
}

/* The version at `at`, the caller's own to change. */
static tcudb_status own_table(Root *root, uint32_t at, Table **out, Error *err)
{
    Table *table = root->tables[at];
    if (atomic_load(&table->frozen) || atomic_load(&table->refs) > 1) {
        Table *copy;
        TRY(table_clone(table, &copy, err));
        table_unref(table);
        root->tables[at] = table = copy;
    }
    *out = table;
    return TCUDB_OK;
}

static bool name_taken(const Root *root, Str name)
{
    bool table, view;
    root_find_table(root, name, &table);
    root_find_view(root, name, &view);
    return table || view;
}

static tcudb_status drop_table(Replay *p, Error *err)
{
    (void)err;
    uint32_t at;
    if (!find_table(p->root, get_varint(p->r), &at)) {
        p->r->bad = true;
        return TCUDB_OK;
    }
    Table *table = p->root->tables[at];
    root_remove_table(p->root, at);
    table_unref(table);
    return TCUDB_OK;
}

static tcudb_status take_table(Replay *p, Error *err)
{
    uint32_t at;
    if (!find_table(p->root, get_varint(p->r), &at)) {
        p->r->bad = true;
        return TCUDB_OK;
    }
    Taken *taken = ARENA_NEW(&p->arena, Taken, err);
    TRY_PTR(taken);
    TRY(own_table(p->root, at, &taken->table, err));
    root_remove_table(p->root, at);
    taken->next = p->taken;
    p->taken = taken;
    return TCUDB_OK;
}

static tcudb_status rename_meta(Replay *p, Table *table, Str name, Error *err)
{
    TableDef def = table->meta->def;
    def.name = name;
    TableMeta *meta;
    TRY(meta_new(&p->db->mem, &def, table->meta->dicts, table->meta, &meta, err));
    meta_unref(table->meta);
    table->meta = meta;
    return TCUDB_OK;
}

/* Where the table of that id was taken to; *at NULL: nowhere. */
static Taken **find_taken(Replay *p, uint64_t id)
{
    Taken **at = &p->taken;
    while (*at != NULL && (*at)->table->meta->def.id != id) at = &(*at)->next;
    return at;
}

static tcudb_status name_table(Replay *p, Error *err)
{
    uint64_t id = get_varint(p->r);
    Str name = get_text(p->r);
    Taken **at = find_taken(p, id);
    if (p->r->bad || *at == NULL || name_taken(p->root, name)) {
        p->r->bad = true;
        return TCUDB_OK;
    }
    TRY(rename_meta(p, (*at)->table, name, err));
    TRY(root_insert_table(p->root, (*at)->table, err));
    *at = (*at)->next;
    return TCUDB_OK;
}

static bool same_types(const TableDef *a, const TableDef *b)
{
    if (a->ncols != b->ncols) return false;
    for (uint32_t c = 0; c < a->ncols; c++)
        if (!type_equal(a->cols[c].type, b->cols[c].type)) return false;
    return true;
}

/* The dictionaries stay the table's: what the log said of them before is in those. */
static tcudb_status define_table(Replay *p, Error *err)
{
    TableMeta *meta;
    TRY(get_table_def(p->r, p->db, &p->arena, &meta, err));
    if (meta == NULL) return TCUDB_OK;
    Taken **at = find_taken(p, meta->def.id);
    if (p->r->bad || *at == NULL || name_taken(p->root, meta->def.name) ||
        !same_types(&meta->def, &(*at)->table->meta->def)) {
        p->r->bad = true;
        meta_unref(meta);
        return TCUDB_OK;
    }
    TableMeta *own;
    tcudb_status status = meta_new(&p->db->mem, &meta->def, (*at)->table->meta->dicts, (*at)->table->meta, &own, err);
    meta_unref(meta);
    if (status != TCUDB_OK) return status;
    meta_unref((*at)->table->meta);
    (*at)->table->meta = own;
    TRY(root_insert_table(p->root, (*at)->table, err));
    *at = (*at)->next;
    return TCUDB_OK;
}

static tcudb_status create_table(Replay *p, Error *err)
{
    TableMeta *meta;
    TRY(get_table_def(p->r, p->db, &p->arena, &meta, err));
    if (meta == NULL) return TCUDB_OK;
    uint32_t at;
    if (p->r->bad || name_taken(p->root, meta->def.name) || find_table(p->root, meta->def.id, &at)) {
        p->r->bad = true;
        meta_unref(meta);
        return TCUDB_OK;
    }
    Table *table;
    tcudb_status status = table_new(p->db, meta, &table, err);
    meta_unref(meta);
    if (status != TCUDB_OK) return status;
    status = root_insert_table(p->root, table, err);
    if (status != TCUDB_OK) table_unref(table);
    return status;
}

static tcudb_status create_view(Replay *p, Error *err)
{
    View *view;
    TRY(get_view_def(p->r, p->db, &p->arena, &view, err));
    if (view == NULL) return TCUDB_OK;
    tcudb_status status = TCUDB_OK;
    if (name_taken(p->root, view->def.name))
        p->r->bad = true;
    else
        status = root_insert_view(p->root, view, err);
    if (p->r->bad || status != TCUDB_OK) view_unref(view);
    return status;
}

static tcudb_status drop_view(Replay *p, Error *err)
{
    (void)err;
    uint64_t id = get_varint(p->r);
    for (uint32_t v = 0; v < p->root->nviews; v++) {
        if (p->root->views[v]->def.id != id) continue;
        View *view = p->root->views[v];
        root_remove_view(p->root, v);
        view_unref(view);
        return TCUDB_OK;
    }
    p->r->bad = true;
    return TCUDB_OK;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static tcudb_status get_dict(Replay *p, Dict *dict, Error *err)
{
    uint8_t kind = get_byte(p->r);
    bool loose = (kind & DICT_LOOSE) != 0;
    if ((kind & DICT_STORED) != 0) {
        uint32_t count = (uint32_t)get_count(p->r, UINT32_MAX);
        uint64_t length = get_varint(p->r);
        if (p->r->bad) return TCUDB_OK;
        return dict_extend(dict, (DictState){.count = count, .stored = count, .length = length, .loose = loose}, err);
    }
    uint32_t first = (uint32_t)get_count(p->r, UINT32_MAX);
    uint64_t n = get_varint(p->r);
    if (p->r->bad || n > (uint64_t)(p->r->end - p->r->at)) {
        p->r->bad = true;
        return TCUDB_OK;
    }
    Str *texts = ARENA_ARRAY(&p->arena, Str, n, err);
    TRY_PTR(texts);
    for (uint64_t i = 0; i < n; i++) texts[i] = get_text(p->r);
    return p->r->bad ? TCUDB_OK : dict_replay(dict, first, texts, (uint32_t)n, loose, err);
}

/* An empty version of the same table, with the dictionaries that the record names. */
static tcudb_status reset_table(Replay *p, uint32_t at, Dict **dicts, Error *err)
{
    Table *old = p->root->tables[at];
    TableMeta *meta;
    Table *table;
    TRY(meta_new(&p->db->mem, &old->meta->def, dicts, old->meta, &meta, err));
    tcudb_status status = table_new(p->db, meta, &table, err);
    meta_unref(meta);
    if (status != TCUDB_OK) return status;
    p->root->tables[at] = table;
    table_unref(old);
    return TCUDB_OK;
}

static tcudb_status get_dicts(Replay *p, uint32_t at, Error *err)
{
    const TableMeta *meta = p->root->tables[at]->meta;
    uint32_t ncols = meta->def.ncols;
    bool reset = get_byte(p->r) != 0;
    Dict **dicts = ARENA_ARRAY(&p->arena, Dict *, ncols, err);
    TRY_PTR(dicts);
    tcudb_status status = TCUDB_OK;
    for (uint32_t c = 0; c < ncols && !p->r->bad && status == TCUDB_OK; c++) {
        if (meta->dicts[c] == NULL) continue;
        if (reset) {
            uint64_t id = get_varint(p->r);
            if (p->r->bad) break;
            status = db_dict(p->db, id, &dicts[c], err);
        }
        if (status == TCUDB_OK) status = get_dict(p, reset ? dicts[c] : meta->dicts[c], err);
    }
    if (reset && status == TCUDB_OK && !p->r->bad) status = reset_table(p, at, dicts, err);
    for (uint32_t c = 0; c < ncols; c++) dict_unref(dicts[c]);
    return status;
}

/* ---- columns: what revise.c does, from the record ------------------------------------------------- */

static bool source_fits(const ColumnDef *old, const ColumnDef *now)
{
    return type_equal(old->type, now->type) || (type_is_text(old->type) && type_is_text(now->type));
}

static tcudb_status get_sources(Replay *p, const Table *old, const TableMeta *meta, uint32_t **out, Error *err)
{
    uint32_t *from = ARENA_ARRAY(&p->arena, uint32_t, meta->def.ncols, err);
    TRY_PTR(from);
    for (uint32_t c = 0; c < meta->def.ncols && !p->r->bad; c++) {
        uint32_t source = (uint32_t)get_count(p->r, old->meta->def.ncols);
        from[c] = source == 0 ? NO_COLUMN : source - 1;
        if (source > 0 && !source_fits(&old->meta->def.cols[from[c]], &meta->def.cols[c])) p->r->bad = true;
    }
    *out = from;
    return TCUDB_OK;
}

/* The definition that the record has, with the dictionaries and ids of the columns that stay. */
static tcudb_status revised_meta(Replay *p, const Table *old, const TableMeta *meta, const uint32_t *from,
                                 TableMeta **out, Error *err)
{
    Dict **dicts = ARENA_ARRAY(&p->arena, Dict *, meta->def.ncols, err);
    TRY_PTR(dicts);
    for (uint32_t c = 0; c < meta->def.ncols; c++)
        dicts[c] = from[c] == NO_COLUMN ? meta->dicts[c] : old->meta->dicts[from[c]];
    TRY(meta_new(&p->db->mem, &meta->def, dicts, NULL, out, err));
    (*out)->next_col_id = old->meta->next_col_id;
    for (uint32_t c = 0; c < meta->def.ncols; c++)
        (*out)->ids[c] = from[c] == NO_COLUMN ? (*out)->next_col_id++ : old->meta->ids[from[c]];
    return TCUDB_OK;
}

static tcudb_status get_changed_column(Replay *p, Table *table, const uint32_t *from, PartSet *parts, bool *seen,
                                       Error *err)
{
    Reader *r = p->r;
    uint32_t c = (uint32_t)get_count(r, table->meta->def.ncols - 1);
    if (r->bad || seen[c]) {
        r->bad = true;
        return TCUDB_OK;
    }
    seen[c] = true;
    if (get_byte(r) != 0) TRY(get_column_sketch(r, table, c, err));
    for (uint32_t s = 0; s < table->nsegs && !r->bad; s++) {
        Column *column = NULL;
        bool replaced = get_byte(r) != 0;
        if (!replaced && from[c] == NO_COLUMN) r->bad = true;
        if (replaced) TRY(get_column(r, table->db, table->meta, c, table->segs[s]->rows, 0, parts, &column, err));
        if (column != NULL) revised_column(table, s, c, column);
    }
    if (from[c] != NO_COLUMN || table->tail_rows == 0) return TCUDB_OK;
    get_raw_column(r, table->meta, c, table->tail, 0, table->tail_rows);
    if (!r->bad) revised_tail(table, c);
    return TCUDB_OK;
}

static tcudb_status get_changed_columns(Replay *p, Table *table, const uint32_t *from, Error *err)
{
    PartSet parts = {0};
    uint32_t ncols = table->meta->def.ncols;
    bool *seen = ARENA_ARRAY(&p->arena, bool, ncols, err);
    TRY_PTR(seen);
    tcudb_status status = TCUDB_OK;
    uint32_t n = (uint32_t)get_count(p->r, ncols);
    for (uint32_t i = 0; i < n && status == TCUDB_OK && !p->r->bad; i++)
        status = get_changed_column(p, table, from, &parts, seen, err);
    partset_free(&parts, p->db);
    for (uint32_t c = 0; c < ncols; c++)
        if (from[c] == NO_COLUMN && !seen[c]) p->r->bad = true;
    return status;
}

static tcudb_status get_revised(Replay *p, Table *old, const TableMeta *def, Table **out, Error *err)
{
    Reader *r = p->r;
    uint32_t *from = NULL;
    TableMeta *meta;
    TRY(get_sources(p, old, def, &from, err));
    if (r->bad) return TCUDB_OK;
    TRY(revised_meta(p, old, def, from, &meta, err));
    tcudb_status status = TCUDB_OK;
    for (uint32_t c = 0; c < meta->def.ncols && status == TCUDB_OK && !r->bad; c++)
        if (meta->dicts[c] != NULL) status = get_dict(p, meta->dicts[c], err);
    uint32_t tail = (uint32_t)get_count(r, old->tail_rows);
    if (tail != 0 && tail != old->tail_rows) r->bad = true;
    if (status == TCUDB_OK && tail == 0) status = table_drop_tail(old, err);
    if (status == TCUDB_OK && !r->bad) status = table_revised(old, meta, from, out, err);
    meta_unref(meta);
    return status == TCUDB_OK && !r->bad ? get_changed_columns(p, *out, from, err) : status;
}

/* The version that was taken goes, and the one that comes is put in under its name. */
static tcudb_status change_columns(Replay *p, Error *err)
{
    TableMeta *def;
    Table *table = NULL;
    TRY(get_table_def(p->r, p->db, &p->arena, &def, err));
    if (def == NULL) return TCUDB_OK;
    Taken **at = find_taken(p, def->def.id);
    if (*at == NULL || def->def.ncols == 0 || name_taken(p->root, def->def.name)) p->r->bad = true;
    tcudb_status status = p->r->bad ? TCUDB_OK : get_revised(p, (*at)->table, def, &table, err);
    meta_unref(def);
    if (status == TCUDB_OK && !p->r->bad) {
        status = root_insert_table(p->root, table, err);
        if (status == TCUDB_OK) {
            table_unref((*at)->table);
            *at = (*at)->next;
            return TCUDB_OK;
        }
    }
    table_unref(table);
    return status;
}

/* New segments take the place of the tail. */
tcudb_status table_drop_tail(Table *table, Error *err)
{
    TRY(table_reserve(table, table->nsegs, err));
    uint32_t gone = table->tail_rows;
    Deleted **deleted = &table->deleted[table->nsegs];
    if (*deleted != NULL) gone -= (*deleted)->count;
    deleted_unref(*deleted);
    *deleted = NULL;
    rowbuf_unref(table->tail);
    table->tail = NULL;
    table->live -= gone;
    table->tail_rows = 0;
    for (uint32_t c = 0; c < table->meta->def.ncols; c++)
        facts_init(&table->tail_cols[c], table->meta->def.cols[c].type);
    return TCUDB_OK;
}

tcudb_status get_segments(Reader *r, Table *table, uint32_t n, Error *err)
{
    PartSet parts = {0};
    tcudb_status status = TCUDB_OK;
    for (uint32_t s = 0; s < n && status == TCUDB_OK && !r->bad; s++) {
        Segment *segment;
        status = get_segment(r, table->db, table->meta, &parts, &segment, err);
        if (status != TCUDB_OK || segment == NULL) break;
        status = table_add_segment(table, segment, err);
        if (status != TCUDB_OK) segment_unref(segment);
    }
    partset_free(&parts, table->db);
    return status;
}

static tcudb_status change_rows(Replay *p, Error *err)
{
    Reader *r = p->r;
    uint32_t at;
    uint64_t id = get_varint(r);
    if (r->bad || !find_table(p->root, id, &at)) {
        r->bad = true;
        return TCUDB_OK;
    }
    TRY(get_dicts(p, at, err));
    if (r->bad) return TCUDB_OK;
    Table *table;
    TRY(own_table(p->root, at, &table, err));
    uint32_t nsegs = (uint32_t)get_count(r, (uint64_t)(r->end - r->at));
    if (nsegs > 0) {
        TRY(table_drop_tail(table, err));
        TRY(get_segments(r, table, nsegs, err));
        TRY(get_sketch(r, table, err));
    }
    if (get_varint(r) != table->tail_rows || r->bad) {
        r->bad = true;
        return TCUDB_OK;
    }
    TRY(get_rows(r, table, err));
    for (uint64_t s = get_varint(r); s != 0 && !r->bad; s = get_varint(r)) {
        if (s > UINT32_MAX)
            r->bad = true;
        else
            TRY(get_deleted(r, table, (uint32_t)s - 1, err));
    }
    return TCUDB_OK;
}

static tcudb_status apply_change(Replay *p, uint8_t kind, Error *err)
{
    switch (kind) {
    case CHANGE_DROP_TABLE: return drop_table(p, err);
    case CHANGE_TAKE_TABLE: return take_table(p, err);
    case CHANGE_CREATE_TABLE: return create_table(p, err);
    case CHANGE_NAME_TABLE: return name_table(p, err);
    case CHANGE_DEFINE_TABLE: return define_table(p, err);
    case CHANGE_COLUMNS: return change_columns(p, err);
    case CHANGE_DROP_VIEW: return drop_view(p, err);
    case CHANGE_CREATE_VIEW: return create_view(p, err);
    case CHANGE_ROWS: return change_rows(p, err);
    default: p->r->bad = true; return TCUDB_OK;
    }
}

void db_raise(_Atomic uint64_t *counter, uint64_t least)
{
    uint64_t now = atomic_load(counter);
    while (now < least && !atomic_compare_exchange_weak(counter, &now, least)) {}
}

tcudb_status apply_commit(Reader *r, Db *db, Root *root, Error *err)
{
    Replay p = {.r = r, .db = db, .root = root};
    arena_init(&p.arena, &db->mem);
    uint64_t next_id = get_varint(r), next_file = get_varint(r);
    tcudb_status status = TCUDB_OK;
    while (status == TCUDB_OK && !r->bad) {
        uint8_t kind = get_byte(r);
        if (kind == CHANGE_END) break;
        status = apply_change(&p, kind, err);
    }
    if (p.taken != NULL && status == TCUDB_OK) r->bad = true;
    for (Taken *t = p.taken; t != NULL; t = t->next) table_unref(t->table);
    if (status == TCUDB_OK && !r->bad) {
        db_raise(&db->next_id, next_id);
        db_raise(&db->next_file, next_file);
        root->commit++;
    }
    arena_free(&p.arena);
    return status;
}
