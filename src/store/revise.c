/*
 * revise.c: other columns over the same rows: a column comes, goes, changes its type, or gets new values in place.
 *
 *     version before     segment 0: a b c     segment 1: a b c     tail: a b c
 *     b revised, c gone  segment 0: a B       segment 1: a b       tail: a b      B: new bytes in a part of its own
 *
 * Columns are counted objects of their own, so the version that comes out shares those that stay, here and in the
 * files, and snapshots go on with what they have. Where a column comes from:
 *
 *     kept       as it is, maybe with new values in some segments (patches)
 *     widened    a type that holds the same values in wider words: the bytes are shared, only the facts are new, unless
 *                the words lie there raw in their narrower width: then those segments are encoded anew
 *     constant   no bytes at all: each segment's facts say the value; all NULL likewise
 *     written    by patches, one a segment and one for the tail: on any thread, each by one
 *
 * A patch has room for its segment's values, those that it had before unless all live rows are written. Rows that are
 * deleted get the value of a live one, so that they do not widen the bounds, which are exact for what is stored.
 *
 * Nothing is seen before revision_finish: it puts the new version into the transaction's root, as any change. New bytes
 * lie in the transaction's part file, durable before the commit record, which lists the columns that are not as before
 * (commit.c); replay does the same with them as here. What a failed revision has written goes with the transaction's
 * part file. The old columns' bytes go with their part file, when no column in use lies in it any more (fold.c).
 *
 * Texts: a kept column keeps its dictionary, in which values may now be in no row (it is loose); others get a new one.
 * Cost: O(segments x columns) pointers, and what is written; the tail is copied if columns come or go.
 */
#include "store/store_int.h"

#include <assert.h>
#include <string.h>

struct Revision {
    Txn *txn;
    Table *from;     /* the version that is revised */
    TableMeta *meta; /* of the one that will be */
    ColumnSource *sources;
    uint32_t *kept; /* per column of meta: of which of `from` it has the values; NO_COLUMN */
    uint32_t nwritten;
    uint32_t *written;    /* columns of meta that patches write */
    TableMeta *patch;     /* these alone, as a table */
    Column **cols;        /* segment x columns of meta: new ones */
    uint8_t *sketches;    /* per column of meta: of new values */
    RowBuf *tail;         /* of the patch's columns */
    uint32_t npatched;    /* segments; under lock */
    pthread_mutex_t lock; /* of npatched and sketches */
    size_t bytes;         /* of the block that the arrays lie in */
    void *block;
};

/* ---- a version with other columns ------------------------------------------------------------------ */

static tcudb_status share_columns(const Segment *old, const TableMeta *meta, const uint32_t *from, Segment **out,
                                  Error *err)
{
    TRY(segment_new(old->mem, old->rows, meta->def.ncols, out, err));
    for (uint32_t c = 0; c < meta->def.ncols; c++)
        if (from[c] != NO_COLUMN) (*out)->cols[c] = column_ref(old->cols[from[c]]);
    return TCUDB_OK;
}

static bool same_columns(const Table *old, const TableMeta *meta, const uint32_t *from)
{
    bool same = meta->def.ncols == old->meta->def.ncols;
    for (uint32_t c = 0; c < meta->def.ncols && same; c++) same = from[c] == c;
    return same;
}

static tcudb_status copy_tail(const Table *old, const uint32_t *from, Table *table, Error *err)
{
    const TableMeta *meta = table->meta;
    table->tail_rows = old->tail_rows;
    for (uint32_t c = 0; c < meta->def.ncols; c++) {
        if (from[c] == NO_COLUMN) continue;
        table->tail_cols[c].pub = old->tail_cols[from[c]].pub;
        table->tail_cols[c].mixed = old->tail_cols[from[c]].mixed;
    }
    if (old->tail == NULL) return TCUDB_OK;
    if (same_columns(old, meta, from)) {
        atomic_fetch_add(&old->tail->refs, 1);
        table->tail = old->tail;
        return TCUDB_OK;
    }
    TRY(rowbuf_new(&old->db->mem, meta, old->tail->cap, &table->tail, err));
    for (uint32_t c = 0; c < meta->def.ncols; c++) {
        size_t width = stored_width(type_phys(meta->def.cols[c].type));
        if (from[c] == NO_COLUMN) continue;
        TRY(cancel_poll(table_cancel(old), err));
        memcpy(table->tail->data[c], old->tail->data[from[c]], old->tail_rows * width);
        memcpy(table->tail->valid[c], old->tail->valid[from[c]], old->tail_rows);
    }
    return TCUDB_OK;
}

