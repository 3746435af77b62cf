/*
 * dict_file.c: dictionaries on disk: an append-only file of chunks.
 *
 *     file  = "TCUDBDCT" | u32 version | u32 0 | u64 dictionary id | u64 XXH3-64 of the 24 bytes before | chunk*
 *     chunk = u32 first code | u32 values | u64 payload bytes | u64 XXH3-64 of the payload
 *             | u64 XXH3-64 of the 24 bytes before | payload
 *     payload = u32 length of each value, then their bytes
 *
 * The commit record says how many values and bytes count; what lies behind is left over from a transaction that
 * failed: it is cut, or overwritten by the next. A chunk is at most CHUNK_BYTES plus one value long.
 */
#include "store/dict.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <xxhash.h>

enum { HEADER = 32, CHUNK_BYTES = 1 << 20, SLICE_BYTES = 4 << 20, VERSION = 1 };

static void make_header(uint8_t out[HEADER], const void *first24)
{
    memcpy(out, first24, 24);
    uint64_t sum = XXH3_64bits(out, 24);
    memcpy(out + 24, &sum, 8);
}

static void file_header(const Dict *dict, uint8_t out[HEADER])
{
    uint8_t first[24] = "TCUDBDCT";
    uint32_t version = VERSION;
    memcpy(first + 8, &version, 4);
    memcpy(first + 16, &dict->id, 8);
    make_header(out, first);
}

typedef struct Chunk {
    uint32_t first, n;
    uint64_t bytes, sum;
} Chunk;

/* ---- writing ---------------------------------------------------------------------------------- */

/* A value may have a hundred million bytes: they are copied and written in slices. */
static tcudb_status put_value(Buf *buf, Str value, const atomic_bool *cancel, Error *err)
{
    for (uint32_t at = 0; at < value.len; at += SLICE_BYTES) {
        TRY(cancel_poll(cancel, err));
        TRY(buf_append(buf, value.ptr + at, value.len - at < SLICE_BYTES ? value.len - at : SLICE_BYTES, err));
    }
    return TCUDB_OK;
}

static tcudb_status write_slices(int fd, const char *path, const Buf *buf, uint64_t offset, const atomic_bool *cancel,
                                 Error *err)
{
    for (size_t at = 0; at < buf->len; at += SLICE_BYTES) {
        size_t n = buf->len - at < SLICE_BYTES ? buf->len - at : SLICE_BYTES;
        TRY(cancel_poll(cancel, err));
        TRY(file_write(fd, path, buf->data + at, n, offset + at, err));
        file_start_sync(fd, offset + at, offset + at + n);
    }
    return TCUDB_OK;
}

/* The payload of values from `first` on, as many as make a chunk. */
static tcudb_status make_chunk(const Dict *dict, uint32_t first, uint32_t end, Buf *buf, uint32_t *n,
                               const atomic_bool *cancel, Error *err)
{
    const Str *values = dict_values(dict);
    size_t bytes = 0;
    uint32_t last = first;
    while (last < end && bytes < CHUNK_BYTES) bytes += 4 + values[last++].len;
    buf->len = 0;
    TRY(buf_reserve(buf, HEADER + bytes, err));
    buf->len = HEADER;
    for (uint32_t i = first; i < last; i++) TRY(buf_append(buf, &values[i].len, 4, err));
    for (uint32_t i = first; i < last; i++) TRY(put_value(buf, values[i], cancel, err));
    Chunk chunk = {first, last - first, bytes, XXH3_64bits(buf->data + HEADER, bytes)};
    make_header((uint8_t *)buf->data, &chunk);
    *n = last - first;
    return TCUDB_OK;
}

