/*
 * manifest.c: the state of a database at its last fold, in one file that is replaced as a whole.
 *
 *     "TCUDBMAN" | u32 version | u32 0 | u64 generation | u64 body bytes | u64 XXH3-64 of the body
 *     | u64 XXH3-64 of the 40 bytes before | body
 *
 *     body  = next id, next file, next commit, tables, views
 *     table = definition, dictionaries (values, file bytes), segments with facts, sketch, tail rows, deletions
 *
 * Written to manifest.tmp, made durable, renamed, and the directory made durable: then, and not before, the new state
 * is the database's. Tails that are too short for a segment stand here as raw rows.
 */
#include "store/disk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { MANIFEST_VERSION = 4, MANIFEST_HEADER = 48 };

/* ---- writing ---------------------------------------------------------------------------------- */

static tcudb_status put_table(Buf *buf, const Table *table, Error *err)
{
    const TableMeta *meta = table->meta;
    TRY(put_table_def(buf, meta, err));
    for (uint32_t c = 0; c < meta->def.ncols; c++) {
        if (meta->dicts[c] == NULL) continue;
        const DictState *now = &meta->dicts[c]->now;
        assert(now->stored == dict_count(meta->dicts[c]));
        TRY(put_varint(buf, now->stored, err));
        TRY(put_varint(buf, now->length, err));
        TRY(put_byte(buf, now->loose, err));
    }
    TRY(put_varint(buf, table->nsegs, err));
    for (uint32_t s = 0; s < table->nsegs; s++) TRY(put_segment(buf, meta, table->segs[s], err));
    TRY(put_sketch(buf, table, err));
    TRY(put_rows(buf, meta, table->tail, 0, table->tail_rows, err));
    for (uint32_t s = 0; s < table->nsegs + (table->tail_rows > 0); s++)
        TRY(put_deleted(buf, table->deleted == NULL ? NULL : table->deleted[s], NULL, err));
    return TCUDB_OK;
}

static tcudb_status put_body(Buf *buf, Db *db, const Root *root, Error *err)
{
    TRY(put_varint(buf, atomic_load(&db->next_id), err));
    TRY(put_varint(buf, atomic_load(&db->next_file), err));
    TRY(put_varint(buf, root->commit, err));
    TRY(put_varint(buf, root->ntables, err));
    for (uint32_t t = 0; t < root->ntables; t++) TRY(put_table(buf, root->tables[t], err));
    TRY(put_varint(buf, root->nviews, err));
    for (uint32_t v = 0; v < root->nviews; v++) TRY(put_view_def(buf, &root->views[v]->def, err));
    return TCUDB_OK;
}

static void make_header(uint8_t header[MANIFEST_HEADER], uint64_t generation, const void *body, uint64_t size)
{
    memset(header, 0, MANIFEST_HEADER);
    static const uint8_t magic[8] = {'T', 'C', 'U', 'D', 'B', 'M', 'A', 'N'};
    memcpy(header, magic, sizeof magic);
    uint32_t version = MANIFEST_VERSION;
    memcpy(header + 8, &version, sizeof version);
    memcpy(header + 16, &generation, 8);
    memcpy(header + 24, &size, 8);
    uint64_t sum = XXH3_64bits(body, size);
    memcpy(header + 32, &sum, 8);
    sum = XXH3_64bits(header, 40);
    memcpy(header + 40, &sum, 8);
}

static tcudb_status write_file(Db *db, const Buf *buf, const char *path, Error *err)
{
    (void)db;
    int fd;
    TRY(file_open(path, O_WRONLY | O_CREAT | O_TRUNC, &fd, err));
    tcudb_status status = file_write(fd, path, buf->data, buf->len, 0, err);
    if (status == TCUDB_OK) status = file_sync(fd, path, err);
    file_close(fd);
    if (status != TCUDB_OK) unlink(path);
    return status;
}