static tcudb_status copy_sketches(const Table *old, const uint32_t *from, Table *table, Error *err)
{
    uint32_t ncols = table->meta->def.ncols;
    if (old->sketch == NULL) return TCUDB_OK;
    table->sketch = mem_alloc_zero(&table->db->mem, (size_t)ncols * SKETCH_BYTES, err);
    TRY_PTR(table->sketch);
    for (uint32_t c = 0; c < ncols; c++)
        if (from[c] != NO_COLUMN)
            memcpy(table->sketch + (size_t)c * SKETCH_BYTES, old->sketch + (size_t)from[c] * SKETCH_BYTES,
                   SKETCH_BYTES);
    return TCUDB_OK;
}

static tcudb_status fill_revised(const Table *old, const uint32_t *from, Table *table, Error *err)
{
    table->lineage = old->lineage;
    table->live = old->live;
    TRY(table_reserve(table, old->nsegs, err));
    for (uint32_t s = 0; s < old->nsegs; s++) {
        TRY(share_columns(old->segs[s], table->meta, from, &table->segs[s], err));
        table->nsegs++;
    }
    for (uint32_t s = 0; old->deleted != NULL && s <= old->nsegs; s++) {
        table->deleted[s] = old->deleted[s];
        if (old->deleted[s] != NULL) atomic_fetch_add(&old->deleted[s]->refs, 1);
    }
    TRY(copy_sketches(old, from, table, err));
    return copy_tail(old, from, table, err);
}

tcudb_status table_revised(const Table *old, TableMeta *meta, const uint32_t *from, Table **out, Error *err)
{
    Table *table;
    TRY(table_new(old->db, meta, &table, err));
    tcudb_status status = fill_revised(old, from, table, err);
    if (status == TCUDB_OK)
        *out = table;
    else
        table_unref(table);
    return status;
}

void revised_tail(Table *table, uint32_t c)
{
    if (table->tail_rows == 0) return;
    facts_add(&table->tail_cols[c], table->meta->def.cols[c].type, table->tail->data[c], table->tail->valid[c], 0,
              table->tail_rows);
}

void revised_column(Table *table, uint32_t segment, uint32_t c, Column *column)
{
    Column **at = &table->segs[segment]->cols[c];
    column_unref(*at);
    *at = column;
}

tcudb_status revised_sketch(Table *table, uint32_t c, const uint8_t *sketch, bool anew, Error *err)
{
    size_t size = (size_t)table->meta->def.ncols * SKETCH_BYTES;
    if (table->sketch == NULL) {
        table->sketch = mem_alloc_zero(&table->db->mem, size, err);
        TRY_PTR(table->sketch);
    }
    uint8_t *to = table->sketch + (size_t)c * SKETCH_BYTES;
    if (anew) memset(to, 0, SKETCH_BYTES);
    sketch_merge(to, sketch, SKETCH_BYTES);
    return TCUDB_OK;
}

/* ---- planning one ------------------------------------------------------------------------------------- */

static bool is_kept(const ColumnSource *source)
{
    return source->from != NO_COLUMN && !source->widened;
}

static tcudb_status find_dicts(const Revision *rev, const TableDef *def, Dict **dicts, Error *err)
{
    Db *db = rev->txn->db;
    for (uint32_t c = 0; c < def->ncols; c++) {
        const ColumnSource *source = &rev->sources[c];
        if (!type_is_text(def->cols[c].type)) continue;
        if (is_kept(source)) {
            dicts[c] = rev->from->meta->dicts[source->from];
            dict_ref(dicts[c]);
        } else {
            TRY(dict_new(&db->mem, atomic_fetch_add(&db->next_id, 1), db->path, &dicts[c], err));
        }
    }
    return TCUDB_OK;
}

/* Columns that stay keep their ids; others get ones that the table never had. */
static void give_ids(const Revision *rev, TableMeta *meta)
{
    const TableMeta *old = rev->from->meta;
    meta->next_col_id = old->next_col_id;
    for (uint32_t c = 0; c < meta->def.ncols; c++)
        meta->ids[c] = is_kept(&rev->sources[c]) ? old->ids[rev->sources[c].from] : meta->next_col_id++;
}