static tcudb_status append_values(Dict *dict, int fd, const char *path, const atomic_bool *cancel, Error *err)
{
    tcudb_status status = TCUDB_OK;
    Buf buf;
    buf_init(&buf, dict->mem);
    uint32_t count = dict_count(dict);
    DictState now = dict->now;
    if (now.length == 0) {
        uint8_t header[HEADER];
        file_header(dict, header);
        TRY_GOTO(file_write(fd, path, header, HEADER, 0, err));
        now.length = HEADER;
    }
    while (now.stored < count) {
        uint32_t n;
        TRY_GOTO(make_chunk(dict, now.stored, count, &buf, &n, cancel, err));
        TRY_GOTO(write_slices(fd, path, &buf, now.length, cancel, err));
        now.stored += n;
        now.length += buf.len;
    }
    TRY_GOTO(file_sync_range(fd, path, dict->now.length, now.length, cancel, err));
    now.count = count;
    dict->now = now;
done:
    buf_free(&buf);
    Error ignored; /* what a full disk has taken is given back */
    if (status != TCUDB_OK && file_truncate(fd, path, dict->now.length, &ignored) != TCUDB_OK) error_clear(&ignored);
    return status;
}

tcudb_status dict_save(Dict *dict, const atomic_bool *cancel, Error *err)
{
    assert(dict->dir != NULL);
    pthread_mutex_lock(&dict->lock);
    bool saved = dict->now.stored >= dict_count(dict);
    pthread_mutex_unlock(&dict->lock);
    if (saved) return TCUDB_OK;
    TRY(dict_load(dict, cancel, err));
    char path[PATH_TEXT];
    TRY(file_path(path, dict->dir, "dict", dict->id, err));
    tcudb_status status = TCUDB_OK;
    pthread_mutex_lock(&dict->lock);
    if (dict->now.stored < dict_count(dict)) {
        int fd;
        status = file_open(path, O_RDWR | O_CREAT, &fd, err);
        if (status == TCUDB_OK) {
            status = append_values(dict, fd, path, cancel, err);
            file_close(fd);
        }
    }
    pthread_mutex_unlock(&dict->lock);
    return status;
}

void dict_tell(Dict *dict, uint32_t count)
{
    pthread_mutex_lock(&dict->lock);
    assert(count >= dict->now.count && count <= dict_count(dict));
    dict->now.count = count;
    pthread_mutex_unlock(&dict->lock);
}

void dict_commit(Dict *dict)
{
    pthread_mutex_lock(&dict->lock);
    if (dict->dir == NULL) dict->now.count = dict_count(dict);
    dict->committed = dict->now;
    pthread_mutex_unlock(&dict->lock);
}

/* Gives back what the file has grown by; if that fails, the next values are written over it. */
static void cut_file(const Dict *dict, uint64_t length)
{
    char path[PATH_TEXT];
    int fd;
    Error ignored;
    if (file_path(path, dict->dir, "dict", dict->id, &ignored) != TCUDB_OK) return;
    if (file_open(path, O_RDWR, &fd, &ignored) != TCUDB_OK) return;
    if (file_truncate(fd, path, length, &ignored) != TCUDB_OK) error_clear(&ignored);
    file_close(fd);
}

void dict_give_up(Dict *dict, bool cut)
{
    pthread_mutex_lock(&dict->lock);
    if (cut && dict->now.length > dict->committed.length) cut_file(dict, dict->committed.length);
    bool loose = dict->now.loose; /* stays: what made it so may lie before the savepoint that is returned to */
    dict->now = dict->committed;
    dict->now.loose |= loose || dict_count(dict) > dict->committed.count;
    pthread_mutex_unlock(&dict->lock);
}

bool dict_is_loose(Dict *dict)
{
    pthread_mutex_lock(&dict->lock);
    bool loose = dict->now.loose;
    pthread_mutex_unlock(&dict->lock);
    return loose;
}

void dict_loosen(Dict *dict)
{
    pthread_mutex_lock(&dict->lock);
    dict->now.loose = true;
    pthread_mutex_unlock(&dict->lock);
}

/* ---- reading ---------------------------------------------------------------------------------- */

typedef struct Walk {
    Dict *dict;
    const char *path;
    uint64_t offset; /* of data[0] in the file */
    const uint8_t *data;
    size_t size;
} Walk;