tcudb_status manifest_write(Db *db, const Root *root, uint64_t generation, Error *err)
{
    char path[PATH_TEXT], temporary[PATH_TEXT];
    uint8_t header[MANIFEST_HEADER] = {0};
    tcudb_status status;
    Buf buf;
    buf_init(&buf, &db->mem);
    TRY_GOTO(file_path(path, db->path, "manifest", UINT64_MAX, err));
    TRY_GOTO(file_path(temporary, db->path, "manifest.tmp", UINT64_MAX, err));
    TRY_GOTO(buf_append(&buf, header, MANIFEST_HEADER, err));
    TRY_GOTO(put_body(&buf, db, root, err));
    make_header((uint8_t *)buf.data, generation, buf.data + MANIFEST_HEADER, buf.len - MANIFEST_HEADER);
    TRY_GOTO(write_file(db, &buf, temporary, err));
    if (rename(temporary, path) != 0) {
        status = error_system(err, errno, "rename", temporary);
        unlink(temporary);
    }
done:
    buf_free(&buf);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static tcudb_status get_dict_states(Reader *r, const TableMeta *meta, Error *err)
{
    for (uint32_t c = 0; c < meta->def.ncols; c++) {
        if (meta->dicts[c] == NULL) continue;
        DictState state = {.stored = (uint32_t)get_count(r, UINT32_MAX), .length = get_varint(r)};
        state.count = state.stored;
        state.loose = get_byte(r) != 0;
        if (r->bad) return TCUDB_OK;
        TRY(dict_extend(meta->dicts[c], state, err));
    }
    return TCUDB_OK;
}

static tcudb_status get_rest(Reader *r, Table *table, Error *err)
{
    TRY(get_dict_states(r, table->meta, err));
    uint32_t nsegs = (uint32_t)get_count(r, (uint64_t)(r->end - r->at));
    TRY(table_reserve(table, nsegs, err));
    TRY(get_segments(r, table, nsegs, err));
    TRY(get_sketch(r, table, err));
    TRY(get_rows(r, table, err));
    for (uint32_t s = 0; s < table_segments(table) && !r->bad; s++) TRY(get_deleted(r, table, s, err));
    return TCUDB_OK;
}

static tcudb_status get_table(Reader *r, Db *db, Arena *arena, Root *root, Error *err)
{
    TableMeta *meta;
    Table *table;
    TRY(get_table_def(r, db, arena, &meta, err));
    if (meta == NULL) return TCUDB_OK;
    tcudb_status status = table_new(db, meta, &table, err);
    meta_unref(meta);
    if (status != TCUDB_OK) return status;
    status = get_rest(r, table, err);
    bool found = false;
    if (status == TCUDB_OK && !r->bad) root_find_table(root, table->meta->def.name, &found);
    if (found) r->bad = true;
    if (status == TCUDB_OK && !r->bad) {
        atomic_store(&table->frozen, true);
        status = root_insert_table(root, table, err);
        if (status == TCUDB_OK) return status;
    }
    table_unref(table);
    return status;
}

static tcudb_status get_body(Reader *r, Db *db, Root *root, Error *err)
{
    Arena arena;
    tcudb_status status = TCUDB_OK;
    arena_init(&arena, &db->mem);
    db_raise(&db->next_id, get_varint(r));
    db_raise(&db->next_file, get_varint(r));
    root->commit = get_varint(r);
    uint64_t ntables = get_varint(r);
    for (uint64_t t = 0; t < ntables && !r->bad; t++) TRY_GOTO(get_table(r, db, &arena, root, err));
    uint64_t nviews = get_varint(r);
    for (uint64_t v = 0; v < nviews && !r->bad; v++) {
        View *view;
        TRY_GOTO(get_view_def(r, db, &arena, &view, err));
        if (view == NULL) break;
        bool found;
        root_find_view(root, view->def.name, &found);
        status = found ? TCUDB_OK : root_insert_view(root, view, err);
        if (found || status != TCUDB_OK) view_unref(view);
        if (found) r->bad = true;
        if (status != TCUDB_OK) goto done;
    }
done:
    arena_free(&arena);
    return status;
}

static tcudb_status check_header(const char *path, const uint8_t header[MANIFEST_HEADER], uint64_t *generation,
                                 uint64_t *size, Error *err)
{
    uint64_t sum;
    uint32_t version;
    memcpy(&sum, header + 40, 8);
    memcpy(&version, header + 8, 4);
    memcpy(generation, header + 16, 8);
    memcpy(size, header + 24, 8);
    if (memcmp(header, "TCUDBMAN", 8) != 0 || sum != XXH3_64bits(header, 40))
        return file_damaged(err, path, 0, "wrong manifest header");
    if (version > MANIFEST_VERSION) {
        tcudb_status status =
            error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED,
                      "the database has format version %u; this tcudb reads up to %u", version, MANIFEST_VERSION);
        error_hint(err, "Open it with a newer tcudb.");
        return status;
    }
    return TCUDB_OK;
}