static tcudb_status make_meta(Revision *rev, const TableDef *def, Error *err)
{
    Mem *mem = &rev->txn->db->mem;
    TableDef own = *def;
    own.id = rev->from->meta->def.id;
    own.name = rev->from->meta->def.name;
    own.temp = rev->from->meta->def.temp;
    Dict **dicts = mem_alloc_zero(mem, own.ncols * sizeof dicts[0], err);
    TRY_PTR(dicts);
    tcudb_status status = find_dicts(rev, &own, dicts, err);
    if (status == TCUDB_OK) status = meta_new(mem, &own, dicts, NULL, &rev->meta, err);
    for (uint32_t c = 0; c < own.ncols; c++) dict_unref(dicts[c]);
    mem_free(mem, dicts, own.ncols * sizeof dicts[0]);
    if (status == TCUDB_OK) give_ids(rev, rev->meta);
    return status;
}

static tcudb_status make_patch_meta(Revision *rev, Error *err)
{
    Mem *mem = &rev->txn->db->mem;
    size_t size = rev->nwritten * (sizeof(ColumnDef) + sizeof(Dict *));
    ColumnDef *cols = mem_alloc_zero(mem, size, err);
    TRY_PTR(cols);
    Dict **dicts = (Dict **)(cols + rev->nwritten);
    for (uint32_t i = 0; i < rev->nwritten; i++) {
        cols[i] = rev->meta->def.cols[rev->written[i]];
        cols[i].not_null = false; /* deleted rows may be NULL; of the others the caller knows */
        dicts[i] = rev->meta->dicts[rev->written[i]];
    }
    TableDef def = {.id = rev->meta->def.id, .name = rev->meta->def.name, .ncols = rev->nwritten, .cols = cols};
    tcudb_status status = meta_new(mem, &def, dicts, NULL, &rev->patch, err);
    mem_free(mem, cols, size);
    return status;
}

static tcudb_status make_arrays(Revision *rev, const ColumnSource *sources, uint32_t ncols, Error *err)
{
    size_t ncells = (size_t)rev->from->nsegs * ncols;
    rev->bytes = ncols * (sizeof(ColumnSource) + 2 * sizeof(uint32_t) + SKETCH_BYTES) + ncells * sizeof(Column *);
    rev->block = mem_alloc_zero(&rev->txn->db->mem, rev->bytes, err);
    TRY_PTR(rev->block);
    rev->sources = rev->block; /* 16-byte aligned: first */
    rev->cols = (Column **)(rev->sources + ncols);
    rev->kept = (uint32_t *)(rev->cols + ncells);
    rev->written = rev->kept + ncols;
    rev->sketches = (uint8_t *)(rev->written + ncols);
    for (uint32_t c = 0; c < ncols; c++) {
        rev->sources[c] = sources[c];
        rev->kept[c] = is_kept(&sources[c]) ? sources[c].from : NO_COLUMN;
        if (sources[c].written) rev->written[rev->nwritten++] = c;
    }
    return TCUDB_OK;
}

static tcudb_status find_version(Txn *txn, Str name, Table **out, Error *err)
{
    bool found;
    uint32_t at = root_find_table(txn->base, name, &found);
    const Table *seen = found && !txn->writer ? txn->base->tables[at] : NULL;
    TRY(txn_write(txn, err));
    if (seen != NULL) {
        at = root_find_table(txn->base, name, &found);
        if (!found || txn->base->tables[at] != seen)
            return error_set(err, SQLSTATE_SERIALIZATION_FAILURE,
                             "could not serialize access due to concurrent update");
    }
    at = root_find_table(txn->work, name, &found);
    if (!found) return txn_no_table(name, err);
    *out = txn->work->tables[at];
    table_ref(*out);
    return TCUDB_OK;
}

tcudb_status revision_new(Txn *txn, Str name, const TableDef *def, const ColumnSource *sources, Revision **out,
                          Error *err)
{
    tcudb_status status;
    txn = txn_of(txn, name);
    Revision *rev = mem_alloc_zero(&txn->db->mem, sizeof *rev, err);
    TRY_PTR(rev);
    pthread_mutex_init(&rev->lock, NULL);
    rev->txn = txn;
    TRY_GOTO(find_version(txn, name, &rev->from, err));
    if (def == NULL) def = &rev->from->meta->def;
    TRY_GOTO(make_arrays(rev, sources, def->ncols, err));
    TRY_GOTO(make_meta(rev, def, err));
    TRY_GOTO(make_patch_meta(rev, err));
    *out = rev;
    return TCUDB_OK;
done:
    revision_abort(rev);
    return status;
}

