/*
 * record.c: definitions, facts, deletions and raw rows as bytes, the same in the log and in the manifest.
 *
 * Readers take bytes whose checksum was right, but still check every count against what is there: a wrong number
 * gives `bad`, which the caller reports as damage, never a crash. The layouts are in doc/format.md.
 */
#include "store/disk.h"

#include <assert.h>
#include <string.h>

enum { MAX_COLUMNS = 1 << 16 };

/* ---- definitions ------------------------------------------------------------------------------ */

static tcudb_status put_type(Buf *buf, Type type, Error *err)
{
    uint8_t bytes[3] = {type.id, type.precision, type.scale};
    TRY(buf_append(buf, bytes, sizeof bytes, err));
    return put_varint(buf, type.length, err);
}

static Type get_type(Reader *r)
{
    Type type = {0};
    type.id = get_byte(r);
    type.precision = get_byte(r);
    type.scale = get_byte(r);
    type.length = (uint32_t)get_count(r, UINT32_MAX);
    bool known = type.id > TYPE_UNKNOWN && type.id < TYPE_COUNT && type.id != TYPE_INTERVAL;
    if (!known || type.precision > 38 || type.scale > 38) {
        r->bad = true;
        return TYPE(TYPE_BOOL);
    }
    return type;
}

/* The last two of a table's first column: keys and checks, then notes follow the columns. */
enum { NOT_NULL = 1, HAS_CONSTRAINTS = 2, HAS_NOTES = 4 };

static uint8_t table_flags(const TableDef *def)
{
    if (def->ncols == 0) return 0;
    return (uint8_t)((def->nkeys + def->nchecks > 0 ? HAS_CONSTRAINTS : 0) | (def->nnotes > 0 ? HAS_NOTES : 0));
}

static tcudb_status put_constraints(Buf *buf, const TableDef *def, Error *err)
{
    TRY(put_varint(buf, def->nkeys, err));
    for (uint32_t k = 0; k < def->nkeys; k++) {
        const KeyDef *key = &def->keys[k];
        TRY(put_text(buf, key->name, err));
        TRY(put_byte(buf, key->primary, err));
        TRY(put_varint(buf, key->ncols, err));
        for (uint32_t i = 0; i < key->ncols; i++) TRY(put_varint(buf, key->cols[i], err));
    }
    TRY(put_varint(buf, def->nchecks, err));
    for (uint32_t k = 0; k < def->nchecks; k++) {
        TRY(put_text(buf, def->checks[k].name, err));
        TRY(put_text(buf, def->checks[k].sql, err));
    }
    return TCUDB_OK;
}

static tcudb_status put_notes(Buf *buf, const TableDef *def, Error *err)
{
    TRY(put_varint(buf, def->nnotes, err));
    for (uint32_t i = 0; i < def->nnotes; i++) {
        TRY(put_text(buf, def->notes[i].kind, err));
        TRY(put_text(buf, def->notes[i].subject, err));
        TRY(put_text(buf, def->notes[i].text, err));
    }
    return TCUDB_OK;
}

static tcudb_status get_notes(Reader *r, Arena *arena, TableDef *def, Error *err)
{
    def->nnotes = (uint32_t)get_count(r, (uint64_t)(r->end - r->at));
    NoteDef *notes = ARENA_ARRAY(arena, NoteDef, def->nnotes, err);
    TRY_PTR(notes);
    for (uint32_t i = 0; i < def->nnotes && !r->bad; i++) {
        notes[i].kind = get_text(r);
        notes[i].subject = get_text(r);
        notes[i].text = get_text(r);
    }
    def->notes = notes;
    return TCUDB_OK;
}

/* Version 3 kept notes as checks named byte 1, kind, blank, subject. Since, a check of such a name is one. */
static tcudb_status split_old_notes(TableDef *def, CheckDef *checks, Arena *arena, Error *err)
{
    uint32_t n = 0;
    NoteDef *notes = ARENA_ARRAY(arena, NoteDef, def->nchecks, err);
    TRY_PTR(notes);
    for (uint32_t k = 0; k < def->nchecks; k++) {
        Str name = checks[k].name;
        const char *blank = name.len > 0 && name.ptr[0] == '\1' ? memchr(name.ptr, ' ', name.len) : NULL;
        if (blank == NULL) {
            checks[n++] = checks[k];
            continue;
        }
        uint32_t at = (uint32_t)(blank - name.ptr);
        notes[def->nnotes++] = (NoteDef){{name.ptr + 1, at - 1}, {blank + 1, name.len - at - 1}, checks[k].sql};
    }
    def->nchecks = n;
    def->notes = notes;
    return TCUDB_OK;
}

