/*
 * root.c: committed states and what they are made of: definitions, versions of tables, views.
 *
 * Everything is counted and copied before it is changed, so a snapshot is one reference to a Root. Copying a Root
 * costs a pointer per table, copying a Table a pointer per segment and the tail's facts.
 */
#include "store/store_int.h"

#include <assert.h>
#include <string.h>

/* Bump allocation inside one block whose size was added up before. */
static Str take_str(char **at, Str text)
{
    Str copy = {*at, text.len};
    if (text.len > 0) memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}

static size_t meta_size(const TableDef *def)
{
    size_t bytes = sizeof(TableMeta) + def->ncols * (sizeof(ColumnDef) + sizeof(Dict *) + sizeof(uint64_t));
    bytes += def->name.len;
    for (uint32_t c = 0; c < def->ncols; c++) bytes += def->cols[c].name.len + def->cols[c].default_sql.len;
    bytes += def->nkeys * sizeof(KeyDef) + def->nchecks * sizeof(CheckDef) + def->nnotes * sizeof(NoteDef);
    for (uint32_t k = 0; k < def->nkeys; k++) bytes += def->keys[k].name.len + def->keys[k].ncols * sizeof(uint32_t);
    for (uint32_t k = 0; k < def->nchecks; k++) bytes += def->checks[k].name.len + def->checks[k].sql.len;
    for (uint32_t k = 0; k < def->nnotes; k++)
        bytes += def->notes[k].kind.len + def->notes[k].subject.len + def->notes[k].text.len;
    return bytes;
}

/* Copies keys, checks and notes to `room`; *at: where the texts after them may go on. */
static void copy_constraints(TableMeta *meta, const TableDef *def, void *room, char **at)
{
    KeyDef *keys = room;
    CheckDef *checks = (CheckDef *)(keys + def->nkeys);
    NoteDef *notes = (NoteDef *)(checks + def->nchecks);
    uint32_t *numbers = (uint32_t *)(notes + def->nnotes);
    for (uint32_t k = 0; k < def->nkeys; k++) {
        keys[k] = def->keys[k];
        keys[k].cols = numbers;
        memcpy(numbers, def->keys[k].cols, keys[k].ncols * sizeof *numbers);
        numbers += keys[k].ncols;
    }
    *at = (char *)numbers;
    for (uint32_t k = 0; k < def->nkeys; k++) keys[k].name = take_str(at, def->keys[k].name);
    for (uint32_t k = 0; k < def->nchecks; k++)
        checks[k] = (CheckDef){take_str(at, def->checks[k].name), take_str(at, def->checks[k].sql)};
    for (uint32_t k = 0; k < def->nnotes; k++) {
        const NoteDef *n = &def->notes[k];
        notes[k] = (NoteDef){take_str(at, n->kind), take_str(at, n->subject), take_str(at, n->text)};
    }
    meta->def.nkeys = def->nkeys;
    meta->def.nchecks = def->nchecks;
    meta->def.keys = keys;
    meta->def.checks = checks;
    meta->def.nnotes = def->nnotes;
    meta->def.notes = notes;
}

tcudb_status meta_new(Mem *mem, const TableDef *def, Dict *const *dicts, const TableMeta *like, TableMeta **out,
                      Error *err)
{
    size_t bytes = meta_size(def);
    TableMeta *meta = mem_alloc_zero(mem, bytes, err);
    TRY_PTR(meta);
    ColumnDef *cols = (ColumnDef *)(meta + 1);
    meta->dicts = (Dict **)(cols + def->ncols);
    meta->ids = (uint64_t *)(meta->dicts + def->ncols);
    meta->next_col_id = like == NULL ? def->ncols : like->next_col_id;
    char *at;
    atomic_init(&meta->refs, 1);
    meta->mem = mem;
    meta->bytes = bytes;
    meta->def = (TableDef){.id = def->id, .ncols = def->ncols, .cols = cols, .temp = def->temp};
    copy_constraints(meta, def, meta->ids + def->ncols, &at);
    meta->def.name = take_str(&at, def->name);
    for (uint32_t c = 0; c < def->ncols; c++) {
        cols[c] = def->cols[c];
        cols[c].name = take_str(&at, def->cols[c].name);
        cols[c].default_sql = take_str(&at, def->cols[c].default_sql);
        meta->dicts[c] = dicts[c];
        meta->ids[c] = like == NULL ? c : like->ids[c];
        dict_ref(dicts[c]);
    }
    assert(at == (char *)meta + bytes);
    *out = meta;
    return TCUDB_OK;
}