void revision_abort(Revision *rev)
{
    if (rev == NULL) return;
    Mem *mem = &rev->txn->db->mem;
    size_t ncells = rev->meta == NULL ? 0 : (size_t)rev->from->nsegs * rev->meta->def.ncols;
    for (size_t i = 0; i < ncells; i++) column_unref(rev->cols[i]);
    rowbuf_unref(rev->tail);
    meta_unref(rev->patch);
    meta_unref(rev->meta);
    mem_free(mem, rev->block, rev->bytes);
    table_unref(rev->from);
    pthread_mutex_destroy(&rev->lock);
    mem_free(mem, rev, sizeof *rev);
}

/* ---- constants ------------------------------------------------------------------------------------------ */

/* The value as a stored word, texts as codes. */
static tcudb_status stored_word(const TableMeta *meta, uint32_t c, const Value *value, const atomic_bool *cancel,
                                uint8_t word[32], Error *err)
{
    Phys phys = type_phys(meta->def.cols[c].type);
    memset(word, 0, 32);
    if (value->null) return TCUDB_OK;
    if (phys != PHYS_STR) {
        memcpy(word, &value->num, phys_size(phys)); /* the members of the union begin at one place */
        return TCUDB_OK;
    }
    uint32_t code = 0;
    uint64_t hash = dict_hash(value->str);
    TRY(dict_index(meta->dicts[c], cancel, err));
    TRY(dict_codes(meta->dicts[c], &value->str, &hash, 1, &code, cancel, err));
    memcpy(word, &code, sizeof code);
    return TCUDB_OK;
}

static void fill_buffer(uint8_t *data, uint8_t *valid, uint32_t width, const uint8_t *word, bool null, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) memcpy(data + (size_t)i * width, word, width);
    memset(valid, !null, n);
}

/* Facts of `rows` equal values are those of one. */
static tcudb_status uniform_column(Mem *mem, Type type, const uint8_t *word, bool null, uint32_t rows, Column **out,
                                   Error *err)
{
    uint8_t valid = !null;
    TRY(column_new(mem, out, err));
    ColData *col = &(*out)->data;
    facts_init(col, type);
    facts_add(col, type, word, &valid, 0, 1);
    col->pub.rows = rows;
    col->pub.nulls = null ? rows : 0;
    col->pub.ascending &= rows == 1;
    col->pub.codec = CODEC_CONSTANT;
    Phys phys = type_phys(type);
    if (col->pub.has_bounds && (phys == PHYS_I128 || phys == PHYS_NUM)) col->pub.word_width = 8;
    col->pub.base = column_base(&col->pub, phys);
    return TCUDB_OK;
}

/* NaN and infinities of numeric have no bounds to say them by: their bytes are there. */
static tcudb_status constant_column(const Revision *rev, uint32_t c, const uint8_t *word, bool null, uint32_t rows,
                                    Column **out, Error *err)
{
    Mem *mem = &rev->txn->db->mem;
    Type type = rev->meta->def.cols[c].type;
    uint32_t width = stored_width(type_phys(type));
    TRY(uniform_column(mem, type, word, null, rows, out, err));
    if (column_is_uniform(&(*out)->data.pub)) return TCUDB_OK;
    column_unref(*out);
    *out = NULL;
    uint8_t *data = mem_alloc(mem, (size_t)rows * (width + 1), err);
    TRY_PTR(data);
    fill_buffer(data, data + (size_t)rows * width, width, word, null, rows);
    tcudb_status status = column_encode(mem, type, data, data + (size_t)rows * width, rows, out, err);
    mem_free(mem, data, (size_t)rows * (width + 1));
    if (status == TCUDB_OK) status = txn_write_columns(rev->txn, rev->meta->def.id, out, 1, err);
    return status;
}

