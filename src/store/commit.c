/*
 * commit.c: what a transaction changed, as the payload of a log record.
 *
 * Nothing is logged while the transaction runs: the record is the difference between the root it started from and
 * its own, so savepoints and what was undone cost nothing.
 *
 *     payload = varint next id, varint next file, change*, CHANGE_END
 *
 * Order: what goes, goes first (dropped tables and views; tables to be renamed, or whose columns are not as before, are
 * taken out), then what comes, then the rows of each changed table. A table that was emptied and has other columns too
 * goes and comes. Rows that the transaction added to a tail stand in the record; sealed segments are
 * in part files already and only their facts stand here. New dictionary values stand here, or, if they are many, in
 * the dictionary's file.
 */
#include "store/change.h"
#include "store/disk.h"

#include <assert.h>

enum { DICT_INLINE_VALUES = 4096, DICT_INLINE_BYTES = 1 << 20 };

/* ---- columns that are not as before (revise.c) ---- */

/* The column of the version before that column c is. */
static uint32_t source_of(const TableMeta *before, const TableMeta *now, uint32_t c)
{
    for (uint32_t i = 0; i < before->def.ncols; i++)
        if (before->ids[i] == now->ids[c]) return i;
    return NO_COLUMN;
}

static bool same_columns(const TableMeta *a, const TableMeta *b)
{
    if (a == b) return true;
    bool same = a->def.ncols == b->def.ncols;
    for (uint32_t c = 0; c < a->def.ncols && same; c++)
        same = a->ids[c] == b->ids[c] && type_equal(a->def.cols[c].type, b->def.cols[c].type);
    return same;
}

static bool column_replaced(const Table *before, const Table *now, uint32_t segment, uint32_t source, uint32_t c)
{
    return now->segs[segment]->cols[c] != before->segs[segment]->cols[source];
}

static bool revised(const Table *before, const Table *now)
{
    if (before == NULL || before->lineage != now->lineage) return false;
    if (!same_columns(before->meta, now->meta)) return true;
    for (uint32_t s = 0; s < before->nsegs; s++) {
        if (before->segs[s] == now->segs[s]) continue;
        for (uint32_t c = 0; c < now->meta->def.ncols; c++)
            if (column_replaced(before, now, s, c, c)) return true;
    }
    return false;
}

static const Table *find_by_id(const Root *root, uint64_t id)
{
    for (uint32_t t = 0; t < root->ntables; t++)
        if (root->tables[t]->meta->def.id == id) return root->tables[t];
    return NULL;
}

/* The other root's version of the table, unless all of it is another. */
static const Table *counterpart(const Root *root, const Table *table)
{
    const Table *other = find_by_id(root, table->meta->def.id);
    if (other == NULL || other->lineage == table->lineage || same_columns(other->meta, table->meta)) return other;
    return NULL;
}

static bool has_view(const Root *root, uint64_t id)
{
    for (uint32_t v = 0; v < root->nviews; v++)
        if (root->views[v]->def.id == id) return true;
    return false;
}

static bool renamed(const Table *before, const Table *now)
{
    return before != NULL && !str_equal(before->meta->def.name, now->meta->def.name);
}

static bool same_keys(const TableDef *a, const TableDef *b)
{
    if (a->nkeys != b->nkeys) return false;
    for (uint32_t k = 0; k < a->nkeys; k++) {
        const KeyDef *x = &a->keys[k], *y = &b->keys[k];
        if (!str_equal(x->name, y->name) || x->primary != y->primary || x->ncols != y->ncols) return false;
        if (memcmp(x->cols, y->cols, x->ncols * sizeof *x->cols) != 0) return false;
    }
    return true;
}

static bool same_checks(const TableDef *a, const TableDef *b)
{
    if (a->nchecks != b->nchecks) return false;
    for (uint32_t i = 0; i < a->nchecks; i++)
        if (!str_equal(a->checks[i].name, b->checks[i].name) || !str_equal(a->checks[i].sql, b->checks[i].sql))
            return false;
    return true;
}

static bool same_notes(const TableDef *a, const TableDef *b)
{
    if (a->nnotes != b->nnotes) return false;
    for (uint32_t i = 0; i < a->nnotes; i++) {
        const NoteDef *x = &a->notes[i], *y = &b->notes[i];
        if (!str_equal(x->kind, y->kind) || !str_equal(x->subject, y->subject) || !str_equal(x->text, y->text))
            return false;
    }
    return true;
}