static tcudb_status check_file_header(const Walk *w, Error *err)
{
    uint8_t want[HEADER];
    file_header(w->dict, want);
    if (w->size >= HEADER && memcmp(w->data, want, HEADER) == 0) return TCUDB_OK;
    uint32_t version = 0;
    if (w->size >= HEADER) memcpy(&version, w->data + 8, 4);
    uint64_t sum = w->size >= HEADER ? XXH3_64bits(w->data, 24) : 0;
    if (version > VERSION && memcmp(&sum, w->data + 24, 8) == 0)
        return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "file \"%s\" has format version %u; this tcudb reads %u",
                         w->path, version, VERSION);
    return file_damaged(err, w->path, 0, "wrong dictionary header");
}

/* The chunk at `at`: checked, its values' lengths and bytes. */
static tcudb_status check_chunk(const Walk *w, size_t at, uint32_t first, Chunk *chunk, Error *err)
{
    if (w->size - at < HEADER) return file_damaged(err, w->path, w->offset + at, "a dictionary chunk is cut off");
    uint64_t sum;
    memcpy(chunk, w->data + at, 24);
    memcpy(&sum, w->data + at + 24, 8);
    if (sum != XXH3_64bits(w->data + at, 24) || chunk->first != first)
        return file_damaged(err, w->path, w->offset + at, "wrong dictionary chunk header");
    if (chunk->bytes > w->size - at - HEADER || chunk->bytes / 4 < chunk->n)
        return file_damaged(err, w->path, w->offset + at, "a dictionary chunk is cut off");
    const uint8_t *payload = w->data + at + HEADER;
    if (chunk->sum != XXH3_64bits(payload, chunk->bytes))
        return file_damaged(err, w->path, w->offset + at + HEADER, "wrong dictionary checksum");
    uint64_t total = (uint64_t)chunk->n * 4;
    for (uint32_t i = 0; i < chunk->n; i++) {
        uint32_t len;
        memcpy(&len, payload + (size_t)i * 4, 4);
        total += len;
    }
    if (total != chunk->bytes) return file_damaged(err, w->path, w->offset + at, "wrong dictionary lengths");
    return TCUDB_OK;
}

/* Values of the chunk: those below `known` are there already. fill: codes are assigned, not pushed. */
static tcudb_status take_chunk(const Walk *w, size_t at, const Chunk *chunk, uint32_t known, bool fill, Error *err)
{
    const uint8_t *payload = w->data + at + HEADER;
    const char *text = (const char *)payload + (size_t)chunk->n * 4;
    if (!bytes_are_ascii(text, chunk->bytes - (size_t)chunk->n * 4)) atomic_store(&w->dict->ascii, false);
    for (uint32_t i = 0; i < chunk->n; i++) {
        Str value = {.ptr = text};
        memcpy(&value.len, payload + (size_t)i * 4, 4);
        text += value.len;
        if (chunk->first + i < known) continue;
        if (fill)
            atomic_load(&w->dict->values)->at[chunk->first + i] = value;
        else
            TRY(dict_push(w->dict, value, false, err));
    }
    return TCUDB_OK;
}

static tcudb_status read_slices(const char *path, uint8_t *to, size_t size, uint64_t from, const atomic_bool *cancel,
                                Error *err)
{
    enum { SLICE = 16 << 20 };
    int fd;
    TRY(file_open(path, O_RDONLY, &fd, err));
    tcudb_status status = TCUDB_OK;
    for (size_t at = 0; at < size && status == TCUDB_OK; at += SLICE) {
        size_t n = size - at < SLICE ? size - at : SLICE;
        status = cancel_poll(cancel, err);
        if (status == TCUDB_OK) status = file_read(fd, path, to + at, n, from + at, err);
    }
    file_close(fd);
    return status;
}

/* The file's bytes that w says hold the values [first, end): takes those from `known` on. */
static tcudb_status take_chunks(const Walk *w, uint32_t first, uint32_t end, uint32_t known, bool fill,
                                const atomic_bool *cancel, Error *err)
{
    size_t at = 0;
    if (w->offset == 0) {
        TRY(check_file_header(w, err));
        at = HEADER;
    }
    while (at < w->size) {
        Chunk chunk = {0};
        TRY(cancel_poll(cancel, err));
        TRY(check_chunk(w, at, first, &chunk, err));
        if (chunk.n > end - first) break;
        TRY(take_chunk(w, at, &chunk, known, fill, err));
        first += chunk.n;
        at += HEADER + chunk.bytes;
    }
    if (first == end && at == w->size) return TCUDB_OK;
    return file_damaged(err, w->path, w->offset + at, "wrong number of dictionary values");
}