/* Segments of one length share the column. */
static tcudb_status make_constant(Revision *rev, uint32_t c, Table *table, Error *err)
{
    uint8_t word[32] __attribute__((aligned(16))), sketch[SKETCH_BYTES] = {0};
    const Value *value = &rev->sources[c].value;
    Type type = rev->meta->def.cols[c].type;
    uint8_t valid = !value->null;
    TRY(stored_word(rev->meta, c, value, rev->txn->cancel, word, err));
    Column *last = NULL;
    for (uint32_t s = 0; s < table->nsegs; s++) {
        uint32_t rows = table->segs[s]->rows;
        TRY(cancel_poll(rev->txn->cancel, err));
        Column *column = NULL;
        if (last != NULL && last->data.pub.rows == rows)
            column = column_ref(last);
        else
            TRY(constant_column(rev, c, word, value->null, rows, &column, err));
        revised_column(table, s, c, column);
        last = column;
    }
    sketch_add(sketch, type_phys(type), word, &valid, 1);
    if (table->nsegs > 0) TRY(revised_sketch(table, c, sketch, true, err));
    if (table->tail_rows > 0)
        fill_buffer(table->tail->data[c], table->tail->valid[c], stored_width(type_phys(type)), word, value->null,
                    table->tail_rows);
    revised_tail(table, c);
    return TCUDB_OK;
}

/* ---- wider types ------------------------------------------------------------------------------------------ */

static int128 int_of(Phys phys, const void *at)
{
    switch (phys) {
    case PHYS_I16: return *(const int16_t *)at;
    case PHYS_I32: return *(const int32_t *)at;
    case PHYS_I64: return *(const int64_t *)at;
    default: assert(phys == PHYS_I128); return *(const int128 *)at;
    }
}

static void put_int(Phys phys, void *at, int128 v)
{
    switch (phys) {
    case PHYS_I16: *(int16_t *)at = (int16_t)v; return;
    case PHYS_I32: *(int32_t *)at = (int32_t)v; return;
    case PHYS_I64: *(int64_t *)at = (int64_t)v; return;
    default:
        assert(phys == PHYS_I128);
        *(int128 *)at = v;
        return;
    }
}

static Value wider_value(const Value *value, Type type)
{
    Value wider = {.type = type};
    put_int(type_phys(type), &wider.num, int_of(type_phys(value->type), &value->num));
    return wider;
}

/* The same words, where they do not depend on the type's width. */
static bool words_serve(const SegColumn *pub, Phys from, Phys to)
{
    return from == to || pub->codec != CODEC_RAW;
}

static void widen_facts(SegColumn *pub, Type type)
{
    Phys phys = type_phys(type);
    if (pub->has_bounds) {
        pub->min = wider_value(&pub->min, type);
        pub->max = wider_value(&pub->max, type);
    } else {
        pub->min.type = pub->max.type = type;
    }
    bool raw = pub->codec == CODEC_RAW;
    pub->word_width = (uint8_t)(phys == PHYS_I128 && pub->has_bounds && !raw ? 8 : stored_width(phys));
    pub->base = column_base(pub, phys);
}

/* The same bytes under wider facts: in a file by their place, in memory by a copy. */
static tcudb_status share_bytes(const Column *old, Type type, Column **out, Error *err)
{
    const SegColumn *from = &old->data.pub;
    TRY(column_new(old->mem, out, err));
    Column *column = *out;
    ColData *col = &column->data;
    facts_init(col, type);
    SegColumn *pub = &col->pub;
    *pub = *from;
    pub->bytes = NULL;
    pub->blocks = NULL;
    pub->valid = NULL;
    widen_facts(pub, type);
    col->mixed = old->data.mixed;
    if (old->part != NULL) {
        col->offset = old->data.offset;
        col->checksum = old->data.checksum;
        column->part = old->part;
        atomic_fetch_add(&old->part->refs, 1);
        return TCUDB_OK;
    }
    if (old->data.memory == NULL || column_is_uniform(from)) return TCUDB_OK;
    col->memory = mem_alloc(old->mem, old->data.memory_size, err);
    TRY_PTR(col->memory);
    col->memory_size = old->data.memory_size;
    memcpy(col->memory, old->data.memory, col->memory_size);
    coldata_point(col);
    atomic_store(&col->resident, true);
    return TCUDB_OK;
}

static void widen_values(Phys from, Phys to, const uint8_t *in, uint8_t *out, uint32_t n)
{
    uint32_t narrow = stored_width(from), wide = stored_width(to);
    for (uint32_t i = 0; i < n; i++) put_int(to, out + (size_t)i * wide, int_of(from, in + (size_t)i * narrow));
}