tcudb_status manifest_generation(Db *db, uint64_t *generation, Error *err)
{
    char path[PATH_TEXT];
    uint8_t header[MANIFEST_HEADER];
    uint64_t size;
    int fd;
    *generation = 0;
    TRY(file_path(path, db->path, "manifest", UINT64_MAX, err));
    if (access(path, F_OK) != 0 && errno == ENOENT) return TCUDB_OK;
    TRY(file_open(path, O_RDONLY, &fd, err));
    tcudb_status status = file_read(fd, path, header, MANIFEST_HEADER, 0, err);
    file_close(fd);
    if (status != TCUDB_OK) return status;
    return check_header(path, header, generation, &size, err);
}

static tcudb_status read_body(Db *db, const char *path, const uint8_t *data, uint64_t size, const uint8_t *header,
                              Root *root, Error *err)
{
    uint64_t sum;
    memcpy(&sum, header + 32, 8);
    if (sum != XXH3_64bits(data, size)) return file_damaged(err, path, MANIFEST_HEADER, "wrong manifest checksum");
    Reader r = reader_of(data, size);
    TRY(get_body(&r, db, root, err));
    if (r.bad || r.at != r.end)
        return file_damaged(err, path, MANIFEST_HEADER + (uint64_t)(r.at - r.start), "the manifest makes no sense");
    return TCUDB_OK;
}

tcudb_status manifest_read(Db *db, Root **out, uint64_t *generation, Error *err)
{
    char path[PATH_TEXT];
    uint8_t header[MANIFEST_HEADER];
    uint8_t *data = NULL;
    Root *root = NULL;
    uint64_t size = 0, whole = 0;
    int fd;
    tcudb_status status;
    TRY(file_path(path, db->path, "manifest", UINT64_MAX, err));
    TRY(file_open(path, O_RDONLY, &fd, err));
    TRY_GOTO(file_read(fd, path, header, MANIFEST_HEADER, 0, err));
    TRY_GOTO(check_header(path, header, generation, &size, err));
    TRY_GOTO(file_size(fd, path, &whole, err));
    if (whole < MANIFEST_HEADER || whole - MANIFEST_HEADER != size) {
        status = file_damaged(err, path, whole, "the manifest has the wrong size");
        goto done;
    }
    data = mem_alloc(&db->mem, size, err);
    if (data == NULL) {
        status = TCUDB_NOMEM;
        goto done;
    }
    TRY_GOTO(file_read(fd, path, data, size, MANIFEST_HEADER, err));
    TRY_GOTO(root_new(&db->mem, &root, err));
    uint32_t version;
    memcpy(&version, header + 8, 4);
    db->disk->old_format = version < MANIFEST_VERSION; /* before the body, which is read accordingly */
    TRY_GOTO(read_body(db, path, data, size, header, root, err));
    *out = root;
    root = NULL;
done:
    root_unref(root);
    mem_free(&db->mem, data, size);
    file_close(fd);
    return status;
}