static tcudb_status get_keys(Reader *r, Arena *arena, TableDef *def, Error *err)
{
    def->nkeys = (uint32_t)get_count(r, (uint64_t)(r->end - r->at));
    KeyDef *keys = ARENA_ARRAY(arena, KeyDef, def->nkeys, err);
    TRY_PTR(keys);
    for (uint32_t k = 0; k < def->nkeys && !r->bad; k++) {
        keys[k].name = get_text(r);
        keys[k].primary = get_byte(r) & 1;
        keys[k].ncols = (uint32_t)get_count(r, def->ncols);
        uint32_t *cols = ARENA_ARRAY(arena, uint32_t, keys[k].ncols, err);
        TRY_PTR(cols);
        for (uint32_t i = 0; i < keys[k].ncols; i++) cols[i] = (uint32_t)get_count(r, def->ncols - 1);
        keys[k].cols = cols;
    }
    def->keys = keys;
    return TCUDB_OK;
}

static tcudb_status get_constraints(Reader *r, const Db *db, Arena *arena, TableDef *def, Error *err)
{
    TRY(get_keys(r, arena, def, err));
    def->nchecks = (uint32_t)get_count(r, (uint64_t)(r->end - r->at));
    CheckDef *checks = ARENA_ARRAY(arena, CheckDef, def->nchecks, err);
    TRY_PTR(checks);
    for (uint32_t k = 0; k < def->nchecks && !r->bad; k++) {
        checks[k].name = get_text(r);
        checks[k].sql = get_text(r);
    }
    def->checks = checks;
    return db->disk->old_format && !r->bad ? split_old_notes(def, checks, arena, err) : TCUDB_OK;
}

tcudb_status put_table_def(Buf *buf, const TableMeta *meta, Error *err)
{
    TRY(put_varint(buf, meta->def.id, err));
    TRY(put_text(buf, meta->def.name, err));
    TRY(put_varint(buf, meta->def.ncols, err));
    for (uint32_t c = 0; c < meta->def.ncols; c++) {
        const ColumnDef *col = &meta->def.cols[c];
        TRY(put_text(buf, col->name, err));
        TRY(put_type(buf, col->type, err));
        TRY(put_byte(buf, (uint8_t)(col->not_null | (c == 0 ? table_flags(&meta->def) : 0)), err));
        TRY(put_text(buf, col->default_sql, err));
        if (meta->dicts[c] != NULL) TRY(put_varint(buf, meta->dicts[c]->id, err));
    }
    if (table_flags(&meta->def) & HAS_CONSTRAINTS) TRY(put_constraints(buf, &meta->def, err));
    return table_flags(&meta->def) & HAS_NOTES ? put_notes(buf, &meta->def, err) : TCUDB_OK;
}

static Dict *known_dict(Db *db, uint64_t id)
{
    for (uint32_t t = 0; db->root != NULL && t < db->root->ntables; t++) {
        const TableMeta *meta = db->root->tables[t]->meta;
        for (uint32_t c = 0; c < meta->def.ncols; c++)
            if (meta->dicts[c] != NULL && meta->dicts[c]->id == id) return meta->dicts[c];
    }
    return NULL;
}

/* The dictionary of that id: the one that the process has already, or a new one. */
tcudb_status db_dict(Db *db, uint64_t id, Dict **out, Error *err)
{
    *out = known_dict(db, id);
    dict_ref(*out);
    return *out != NULL ? TCUDB_OK : dict_new(&db->mem, id, db->path, out, err);
}