/* Raw values of the narrower width, encoded anew. */
static tcudb_status encode_wider(Revision *rev, const Column *old, Type from, Type type, Column **out, Error *err)
{
    Mem *mem = &rev->txn->db->mem;
    const SegColumn *pub = &old->data.pub;
    size_t width = stored_width(type_phys(type)), size = pub->rows * (width + 1);
    uint8_t *data = mem_alloc(mem, size, err);
    TRY_PTR(data);
    uint8_t *valid = data + pub->rows * width;
    widen_values(type_phys(from), type_phys(type), pub->bytes, data, pub->rows);
    for (uint32_t i = 0; i < pub->rows; i++) valid[i] = pub->valid == NULL || bit_get(pub->valid, i);
    tcudb_status status = column_encode(mem, type, data, valid, pub->rows, out, err);
    mem_free(mem, data, size);
    if (status == TCUDB_OK) status = txn_write_columns(rev->txn, rev->meta->def.id, out, 1, err);
    return status;
}

static tcudb_status widen_segment(Revision *rev, uint32_t c, Column *old, Type from, Column **out, Error *err)
{
    Type type = rev->meta->def.cols[c].type;
    TRY(cancel_poll(rev->txn->cancel, err));
    if (words_serve(&old->data.pub, type_phys(from), type_phys(type))) return share_bytes(old, type, out, err);
    residency_hold(old);
    tcudb_status status = column_load(old, err);
    if (status == TCUDB_OK) status = encode_wider(rev, old, from, type, out, err);
    residency_release(old);
    return status;
}

static tcudb_status make_wider(Revision *rev, uint32_t c, Table *table, Error *err)
{
    const Table *old = rev->from;
    uint32_t source = rev->sources[c].from;
    Type from = old->meta->def.cols[source].type, type = table->meta->def.cols[c].type;
    for (uint32_t s = 0; s < table->nsegs; s++) {
        Column *column = NULL;
        tcudb_status status = widen_segment(rev, c, old->segs[s]->cols[source], from, &column, err);
        if (column != NULL) revised_column(table, s, c, column);
        if (status != TCUDB_OK) return status;
    }
    if (old->sketch != NULL) TRY(revised_sketch(table, c, old->sketch + (size_t)source * SKETCH_BYTES, true, err));
    if (table->tail_rows > 0) {
        widen_values(type_phys(from), type_phys(type), old->tail->data[source], table->tail->data[c], table->tail_rows);
        memcpy(table->tail->valid[c], old->tail->valid[source], table->tail_rows);
    }
    revised_tail(table, c);
    return TCUDB_OK;
}

/* ---- patches --------------------------------------------------------------------------------------------- */

struct Patch {
    Revision *rev;
    uint32_t segment, rows;
    bool all;
    RowBuf *buf, *scratch; /* scratch: values on their way to rows that do not follow each other */
    TextCaches *caches;
};

/* What the rows have now. */
static tcudb_status load_values(Patch *p, Error *err)
{
    Revision *rev = p->rev;
    uint32_t n = rev->nwritten;
    tcudb_status status = TCUDB_OK;
    Arena arena;
    arena_init(&arena, &rev->txn->db->mem);
    for (uint32_t row = 0; row < p->rows; row += BATCH_ROWS) {
        Batch batch = {.ncols = n, .cols = ARENA_ARRAY(&arena, Vector, n, err)};
        status = batch.cols == NULL ? TCUDB_NOMEM : TCUDB_OK;
        if (status != TCUDB_OK) goto done;
        batch.rows = batch.n = p->rows - row < BATCH_ROWS ? p->rows - row : BATCH_ROWS;
        for (uint32_t i = 0; i < n; i++)
            TRY_GOTO(segment_read(rev->from, p->segment, rev->sources[rev->written[i]].from, row, batch.n, NULL, 0,
                                  &arena, &batch.cols[i], err));
        TRY_GOTO(rowbuf_append(p->buf, row, rev->patch, p->caches->caches, &batch, 0, batch.n, rev->txn->cancel, err));
        arena_reset(&arena);
    }
done:
    arena_free(&arena);
    return status;
}

static void clear_values(Patch *p)
{
    for (uint32_t i = 0; i < p->rev->nwritten; i++) {
        memset(p->buf->data[i], 0, (size_t)p->rows * stored_width(type_phys(p->rev->patch->def.cols[i].type)));
        memset(p->buf->valid[i], 0, p->rows);
    }
}

tcudb_status patch_new(Revision *rev, uint32_t segment, bool all, Patch **out, Error *err)
{
    Mem *mem = &rev->txn->db->mem;
    tcudb_status status;
    Patch *p = mem_alloc_zero(mem, sizeof *p, err);
    TRY_PTR(p);
    *p = (Patch){.rev = rev, .segment = segment, .rows = segment_rows(rev->from, segment), .all = all};
    uint32_t cap = segment == rev->from->nsegs ? rev->from->tail->cap : p->rows;
    TRY_GOTO(text_caches_new(mem, rev->patch, rev->txn->cancel, &p->caches, err));
    TRY_GOTO(rowbuf_new(mem, rev->patch, cap, &p->buf, err));
    if (all)
        clear_values(p);
    else
        TRY_GOTO(load_values(p, err));
    *out = p;
    return TCUDB_OK;
done:
    patch_abort(p);
    return status;
}

