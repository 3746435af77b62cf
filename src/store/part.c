/*
 * part.c: part files: encoded columns of segments, one after the other.
 *
 *     "TCUDBPRT" | u32 version | u32 0 | u64 number | u64 XXH3-64 of the 24 bytes before | zeros to 64 |
 *     column data, each at a multiple of 64
 *
 * Column data is ColData.memory as it is; its place, size and checksum stand in the commit record or the manifest.
 * A transaction writes one part file a table, from several threads: each reserves its range first. The file becomes
 * durable in the commit. Reading: one pread into memory charged to the database's budget, not a mapping, so that a
 * truncated file or a read error is an error of the statement and not a signal, and memory in use is known.
 */
#include "store/store_int.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { PART_VERSION = 1, PART_HEADER = 64, EARLY_STEP = 8 << 20 };

static tcudb_status part_path(const Part *part, char out[PATH_TEXT], Error *err)
{
    return file_path(out, part->db->path, "part", part->number, err);
}

static tcudb_status part_open(Db *db, uint64_t number, Part **out, Error *err)
{
    Part *part = mem_alloc_zero(&db->mem, sizeof *part, err);
    TRY_PTR(part);
    atomic_init(&part->refs, 1);
    part->db = db;
    part->number = number;
    part->fd = -1;
    part->committed = true;
    pthread_mutex_init(&part->lock, NULL);
    *out = part;
    return TCUDB_OK;
}

void part_unref(Part *part)
{
    if (part == NULL || atomic_fetch_sub(&part->refs, 1) != 1) return;
    file_close(part->fd);
    char path[PATH_TEXT];
    if (!part->committed && part_path(part, path, NULL) == TCUDB_OK) unlink(path);
    pthread_mutex_destroy(&part->lock);
    mem_free(&part->db->mem, part, sizeof *part);
}

tcudb_status partset_find(PartSet *set, Db *db, uint64_t number, Part **out, Error *err)
{
    uint32_t lo = 0, hi = set->n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (set->at[mid]->number < number)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == set->n || set->at[lo]->number != number) {
        Part **at = grow_pointers(&db->mem, set->at, &set->cap, set->n, err);
        TRY_PTR(at);
        set->at = at;
        Part *part;
        TRY(part_open(db, number, &part, err));
        memmove(at + lo + 1, at + lo, (set->n - lo) * sizeof at[0]);
        at[lo] = part;
        set->n++;
    }
    *out = set->at[lo];
    atomic_fetch_add(&(*out)->refs, 1);
    return TCUDB_OK;
}

void partset_free(PartSet *set, Db *db)
{
    for (uint32_t i = 0; i < set->n; i++) part_unref(set->at[i]);
    mem_free(&db->mem, set->at, set->cap * sizeof set->at[0]);
    *set = (PartSet){0};
}

static tcudb_status part_create(Db *db, Part **out, Error *err)
{
    TRY(part_open(db, atomic_fetch_add(&db->next_file, 1), out, err));
    Part *part = *out;
    char path[PATH_TEXT];
    uint8_t header[PART_HEADER] = "TCUDBPRT";
    uint32_t version = PART_VERSION;
    memcpy(header + 8, &version, 4);
    memcpy(header + 16, &part->number, 8);
    uint64_t sum = XXH3_64bits(header, 24);
    memcpy(header + 24, &sum, 8);
    tcudb_status status;
    TRY_GOTO(part_path(part, path, err));
    part->committed = false;
    TRY_GOTO(file_open(path, O_RDWR | O_CREAT | O_TRUNC, &part->fd, err));
    TRY_GOTO(file_write(part->fd, path, header, PART_HEADER, 0, err));
    atomic_store(&part->size, PART_HEADER);
done:
    if (status != TCUDB_OK) part_unref(part);
    return status;
}

/* The transaction's file for the table. txn->lock or a single thread. */
static tcudb_status find_part(Txn *txn, uint64_t table, Part **out, Error *err)
{
    for (uint32_t i = 0; i < txn->nparts; i++) {
        *out = txn->parts[i].part;
        if (txn->parts[i].table == table) return TCUDB_OK;
    }
    if (txn->nparts == txn->cap_parts) {
        uint32_t cap = txn->cap_parts * 2 + 4;
        TxnPart *parts =
            mem_realloc(&txn->db->mem, txn->parts, txn->cap_parts * sizeof parts[0], cap * sizeof parts[0], err);
        TRY_PTR(parts);
        txn->parts = parts;
        txn->cap_parts = cap;
    }
    TRY(part_create(txn->db, out, err));
    txn->parts[txn->nparts++] = (TxnPart){table, *out};
    return TCUDB_OK;
}

static size_t place_of(const Column *column)
{
    return (column->data.memory_size + 63) & ~(size_t)63;
}

/* What was written up to the last whole step begins its way to the disk while more is made. */
static void start_sync(const Part *part, uint64_t from, uint64_t to)
{
    uint64_t first = from & ~(uint64_t)(EARLY_STEP - 1), last = to & ~(uint64_t)(EARLY_STEP - 1);
    if (first < last) file_start_sync(part->fd, first, last);
}