/* Whether more than the table's name is another. */
static bool redefined(const Table *before, const Table *now)
{
    if (before == NULL || before->meta == now->meta) return false;
    const TableDef *a = &before->meta->def, *b = &now->meta->def;
    for (uint32_t c = 0; c < a->ncols; c++) {
        const ColumnDef *x = &a->cols[c], *y = &b->cols[c];
        bool same = str_equal(x->name, y->name) && str_equal(x->default_sql, y->default_sql);
        if (!same || x->not_null != y->not_null) return true;
    }
    return !same_keys(a, b) || !same_checks(a, b) || !same_notes(a, b);
}

static tcudb_status put_removals(Buf *buf, const Root *base, const Root *work, Error *err)
{
    for (uint32_t t = 0; t < base->ntables; t++) {
        const Table *before = base->tables[t], *now = counterpart(work, before);
        if (now != NULL && !renamed(before, now) && !revised(before, now) && !redefined(before, now)) continue;
        TRY(put_byte(buf, now == NULL ? CHANGE_DROP_TABLE : CHANGE_TAKE_TABLE, err));
        TRY(put_varint(buf, before->meta->def.id, err));
    }
    for (uint32_t v = 0; v < base->nviews; v++) {
        if (has_view(work, base->views[v]->def.id)) continue;
        TRY(put_byte(buf, CHANGE_DROP_VIEW, err));
        TRY(put_varint(buf, base->views[v]->def.id, err));
    }
    return TCUDB_OK;
}

/* Few and short values stand in the record itself. */
static bool fits_record(const Dict *dict, uint32_t known, uint32_t count)
{
    const Str *values = dict_values(dict);
    size_t bytes = 0;
    if (count - known > DICT_INLINE_VALUES) return false;
    for (uint32_t i = known; i < count; i++) bytes += values[i].len;
    return bytes <= DICT_INLINE_BYTES;
}

static tcudb_status put_dict(Buf *buf, const Db *db, Dict *dict, Error *err)
{
    uint32_t count = dict_count(dict), known = dict->committed.count;
    if (!fits_record(dict, known, count)) TRY(dict_save(dict, db->writer->cancel, err));
    uint8_t loose = dict_is_loose(dict) ? DICT_LOOSE : 0;
    if (dict->now.stored > known) {
        if (dict->committed.length == 0) db->disk->new_files = true;
        assert(dict->now.stored == count);
        TRY(put_byte(buf, DICT_STORED | loose, err));
        TRY(put_varint(buf, count, err));
        return put_varint(buf, dict->now.length, err);
    }
    TRY(put_byte(buf, DICT_INLINE | loose, err));
    TRY(put_varint(buf, known, err));
    TRY(put_varint(buf, count - known, err));
    const Str *values = dict_values(dict);
    for (uint32_t i = known; i < count; i++) TRY(put_text(buf, values[i], err));
    dict_tell(dict, count);
    return TCUDB_OK;
}

static bool column_changed(const Table *before, const Table *now, uint32_t source, uint32_t c)
{
    bool changed = source == NO_COLUMN;
    for (uint32_t s = 0; s < before->nsegs && !changed; s++) changed = column_replaced(before, now, s, source, c);
    return changed;
}

/* Column c of the segments that were there, and, if it is new, of `tail` rows. */
static tcudb_status put_changed_column(Buf *buf, const Table *before, const Table *now, uint32_t c, uint32_t tail,
                                       Error *err)
{
    uint32_t source = source_of(before->meta, now->meta, c);
    TRY(put_varint(buf, c, err));
    TRY(put_byte(buf, now->sketch != NULL, err));
    if (now->sketch != NULL) TRY(buf_append(buf, now->sketch + (size_t)c * SKETCH_BYTES, SKETCH_BYTES, err));
    for (uint32_t s = 0; s < before->nsegs; s++) {
        bool replaced = source == NO_COLUMN || column_replaced(before, now, s, source, c);
        TRY(put_byte(buf, replaced, err));
        if (replaced) TRY(put_column(buf, now->segs[s]->cols[c], 0, err));
    }
    if (source != NO_COLUMN || tail == 0) return TCUDB_OK;
    return put_raw_column(buf, now->meta->def.cols[c].type, now->tail, c, 0, tail, err);
}

static tcudb_status put_columns(Buf *buf, const Table *before, const Table *now, Error *err)
{
    const TableMeta *meta = now->meta;
    uint32_t tail = now->nsegs > before->nsegs ? 0 : before->tail_rows, nchanged = 0;
    TRY(put_byte(buf, CHANGE_COLUMNS, err));
    TRY(put_table_def(buf, meta, err));
    for (uint32_t c = 0; c < meta->def.ncols; c++) {
        uint32_t source = source_of(before->meta, meta, c);
        TRY(put_varint(buf, source == NO_COLUMN ? 0 : source + 1, err));
        nchanged += column_changed(before, now, source, c);
    }
    for (uint32_t c = 0; c < meta->def.ncols; c++)
        if (meta->dicts[c] != NULL) TRY(put_dict(buf, now->db, meta->dicts[c], err));
    TRY(put_varint(buf, tail, err));
    TRY(put_varint(buf, nchanged, err));
    for (uint32_t c = 0; c < meta->def.ncols; c++)
        if (column_changed(before, now, source_of(before->meta, meta, c), c))
            TRY(put_changed_column(buf, before, now, c, tail, err));
    return TCUDB_OK;
}