void patch_abort(Patch *p)
{
    if (p == NULL) return;
    Mem *mem = &p->rev->txn->db->mem;
    rowbuf_unref(p->buf);
    rowbuf_unref(p->scratch);
    text_caches_free(p->caches, mem);
    mem_free(mem, p, sizeof *p);
}

static void scatter(uint8_t *to, const uint8_t *from, uint32_t width, const uint32_t *rows, uint32_t n)
{
    switch (width) {
    case 4:
        for (uint32_t i = 0; i < n; i++) memcpy(to + (size_t)rows[i] * 4, from + (size_t)i * 4, 4);
        return;
    case 8:
        for (uint32_t i = 0; i < n; i++) memcpy(to + (size_t)rows[i] * 8, from + (size_t)i * 8, 8);
        return;
    default:
        for (uint32_t i = 0; i < n; i++) memcpy(to + (size_t)rows[i] * width, from + (size_t)i * width, width);
    }
}

tcudb_status patch_write(Patch *p, const uint32_t *rows, const Batch *batch, Error *err)
{
    const TableMeta *meta = p->rev->patch;
    uint32_t n = batch->n;
    assert(n <= BATCH_ROWS && batch->ncols == meta->def.ncols);
    if (n == 0) return TCUDB_OK;
    if (rows[n - 1] - rows[0] == n - 1)
        return rowbuf_append(p->buf, rows[0], meta, p->caches->caches, batch, 0, n, p->rev->txn->cancel, err);
    if (p->scratch == NULL) TRY(rowbuf_new(&p->rev->txn->db->mem, meta, BATCH_ROWS, &p->scratch, err));
    TRY(rowbuf_append(p->scratch, 0, meta, p->caches->caches, batch, 0, n, p->rev->txn->cancel, err));
    for (uint32_t i = 0; i < meta->def.ncols; i++) {
        uint32_t width = stored_width(type_phys(meta->def.cols[i].type));
        scatter(p->buf->data[i], p->scratch->data[i], width, rows, n);
        scatter(p->buf->valid[i], p->scratch->valid[i], 1, rows, n);
    }
    return TCUDB_OK;
}

/* Deleted rows get the value of the first live one; without any they stay NULL. */
static void fill_deleted(Patch *p)
{
    const uint64_t *deleted = segment_deleted(p->rev->from, p->segment);
    if (!p->all || deleted == NULL) return;
    uint32_t live = 0;
    while (live < p->rows && bit_get(deleted, live)) live++;
    for (uint32_t i = 0; i < p->rev->nwritten && live < p->rows; i++) {
        size_t width = stored_width(type_phys(p->rev->patch->def.cols[i].type));
        uint8_t *data = p->buf->data[i], *valid = p->buf->valid[i];
        for (uint32_t row = 0; row < p->rows; row++) {
            if (row == live || !bit_get(deleted, row)) continue;
            memcpy(data + row * width, data + live * width, width);
            valid[row] = valid[live];
        }
    }
}

static tcudb_status encode_patch(Patch *p, Column **cols, uint8_t *sketches, Error *err)
{
    Revision *rev = p->rev;
    for (uint32_t i = 0; i < rev->nwritten; i++) {
        Type type = rev->patch->def.cols[i].type;
        TRY(cancel_poll(rev->txn->cancel, err));
        TRY(column_encode(&rev->txn->db->mem, type, p->buf->data[i], p->buf->valid[i], p->rows, &cols[i], err));
        sketch_add(sketches + (size_t)i * SKETCH_BYTES, type_phys(type), p->buf->data[i], p->buf->valid[i], p->rows);
    }
    return txn_write_columns(rev->txn, rev->meta->def.id, cols, rev->nwritten, err);
}