static tcudb_status get_columns(Reader *r, Db *db, ColumnDef *cols, Dict **dicts, uint32_t ncols, uint8_t *more,
                                Error *err)
{
    for (uint32_t c = 0; c < ncols && !r->bad; c++) {
        cols[c].name = get_text(r);
        cols[c].type = get_type(r);
        uint8_t flags = get_byte(r);
        cols[c].not_null = (flags & NOT_NULL) != 0;
        if (c == 0) *more = flags;
        cols[c].default_sql = get_text(r);
        if (!type_is_text(cols[c].type)) continue;
        uint64_t id = get_varint(r);
        if (!r->bad) TRY(db_dict(db, id, &dicts[c], err));
    }
    return TCUDB_OK;
}

tcudb_status get_table_def(Reader *r, Db *db, Arena *arena, TableMeta **out, Error *err)
{
    TableDef def = {.id = get_varint(r), .name = get_text(r), .ncols = (uint32_t)get_count(r, MAX_COLUMNS)};
    *out = NULL;
    if (r->bad || (size_t)(r->end - r->at) < def.ncols) {
        r->bad = true;
        return TCUDB_OK;
    }
    ColumnDef *cols = ARENA_ARRAY(arena, ColumnDef, def.ncols, err);
    TRY_PTR(cols);
    Dict **dicts = ARENA_ARRAY(arena, Dict *, def.ncols, err);
    TRY_PTR(dicts);
    def.cols = cols;
    uint8_t more = 0;
    tcudb_status status = get_columns(r, db, cols, dicts, def.ncols, &more, err);
    if (status == TCUDB_OK && (more & HAS_CONSTRAINTS) && !r->bad) status = get_constraints(r, db, arena, &def, err);
    if (status == TCUDB_OK && (more & HAS_NOTES) && !r->bad) status = get_notes(r, arena, &def, err);
    if (status == TCUDB_OK && !r->bad) status = meta_new(&db->mem, &def, dicts, NULL, out, err);
    for (uint32_t c = 0; c < def.ncols; c++) dict_unref(dicts[c]);
    return status;
}

tcudb_status put_view_def(Buf *buf, const ViewDef *def, Error *err)
{
    TRY(put_varint(buf, def->id, err));
    TRY(put_text(buf, def->name, err));
    TRY(put_text(buf, def->sql, err));
    TRY(put_varint(buf, def->ncols, err));
    for (uint32_t c = 0; c < def->ncols; c++) TRY(put_text(buf, def->cols[c], err));
    return TCUDB_OK;
}

tcudb_status get_view_def(Reader *r, Db *db, Arena *arena, View **out, Error *err)
{
    ViewDef def = {.id = get_varint(r), .name = get_text(r), .sql = get_text(r)};
    def.ncols = (uint32_t)get_count(r, MAX_COLUMNS);
    *out = NULL;
    if (r->bad || (size_t)(r->end - r->at) < def.ncols) {
        r->bad = true;
        return TCUDB_OK;
    }
    Str *cols = ARENA_ARRAY(arena, Str, def.ncols, err);
    TRY_PTR(cols);
    for (uint32_t c = 0; c < def.ncols; c++) cols[c] = get_text(r);
    def.cols = cols;
    return r->bad ? TCUDB_OK : view_new(&db->mem, &def, out, err);
}

/* ---- segments --------------------------------------------------------------------------------- */

enum { COL_ASCENDING = 1, COL_BOUNDS = 2, COL_MIXED = 4, COL_PART = 8, COL_NO_BYTES = 16 };

tcudb_status put_column(Buf *buf, const Column *column, uint64_t part, Error *err)
{
    const ColData *col = &column->data;
    const SegColumn *pub = &col->pub;
    bool own = column->part != NULL && column->part->number != part;
    assert(column->part != NULL || column_is_uniform(pub));
    uint8_t flags =
        (uint8_t)((pub->ascending ? COL_ASCENDING : 0) | (pub->has_bounds ? COL_BOUNDS : 0) |
                  (col->mixed ? COL_MIXED : 0) | (own ? COL_PART : 0) | (column->part == NULL ? COL_NO_BYTES : 0));
    uint8_t head[4] = {(uint8_t)pub->codec, pub->word_width, pub->bits, flags};
    TRY(buf_append(buf, head, sizeof head, err));
    TRY(put_varint(buf, pub->nulls, err));
    if (pub->has_bounds) {
        TRY(put_value(buf, &pub->min, err));
        TRY(put_value(buf, &pub->max, err));
    }
    if (column->part == NULL) return TCUDB_OK;
    if (own) TRY(put_varint(buf, column->part->number, err));
    TRY(put_varint(buf, col->offset, err));
    TRY(put_varint(buf, pub->size, err));
    return put_u64(buf, col->checksum, err);
}