static tcudb_status put_arrivals(Buf *buf, const Root *base, const Root *work, Error *err)
{
    for (uint32_t t = 0; t < work->ntables; t++) {
        const TableMeta *meta = work->tables[t]->meta;
        const Table *before = counterpart(base, work->tables[t]);
        if (before == NULL) {
            TRY(put_byte(buf, CHANGE_CREATE_TABLE, err));
            TRY(put_table_def(buf, meta, err));
        } else if (revised(before, work->tables[t])) {
            TRY(put_columns(buf, before, work->tables[t], err));
        } else if (redefined(before, work->tables[t])) {
            TRY(put_byte(buf, CHANGE_DEFINE_TABLE, err));
            TRY(put_table_def(buf, meta, err));
        } else if (renamed(before, work->tables[t])) {
            TRY(put_byte(buf, CHANGE_NAME_TABLE, err));
            TRY(put_varint(buf, meta->def.id, err));
            TRY(put_text(buf, meta->def.name, err));
        }
    }
    for (uint32_t v = 0; v < work->nviews; v++) {
        if (has_view(base, work->views[v]->def.id)) continue;
        TRY(put_byte(buf, CHANGE_CREATE_VIEW, err));
        TRY(put_view_def(buf, &work->views[v]->def, err));
    }
    return TCUDB_OK;
}

static const Deleted *deleted_of(const Table *table, uint32_t segment)
{
    return table == NULL || table->deleted == NULL ? NULL : table->deleted[segment];
}

static tcudb_status put_table_change(Buf *buf, const Table *before, const Table *now, Error *err)
{
    const TableMeta *meta = now->meta;
    bool reset = before != NULL && now->lineage != before->lineage; /* truncated */
    const Table *from = reset ? NULL : before;
    uint32_t old_segs = from == NULL ? 0 : from->nsegs;
    uint32_t old_rows = from == NULL || now->nsegs > old_segs ? 0 : from->tail_rows;
    TRY(put_byte(buf, CHANGE_ROWS, err));
    TRY(put_varint(buf, meta->def.id, err));
    TRY(put_byte(buf, reset, err));
    for (uint32_t c = 0; c < meta->def.ncols; c++) {
        if (meta->dicts[c] == NULL) continue;
        if (reset) TRY(put_varint(buf, meta->dicts[c]->id, err));
        TRY(put_dict(buf, now->db, meta->dicts[c], err));
    }
    TRY(put_varint(buf, now->nsegs - old_segs, err));
    for (uint32_t s = old_segs; s < now->nsegs; s++) TRY(put_segment(buf, meta, now->segs[s], err));
    if (now->nsegs > old_segs) TRY(put_sketch(buf, now, err));
    TRY(put_varint(buf, old_rows, err));
    TRY(put_rows(buf, meta, now->tail, old_rows, now->tail_rows - old_rows, err));
    for (uint32_t s = 0; s <= now->nsegs; s++) {
        bool new_segment = s >= old_segs && (from == NULL || now->nsegs > old_segs);
        const Deleted *old = new_segment ? NULL : deleted_of(from, s);
        const Deleted *mine = deleted_of(now, s);
        if (mine == old) continue;
        TRY(put_varint(buf, s + 1, err));
        TRY(put_deleted(buf, mine, old, err));
    }
    return put_varint(buf, 0, err);
}

/* A version without rows, segments or new dictionaries, like that of a CREATE TABLE. */
static bool is_empty(const Table *table)
{
    return table->nsegs == 0 && table->tail_rows == 0;
}

tcudb_status put_commit(Buf *buf, Txn *txn, Error *err)
{
    const Root *base = txn->base, *work = txn->work;
    TRY(put_varint(buf, atomic_load(&txn->db->next_id), err));
    TRY(put_varint(buf, atomic_load(&txn->db->next_file), err));
    TRY(put_removals(buf, base, work, err));
    TRY(put_arrivals(buf, base, work, err));
    for (uint32_t t = 0; t < work->ntables; t++) {
        const Table *now = work->tables[t];
        const Table *before = counterpart(base, now);
        if (now == before || (before == NULL && is_empty(now))) continue;
        TRY(put_table_change(buf, before, now, err));
    }
    return put_byte(buf, CHANGE_END, err);
}