static void take_patch(const Patch *p, Column **cols, const uint8_t *sketches)
{
    Revision *rev = p->rev;
    pthread_mutex_lock(&rev->lock);
    rev->npatched++;
    for (uint32_t i = 0; i < rev->nwritten; i++) {
        uint32_t c = rev->written[i];
        rev->cols[(size_t)p->segment * rev->meta->def.ncols + c] = cols[i];
        cols[i] = NULL;
        sketch_merge(rev->sketches + (size_t)c * SKETCH_BYTES, sketches + (size_t)i * SKETCH_BYTES, SKETCH_BYTES);
    }
    pthread_mutex_unlock(&rev->lock);
}

static tcudb_status finish_segment(Patch *p, Error *err)
{
    Mem *mem = &p->rev->txn->db->mem;
    uint32_t n = p->rev->nwritten;
    size_t size = n * (sizeof(Column *) + SKETCH_BYTES);
    Column **cols = mem_alloc_zero(mem, size, err);
    TRY_PTR(cols);
    uint8_t *sketches = (uint8_t *)(cols + n);
    tcudb_status status = encode_patch(p, cols, sketches, err);
    if (status == TCUDB_OK) take_patch(p, cols, sketches);
    for (uint32_t i = 0; i < n; i++) column_unref(cols[i]);
    mem_free(mem, cols, size);
    return status;
}

tcudb_status patch_finish(Patch *p, Error *err)
{
    tcudb_status status = TCUDB_OK;
    fill_deleted(p);
    if (p->segment < p->rev->from->nsegs) {
        status = finish_segment(p, err);
    } else {
        assert(p->all && p->rev->tail == NULL);
        p->rev->tail = p->buf;
        p->buf = NULL;
    }
    patch_abort(p);
    return status;
}

/* ---- the end --------------------------------------------------------------------------------------------- */

static void put_tail(const Revision *rev, Table *table, uint32_t i)
{
    uint32_t c = rev->written[i];
    if (rev->tail == NULL) return;
    size_t width = stored_width(type_phys(table->meta->def.cols[c].type));
    memcpy(table->tail->data[c], rev->tail->data[i], table->tail_rows * width);
    memcpy(table->tail->valid[c], rev->tail->valid[i], table->tail_rows);
    revised_tail(table, c);
}

static tcudb_status put_written(Revision *rev, Table *table, uint32_t i, Error *err)
{
    uint32_t c = rev->written[i];
    bool kept = rev->kept[c] != NO_COLUMN;
    assert(kept || (rev->npatched == table->nsegs && (rev->tail != NULL || table->tail_rows == 0)));
    for (uint32_t s = 0; s < table->nsegs; s++) {
        Column **column = &rev->cols[(size_t)s * table->meta->def.ncols + c];
        if (*column == NULL) continue;
        revised_column(table, s, c, *column);
        *column = NULL;
    }
    if (rev->npatched > 0)
        TRY(revised_sketch(table, c, rev->sketches + (size_t)c * SKETCH_BYTES, rev->npatched == table->nsegs, err));
    if (!kept)
        put_tail(rev, table, i);
    else if (table->meta->dicts[c] != NULL && rev->npatched > 0)
        dict_loosen(table->meta->dicts[c]);
    return TCUDB_OK;
}

static tcudb_status put_columns(Revision *rev, Table *table, Error *err)
{
    for (uint32_t i = 0; i < rev->nwritten; i++) TRY(put_written(rev, table, i, err));
    for (uint32_t c = 0; c < table->meta->def.ncols; c++) {
        if (rev->sources[c].widened)
            TRY(make_wider(rev, c, table, err));
        else if (rev->sources[c].from == NO_COLUMN && !rev->sources[c].written)
            TRY(make_constant(rev, c, table, err));
    }
    return TCUDB_OK;
}

static tcudb_status put_version(Revision *rev, Error *err)
{
    Txn *txn = rev->txn;
    bool found;
    TRY(txn_write(txn, err));
    uint32_t at = root_find_table(txn->work, rev->meta->def.name, &found);
    if (!found || txn->work->tables[at] != rev->from)
        return error_set(err, SQLSTATE_INTERNAL_ERROR, "the revised table has changed meanwhile");
    Table *table;
    TRY(table_revised(rev->from, rev->meta, rev->kept, &table, err));
    tcudb_status status = put_columns(rev, table, err);
    if (status == TCUDB_OK) status = txn_hold(txn, txn->work->tables[at], err);
    if (status == TCUDB_OK)
        txn->work->tables[at] = table;
    else
        table_unref(table);
    return status;
}

tcudb_status revision_finish(Revision *rev, Error *err)
{
    tcudb_status status = put_version(rev, err);
    revision_abort(rev);
    return status;
}