/* Reads bytes [from, to) of the file, which hold the values [first, end), and takes those from `known` on. fill: all at
 * once or, if it fails, none. */
static tcudb_status take_file(Dict *dict, uint64_t from, uint64_t to, uint32_t first, uint32_t end, uint32_t known,
                              bool fill, const atomic_bool *cancel, Error *err)
{
    char path[PATH_TEXT];
    TRY(file_path(path, dict->dir, "dict", dict->id, err));
    uint8_t *block = dict_keep(dict, sizeof(DictKept) + (to - from), err);
    TRY_PTR(block);
    Walk w = {.dict = dict, .path = path, .offset = from, .data = block + sizeof(DictKept), .size = to - from};
    tcudb_status status = read_slices(path, block + sizeof(DictKept), w.size, from, cancel, err);
    if (status == TCUDB_OK) status = take_chunks(&w, first, end, known, fill, cancel, err);
    if (status != TCUDB_OK && fill) dict_unkeep(dict);
    return status;
}

tcudb_status dict_load_locked(Dict *dict, const atomic_bool *cancel, Error *err)
{
    if (atomic_load(&dict->loaded)) return TCUDB_OK;
    TRY(dict_reserve(dict, dict_count(dict), err));
    if (dict->now.stored > 0) TRY(take_file(dict, 0, dict->now.length, 0, dict->now.stored, 0, true, cancel, err));
    atomic_store_explicit(&dict->loaded, true, memory_order_release);
    return TCUDB_OK;
}

/* ---- following commits ------------------------------------------------------------------------- */

/* Commits may be followed twice if the first time failed half-way: what is known already is passed over. */
static tcudb_status extend_locked(Dict *dict, DictState state, Error *err)
{
    uint32_t count = dict_count(dict);
    if (state.stored <= dict->committed.stored) return TCUDB_OK;
    if (!atomic_load(&dict->loaded)) {
        if (count < state.stored) atomic_store(&dict->count, state.stored);
    } else if (count < state.stored) {
        TRY(take_file(dict, dict->committed.length, state.length, dict->committed.stored, state.stored, count, false,
                      NULL, err));
    }
    state.count = dict_count(dict);
    state.loose |= dict->committed.loose;
    dict->now = dict->committed = state;
    return TCUDB_OK;
}

tcudb_status dict_extend(Dict *dict, DictState state, Error *err)
{
    pthread_mutex_lock(&dict->lock);
    if (dict_count(dict) == 0 && state.stored > 0) { /* nothing known yet: load at first use */
        atomic_store(&dict->loaded, false);
        atomic_store(&dict->indexed, false);
    }
    tcudb_status status = extend_locked(dict, state, err);
    pthread_mutex_unlock(&dict->lock);
    return status;
}

tcudb_status dict_replay(Dict *dict, uint32_t first, const Str *texts, uint32_t n, bool loose, Error *err)
{
    tcudb_status status = TCUDB_OK;
    pthread_mutex_lock(&dict->lock);
    uint32_t count = dict_count(dict);
    if (first > count)
        status = error_set(err, SQLSTATE_DATA_CORRUPTED, "dictionary %llu of \"%s\" lacks values from %u on",
                           (unsigned long long)dict->id, dict->dir, count);
    for (uint32_t i = 0; i < n && status == TCUDB_OK; i++)
        if (first + i >= count) status = dict_push(dict, texts[i], true, err);
    if (status == TCUDB_OK) {
        dict->committed.count = dict->now.count = dict_count(dict);
        dict->committed.loose |= loose;
        dict->now.loose |= loose;
    }
    pthread_mutex_unlock(&dict->lock);
    return status;
}