void meta_unref(TableMeta *meta)
{
    if (meta == NULL || atomic_fetch_sub(&meta->refs, 1) != 1) return;
    for (uint32_t c = 0; c < meta->def.ncols; c++) dict_unref(meta->dicts[c]);
    mem_free(meta->mem, meta, meta->bytes);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* The version, then its tail's facts (which hold 128-bit integers: 16-byte aligned). */
enum { TABLE_HEAD = (sizeof(Table) + 63) / 64 * 64 };

static size_t table_size(uint32_t ncols)
{
    return TABLE_HEAD + ncols * (sizeof(ColData) + sizeof(SegColumn));
}

tcudb_status table_new(Db *db, TableMeta *meta, Table **out, Error *err)
{
    Table *table = mem_alloc_zero(&db->mem, table_size(meta->def.ncols), err);
    TRY_PTR(table);
    atomic_init(&table->refs, 1);
    table->db = db;
    table->meta = meta;
    table->lineage = atomic_fetch_add(&db->next_lineage, 1);
    atomic_fetch_add(&meta->refs, 1);
    pthread_mutex_init(&table->lock, NULL);
    table->tail_cols = (ColData *)((char *)table + TABLE_HEAD);
    table->tail_pins = (SegColumn *)(table->tail_cols + meta->def.ncols);
    for (uint32_t c = 0; c < meta->def.ncols; c++) facts_init(&table->tail_cols[c], meta->def.cols[c].type);
    *out = table;
    return TCUDB_OK;
}

static size_t arrays_size(uint32_t cap)
{
    return cap * sizeof(Segment *) + (cap + 1) * sizeof(Deleted *);
}

tcudb_status table_reserve(Table *table, uint32_t segments, Error *err)
{
    if (segments <= table->cap && table->segs != NULL) return TCUDB_OK;
    uint32_t cap = segments < 4 ? 4 : segments + segments / 2;
    Segment **segs = mem_alloc_zero(&table->db->mem, arrays_size(cap), err);
    TRY_PTR(segs);
    Deleted **deleted = (Deleted **)(segs + cap);
    if (table->segs != NULL) {
        memcpy(segs, table->segs, table->nsegs * sizeof segs[0]);
        memcpy(deleted, table->deleted, (table->nsegs + 1) * sizeof deleted[0]);
        mem_free(&table->db->mem, table->segs, arrays_size(table->cap));
    }
    table->segs = segs;
    table->deleted = deleted;
    table->cap = cap;
    return TCUDB_OK;
}

tcudb_status table_merge_sketch(Table *table, const uint8_t *sketch, Error *err)
{
    size_t size = (size_t)table->meta->def.ncols * SKETCH_BYTES;
    if (table->sketch == NULL) {
        table->sketch = mem_alloc_zero(&table->db->mem, size, err);
        TRY_PTR(table->sketch);
    }
    sketch_merge(table->sketch, sketch, size);
    return TCUDB_OK;
}

tcudb_status table_clone(const Table *from, Table **out, Error *err)
{
    Table *table = NULL;
    TRY(table_new(from->db, from->meta, &table, err));
    tcudb_status status = table_reserve(table, from->nsegs, err);
    if (status == TCUDB_OK && from->sketch != NULL) status = table_merge_sketch(table, from->sketch, err);
    if (status != TCUDB_OK) {
        table_unref(table);
        return status;
    }
    for (uint32_t s = 0; s < from->nsegs; s++) {
        table->segs[s] = from->segs[s];
        atomic_fetch_add(&from->segs[s]->refs, 1);
    }
    table->nsegs = from->nsegs;
    for (uint32_t s = 0; from->deleted != NULL && s <= from->nsegs; s++) {
        table->deleted[s] = from->deleted[s];
        if (from->deleted[s] != NULL) atomic_fetch_add(&from->deleted[s]->refs, 1);
    }
    table->tail = from->tail;
    if (table->tail != NULL) atomic_fetch_add(&table->tail->refs, 1);
    table->tail_rows = from->tail_rows;
    for (uint32_t c = 0; c < from->meta->def.ncols; c++) {
        table->tail_cols[c].pub = from->tail_cols[c].pub;
        table->tail_cols[c].mixed = from->tail_cols[c].mixed;
    }
    table->live = from->live;
    table->lineage = from->lineage;
    *out = table;
    return TCUDB_OK;
}

void table_ref(Table *table)
{
    atomic_fetch_add(&table->refs, 1);
}

void table_unref(Table *table)
{
    if (table == NULL || atomic_fetch_sub(&table->refs, 1) != 1) return;
    Mem *mem = &table->db->mem;
    for (uint32_t s = 0; s < table->nsegs; s++) segment_unref(table->segs[s]);
    for (uint32_t s = 0; table->deleted != NULL && s <= table->nsegs; s++) deleted_unref(table->deleted[s]);
    if (table->segs != NULL) mem_free(mem, table->segs, arrays_size(table->cap));
    uint32_t ncols = table->meta->def.ncols;
    for (uint32_t c = 0; c < ncols; c++) mem_free(mem, table->tail_cols[c].memory, table->tail_cols[c].memory_size);
    rowbuf_unref(table->tail);
    table_drop_cache(table);
    mem_free(mem, table->sketch, (size_t)ncols * SKETCH_BYTES);
    pthread_mutex_destroy(&table->lock);
    meta_unref(table->meta);
    mem_free(mem, table, table_size(ncols));
}

tcudb_status table_add_segment(Table *table, Segment *segment, Error *err)
{
    assert(table->tail_rows == 0 && !table->frozen);
    TRY(table_reserve(table, table->nsegs + 1, err));
    if (segment->sketch != NULL) {
        TRY(table_merge_sketch(table, segment->sketch, err));
        segment_drop_sketch(segment);
    }
    table->segs[table->nsegs++] = segment;
    table->deleted[table->nsegs] = NULL;
    table->live += segment->rows;
    return TCUDB_OK;
}

bool table_uses_part(const Table *table, uint64_t number)
{
    for (uint32_t s = 0; s < table->nsegs; s++)
        for (uint32_t c = 0; c < table->segs[s]->ncols; c++)
            if (table->segs[s]->cols[c]->part != NULL && table->segs[s]->cols[c]->part->number == number) return true;
    return false;
}

/* ---- views ---------------------------------------------------------------------------------- */

tcudb_status view_new(Mem *mem, const ViewDef *def, View **out, Error *err)
{
    size_t bytes = sizeof(View) + def->ncols * sizeof(Str) + def->name.len + def->sql.len;
    for (uint32_t c = 0; c < def->ncols; c++) bytes += def->cols[c].len;
    View *view = mem_alloc_zero(mem, bytes, err);
    TRY_PTR(view);
    Str *cols = (Str *)(view + 1);
    char *at = (char *)(cols + def->ncols);
    atomic_init(&view->refs, 1);
    view->mem = mem;
    view->bytes = bytes;
    view->def = (ViewDef){.id = def->id, .name = take_str(&at, def->name), .sql = take_str(&at, def->sql)};
    for (uint32_t c = 0; c < def->ncols; c++) cols[c] = take_str(&at, def->cols[c]);
    view->def.ncols = def->ncols;
    view->def.cols = cols;
    *out = view;
    return TCUDB_OK;
}

void view_unref(View *view)
{
    if (view == NULL || atomic_fetch_sub(&view->refs, 1) != 1) return;
    mem_free(view->mem, view, view->bytes);
}

/* ---- roots ---------------------------------------------------------------------------------- */

static tcudb_status new_with_room(Mem *mem, uint32_t tables, uint32_t views, Root **out, Error *err)
{
    Root *root = mem_alloc_zero(mem, sizeof *root, err);
    TRY_PTR(root);
    atomic_init(&root->refs, 1);
    root->mem = mem;
    root->tables = mem_alloc_zero(mem, tables * sizeof(Table *), err);
    if (root->tables != NULL) root->tables_cap = tables;
    root->views = root->tables == NULL ? NULL : mem_alloc_zero(mem, views * sizeof(View *), err);
    if (root->views != NULL) root->views_cap = views;
    if (root->views == NULL) {
        root_unref(root);
        return TCUDB_NOMEM;
    }
    *out = root;
    return TCUDB_OK;
}

tcudb_status root_new(Mem *mem, Root **out, Error *err)
{
    return new_with_room(mem, 0, 0, out, err);
}

tcudb_status root_clone(const Root *from, Root **out, Error *err)
{
    TRY(new_with_room(from->mem, from->ntables + 1, from->nviews + 1, out, err));
    Root *root = *out;
    root->commit = from->commit;
    root->generation = from->generation;
    if (root->generation != NULL) atomic_fetch_add(&root->generation->refs, 1);
    root->ntables = from->ntables;
    root->nviews = from->nviews;
    for (uint32_t t = 0; t < from->ntables; t++) {
        root->tables[t] = from->tables[t];
        table_ref(from->tables[t]);
    }
    for (uint32_t v = 0; v < from->nviews; v++) {
        root->views[v] = from->views[v];
        atomic_fetch_add(&from->views[v]->refs, 1);
    }
    return TCUDB_OK;
}

void root_ref(Root *root)
{
    if (root != NULL) atomic_fetch_add(&root->refs, 1);
}

void root_unref(Root *root)
{
    if (root == NULL || atomic_fetch_sub(&root->refs, 1) != 1) return;
    for (uint32_t t = 0; t < root->ntables; t++) table_unref(root->tables[t]);
    for (uint32_t v = 0; v < root->nviews; v++) view_unref(root->views[v]);
    generation_unref(root->generation);
    mem_free(root->mem, root->tables, root->tables_cap * sizeof(Table *));
    mem_free(root->mem, root->views, root->views_cap * sizeof(View *));
    mem_free(root->mem, root, sizeof *root);
}

uint32_t root_find_table(const Root *root, Str name, bool *found)
{
    uint32_t lo = 0, hi = root->ntables;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (str_compare(root->tables[mid]->meta->def.name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *found = lo < root->ntables && str_equal(root->tables[lo]->meta->def.name, name);
    return lo;
}

uint32_t root_find_view(const Root *root, Str name, bool *found)
{
    uint32_t lo = 0, hi = root->nviews;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (str_compare(root->views[mid]->def.name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *found = lo < root->nviews && str_equal(root->views[lo]->def.name, name);
    return lo;
}

void *grow_pointers(Mem *mem, void *array, uint32_t *cap, uint32_t n, Error *err)
{
    if (n < *cap) return array;
    uint32_t more = *cap * 2 + 4;
    void *larger = mem_realloc(mem, array, *cap * sizeof(void *), more * sizeof(void *), err);
    if (larger != NULL) *cap = more;
    return larger;
}

tcudb_status root_insert_table(Root *root, Table *table, Error *err)
{
    bool found;
    uint32_t at = root_find_table(root, table->meta->def.name, &found);
    assert(!found);
    Table **tables = grow_pointers(root->mem, root->tables, &root->tables_cap, root->ntables, err);
    TRY_PTR(tables);
    root->tables = tables;
    memmove(root->tables + at + 1, root->tables + at, (root->ntables - at) * sizeof root->tables[0]);
    root->tables[at] = table;
    root->ntables++;
    return TCUDB_OK;
}

tcudb_status root_insert_view(Root *root, View *view, Error *err)
{
    bool found;
    uint32_t at = root_find_view(root, view->def.name, &found);
    assert(!found);
    View **views = grow_pointers(root->mem, root->views, &root->views_cap, root->nviews, err);
    TRY_PTR(views);
    root->views = views;
    memmove(root->views + at + 1, root->views + at, (root->nviews - at) * sizeof root->views[0]);
    root->views[at] = view;
    root->nviews++;
    return TCUDB_OK;
}

void root_remove_table(Root *root, uint32_t at)
{
    assert(at < root->ntables);
    memmove(root->tables + at, root->tables + at + 1, (root->ntables - at - 1) * sizeof root->tables[0]);
    root->ntables--;
}

void root_remove_view(Root *root, uint32_t at)
{
    assert(at < root->nviews);
    memmove(root->views + at, root->views + at + 1, (root->nviews - at - 1) * sizeof root->views[0]);
    root->nviews--;
}