uint64_t column_base(const SegColumn *pub, Phys phys)
{
    if (pub->codec == CODEC_RAW || !pub->has_bounds || pub->word_width != stored_width(phys)) return 0;
    switch (phys) {
    case PHYS_BOOL: return pub->min.b;
    case PHYS_I16: return (uint64_t)pub->min.i16;
    case PHYS_I32: return (uint64_t)pub->min.i32;
    case PHYS_I64:
    case PHYS_STR: return (uint64_t)pub->min.i64;
    default: return 0;
    }
}

/* Whether decoders may rely on these numbers. */
static bool column_fits(const SegColumn *pub, Phys phys)
{
    uint32_t width = stored_width(phys);
    bool wide = phys == PHYS_I128 || phys == PHYS_NUM;
    if (codec_get(pub->codec) == NULL || pub->nulls > pub->rows) return false;
    if (pub->word_width != width && !(wide && pub->word_width == 8 && pub->has_bounds)) return false;
    if (pub->codec == CODEC_RAW) return pub->word_width == width && pub->size == (size_t)pub->rows * width;
    if (wide && pub->word_width != 8) return pub->codec == CODEC_CONSTANT && pub->nulls == pub->rows;
    if (pub->codec == CODEC_CONSTANT) return pub->size == 0;
    if (pub->codec == CODEC_BITPACK)
        return pub->bits > 0 && pub->bits <= pub->word_width * 8u &&
               pub->size == ((size_t)pub->rows * pub->bits + 7) / 8;
    return pub->size < UINT32_MAX;
}

/* Codes that are in the dictionary; a column without bytes says all by its facts. */
static bool facts_fit(const SegColumn *pub, bool no_bytes, const Dict *dict)
{
    if (no_bytes && !column_is_uniform(pub)) return false;
    if (dict == NULL || !pub->has_bounds) return true;
    return pub->min.i64 >= 0 && pub->min.i64 <= pub->max.i64 && pub->max.i64 < (int64_t)dict_count(dict);
}

static tcudb_status get_place(Reader *r, Db *db, Column *column, uint64_t part, PartSet *parts, Error *err)
{
    column->data.offset = get_varint(r);
    column->data.pub.size = get_count(r, UINT32_MAX);
    column->data.checksum = get_u64(r);
    return r->bad ? TCUDB_OK : partset_find(parts, db, part, &column->part, err);
}

static tcudb_status get_facts(Reader *r, Db *db, const TableMeta *meta, uint32_t c, uint64_t part, PartSet *parts,
                              Column *column, Error *err)
{
    ColData *col = &column->data;
    SegColumn *pub = &col->pub;
    Type type = meta->def.cols[c].type;
    uint32_t rows = pub->rows;
    facts_init(col, type);
    pub->rows = rows;
    pub->codec = (CodecId)get_byte(r);
    pub->word_width = get_byte(r);
    pub->bits = get_byte(r);
    uint8_t flags = get_byte(r);
    pub->nulls = (uint32_t)get_count(r, rows);
    pub->ascending = (flags & COL_ASCENDING) != 0;
    pub->has_bounds = (flags & COL_BOUNDS) != 0;
    col->mixed = (flags & COL_MIXED) != 0;
    if (pub->has_bounds) {
        get_value(r, &pub->min);
        get_value(r, &pub->max);
    }
    if ((flags & COL_PART) != 0) part = get_varint(r);
    if ((flags & COL_NO_BYTES) == 0) TRY(get_place(r, db, column, part, parts, err));
    pub->base = column_base(pub, type_phys(type));
    if (!column_fits(pub, type_phys(type)) || !facts_fit(pub, (flags & COL_NO_BYTES) != 0, meta->dicts[c]))
        r->bad = true;
    return TCUDB_OK;
}