tcudb_status txn_write_columns(Txn *txn, uint64_t table, Column *const *cols, uint32_t n, Error *err)
{
    Part *part;
    char path[PATH_TEXT];
    uint64_t total = 0;
    for (uint32_t c = 0; c < n; c++) total += place_of(cols[c]);
    if (txn->db->disk == NULL || total == 0) return TCUDB_OK;
    pthread_mutex_lock(&txn->parts_lock);
    tcudb_status status = find_part(txn, table, &part, err);
    pthread_mutex_unlock(&txn->parts_lock);
    if (status != TCUDB_OK) return status;
    TRY(part_path(part, path, err));
    uint64_t at = atomic_fetch_add(&part->size, total);
    for (uint32_t c = 0; c < n; c++) {
        ColData *col = &cols[c]->data;
        if (col->memory_size == 0) continue;
        assert(cols[c]->part == NULL);
        col->offset = at;
        col->checksum = XXH3_64bits(col->memory, col->memory_size);
        TRY(file_write(part->fd, path, col->memory, col->memory_size, at, err));
        at += place_of(cols[c]);
        cols[c]->part = part;
        atomic_fetch_add(&part->refs, 1);
        residency_written(cols[c]);
    }
    start_sync(part, at - total, at);
    return TCUDB_OK;
}

tcudb_status txn_sync_parts(Txn *txn, Error *err)
{
    for (uint32_t i = 0; i < txn->nparts; i++) {
        Part *part = txn->parts[i].part;
        char path[PATH_TEXT];
        TRY(part_path(part, path, err));
        TRY(file_sync_range(part->fd, path, 0, atomic_load(&part->size), txn->cancel, err));
    }
    return TCUDB_OK;
}

void txn_drop_parts(Txn *txn, bool committed)
{
    for (uint32_t i = 0; i < txn->nparts; i++) {
        Part *part = txn->parts[i].part;
        if (disk_doubtful(txn->db) || (committed && atomic_load(&part->refs) > 1))
            part->committed = true; /* else no segment in it is left */
        part_unref(part);
    }
    mem_free(&txn->db->mem, txn->parts, txn->cap_parts * sizeof txn->parts[0]);
    txn->parts = NULL;
    txn->nparts = txn->cap_parts = 0;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static tcudb_status need_fd(Part *part, const char *path, Error *err)
{
    pthread_mutex_lock(&part->lock);
    tcudb_status status = part->fd >= 0 ? TCUDB_OK : file_open(path, O_RDONLY, &part->fd, err);
    pthread_mutex_unlock(&part->lock);
    return status;
}

/* Offsets that ascend within the bytes, and that fit the codec: decoders rely on them. */
static bool blocks_fit(const SegColumn *pub)
{
    uint32_t n = (pub->rows + CODEC_BLOCK - 1) / CODEC_BLOCK;
    if (pub->blocks[0] != 0 || pub->blocks[n] != pub->size) return false;
    for (uint32_t b = 0; b < n; b++)
        if (pub->blocks[b] > pub->blocks[b + 1]) return false;
    return true;
}

/* What a column without bytes looks like to those who want its blocks. */
static tcudb_status make_uniform(Column *column, Error *err)
{
    assert(column_is_uniform(&column->data.pub));
    TRY(coldata_alloc(&column->data, column->mem, 0, err));
    atomic_store(&column->data.resident, true);
    return TCUDB_OK;
}

static tcudb_status load_locked(Column *column, Error *err)
{
    ColData *col = &column->data;
    Part *part = column->part;
    char path[PATH_TEXT];
    if (atomic_load(&col->resident)) return TCUDB_OK;
    if (part == NULL) return make_uniform(column, err);
    TRY(part_path(part, path, err));
    TRY(need_fd(part, path, err));
    size_t at_blocks, at_valid;
    size_t total = coldata_layout(col->pub.size, col->pub.rows, col->pub.nulls > 0, &at_blocks, &at_valid);
    uint8_t *memory = mem_alloc(column->mem, total, err);
    TRY_PTR(memory);
    tcudb_status status = file_read(part->fd, path, memory, total, col->offset, err);
    if (status == TCUDB_OK && XXH3_64bits(memory, total) != col->checksum)
        status = file_damaged(err, path, col->offset, "wrong checksum of a column");
    if (status == TCUDB_OK) {
        col->memory = memory;
        col->memory_size = total;
        coldata_point(col);
        if (!blocks_fit(&col->pub)) status = file_damaged(err, path, col->offset, "wrong block offsets");
    }
    if (status != TCUDB_OK) {
        col->memory = NULL;
        col->memory_size = 0;
        mem_free(column->mem, memory, total);
        return status;
    }
    residency_add(column);
    atomic_store(&col->resident, true);
    return TCUDB_OK;
}

tcudb_status column_load(Column *column, Error *err)
{
    if (atomic_load(&column->data.resident)) return TCUDB_OK;
    if (column->part != NULL) residency_make_room(column->part->db, column->data.pub.size); /* takes others' locks */
    pthread_mutex_lock(&column->lock);
    tcudb_status status = load_locked(column, err);
    pthread_mutex_unlock(&column->lock);
    return status;
}