tcudb_status get_column(Reader *r, Db *db, const TableMeta *meta, uint32_t c, uint32_t rows, uint64_t part,
                        PartSet *parts, Column **out, Error *err)
{
    Column *column;
    *out = NULL;
    TRY(column_new(&db->mem, &column, err));
    column->data.pub.rows = rows;
    tcudb_status status = get_facts(r, db, meta, c, part, parts, column, err);
    if (status == TCUDB_OK && !r->bad)
        *out = column;
    else
        column_unref(column);
    return status;
}

/* The part that most columns are in: the first one's; 0: none. */
static uint64_t main_part(const Segment *segment)
{
    for (uint32_t c = 0; c < segment->ncols; c++)
        if (segment->cols[c]->part != NULL) return segment->cols[c]->part->number;
    return 0;
}

tcudb_status put_segment(Buf *buf, const TableMeta *meta, const Segment *segment, Error *err)
{
    uint64_t part = main_part(segment);
    TRY(put_varint(buf, segment->rows, err));
    TRY(put_varint(buf, part, err));
    for (uint32_t c = 0; c < meta->def.ncols; c++) TRY(put_column(buf, segment->cols[c], part, err));
    return TCUDB_OK;
}

tcudb_status get_segment(Reader *r, Db *db, const TableMeta *meta, PartSet *parts, Segment **out, Error *err)
{
    uint32_t rows = (uint32_t)get_count(r, SEGMENT_ROWS);
    uint64_t number = get_varint(r);
    *out = NULL;
    if (r->bad || rows == 0 || (size_t)(r->end - r->at) < meta->def.ncols) {
        r->bad = true;
        return TCUDB_OK;
    }
    Segment *segment;
    tcudb_status status = TCUDB_OK;
    TRY(segment_new(&db->mem, rows, meta->def.ncols, &segment, err));
    for (uint32_t c = 0; c < meta->def.ncols && status == TCUDB_OK && !r->bad; c++)
        status = get_column(r, db, meta, c, rows, number, parts, &segment->cols[c], err);
    if (r->bad || status != TCUDB_OK)
        segment_unref(segment);
    else
        *out = segment;
    return status;
}

tcudb_status put_sketch(Buf *buf, const Table *table, Error *err)
{
    TRY(put_byte(buf, table->sketch != NULL, err));
    if (table->sketch == NULL) return TCUDB_OK;
    return buf_append(buf, table->sketch, (size_t)table->meta->def.ncols * SKETCH_BYTES, err);
}

tcudb_status get_sketch(Reader *r, Table *table, Error *err)
{
    if (get_byte(r) == 0) return TCUDB_OK;
    const uint8_t *bytes = get_bytes(r, (size_t)table->meta->def.ncols * SKETCH_BYTES);
    if (bytes == NULL) return TCUDB_OK;
    for (size_t i = 0; i < (size_t)table->meta->def.ncols * SKETCH_BYTES; i++)
        if (bytes[i] > 64) r->bad = true;
    return r->bad ? TCUDB_OK : table_merge_sketch(table, bytes, err);
}

tcudb_status get_column_sketch(Reader *r, Table *table, uint32_t c, Error *err)
{
    const uint8_t *bytes = get_bytes(r, SKETCH_BYTES);
    for (size_t i = 0; bytes != NULL && i < SKETCH_BYTES; i++)
        if (bytes[i] > 64) r->bad = true;
    return r->bad ? TCUDB_OK : revised_sketch(table, c, bytes, true, err);
}

/* ---- deletions -------------------------------------------------------------------------------- */

tcudb_status put_deleted(Buf *buf, const Deleted *now, const Deleted *before, Error *err)
{
    uint32_t count = 0, last = 0;
    for (uint32_t w = 0; now != NULL && w < DELETED_WORDS; w++)
        count += popcount64(now->bits[w] & ~(before == NULL ? 0 : before->bits[w]));
    TRY(put_varint(buf, count, err));
    for (uint32_t w = 0; count > 0 && w < DELETED_WORDS; w++) {
        uint64_t word = now->bits[w] & ~(before == NULL ? 0 : before->bits[w]);
        for (; word != 0; word &= word - 1) {
            uint32_t row = w * 64 + (uint32_t)__builtin_ctzll(word);
            TRY(put_varint(buf, row - last, err));
            last = row;
        }
    }
    return TCUDB_OK;
}

tcudb_status get_deleted(Reader *r, Table *table, uint32_t segment, Error *err)
{
    if (segment >= table_segments(table)) {
        r->bad = get_varint(r) != 0 || r->bad; /* an empty tail: nothing can be deleted */
        return TCUDB_OK;
    }
    uint32_t rows = segment_rows(table, segment);
    uint32_t n = (uint32_t)get_count(r, rows);
    uint64_t row = 0;
    for (uint32_t i = 0; i < n && !r->bad; i++) {
        row += get_count(r, SEGMENT_ROWS);
        if (row >= rows)
            r->bad = true;
        else
            TRY(table_delete_row(table, segment, (uint32_t)row, err));
    }
    return TCUDB_OK;
}

/* ---- raw rows --------------------------------------------------------------------------------- */

tcudb_status put_raw_column(Buf *buf, Type type, const RowBuf *rows, uint32_t c, uint32_t from, uint32_t n, Error *err)
{
    size_t width = stored_width(type_phys(type));
    const uint8_t *valid = rows->valid[c] + from;
    bool nulls = memchr(valid, 0, n) != NULL;
    TRY(put_byte(buf, nulls, err));
    TRY(buf_append(buf, rows->data[c] + from * width, n * width, err));
    return nulls ? buf_append(buf, valid, n, err) : TCUDB_OK;
}

tcudb_status put_rows(Buf *buf, const TableMeta *meta, const RowBuf *rows, uint32_t from, uint32_t n, Error *err)
{
    TRY(put_varint(buf, n, err));
    for (uint32_t c = 0; n > 0 && c < meta->def.ncols; c++)
        TRY(put_raw_column(buf, meta->def.cols[c].type, rows, c, from, n, err));
    return TCUDB_OK;
}

typedef struct RawColumn {
    const uint8_t *data;
    const uint8_t *valid; /* NULL: no NULLs */
} RawColumn;

/* What kernels rely on: booleans are 0 or 1, codes are in the dictionary, validity bytes are 0 or 1. */
static bool rows_fit(const TableMeta *meta, uint32_t c, const RawColumn *col, uint32_t n)
{
    for (uint32_t i = 0; col->valid != NULL && i < n; i++)
        if (col->valid[i] > 1) return false;
    if (type_phys(meta->def.cols[c].type) == PHYS_BOOL)
        for (uint32_t i = 0; i < n; i++)
            if (col->data[i] > 1) return false;
    uint32_t count = meta->dicts[c] == NULL ? 0 : dict_count(meta->dicts[c]);
    for (uint32_t i = 0; meta->dicts[c] != NULL && i < n; i++) {
        uint32_t code;
        memcpy(&code, col->data + (size_t)i * 4, 4);
        if (code >= count && (col->valid == NULL || col->valid[i])) return false;
    }
    return true;
}

void get_raw_column(Reader *r, const TableMeta *meta, uint32_t c, RowBuf *rows, uint32_t at, uint32_t n)
{
    size_t width = stored_width(type_phys(meta->def.cols[c].type));
    bool nulls = get_byte(r) != 0;
    RawColumn col = {.data = get_bytes(r, n * width)};
    if (nulls) col.valid = get_bytes(r, n);
    if (r->bad || !rows_fit(meta, c, &col, n)) {
        r->bad = true;
        return;
    }
    memcpy(rows->data[c] + at * width, col.data, n * width);
    if (nulls)
        memcpy(rows->valid[c] + at, col.valid, n);
    else
        memset(rows->valid[c] + at, 1, n);
}

tcudb_status get_rows(Reader *r, Table *table, Error *err)
{
    const TableMeta *meta = table->meta;
    uint32_t n = (uint32_t)get_count(r, SEGMENT_ROWS - table->tail_rows);
    if (n == 0) return TCUDB_OK;
    TRY(table_tail_room(table, n, err));
    for (uint32_t c = 0; c < meta->def.ncols && !r->bad; c++)
        get_raw_column(r, meta, c, table->tail, table->tail_rows, n);
    if (r->bad) return TCUDB_OK;
    table_tail_added(table, n);
    return TCUDB_OK;
}
