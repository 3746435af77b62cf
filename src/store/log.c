/*
 * log.c: the log of a generation: one record a commit.
 *
 *     file   = "TCUDBLOG" | u32 version | u32 0 | u64 generation | u64 XXH3-64 of the 24 bytes before | record*
 *     record = u64 payload bytes (> 0) | u64 XXH3-64 of the payload, seeded with generation and offset | payload | pad
 *              to a multiple of 8
 *
 * A commit appends one record and makes it durable with one fdatasync. The seed keeps records of older files, or from
 * another place, from being taken for new ones. An unfinished append is behind everything that was acknowledged: it is
 * cut when the next writer begins.
 */
#include "store/disk.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <xxhash.h>

enum { LOG_VERSION = 1, RECORD_HEADER = 16 };

static uint64_t record_sum(const void *payload, size_t size, uint64_t generation, uint64_t offset)
{
    return XXH3_64bits_withSeed(payload, size, generation * UINT64_C(0x9e3779b97f4a7c15) + offset + size);
}

static void make_header(uint64_t generation, uint8_t header[LOG_HEADER])
{
    memset(header, 0, LOG_HEADER);
    static const uint8_t magic[8] = {'T', 'C', 'U', 'D', 'B', 'L', 'O', 'G'};
    memcpy(header, magic, sizeof magic);
    uint32_t version = LOG_VERSION;
    memcpy(header + 8, &version, 4);
    memcpy(header + 16, &generation, 8);
    uint64_t sum = XXH3_64bits(header, 24);
    memcpy(header + 24, &sum, 8);
}

tcudb_status log_create(Db *db, uint64_t generation, int *fd, Error *err)
{
    char path[PATH_TEXT];
    uint8_t header[LOG_HEADER];
    make_header(generation, header);
    TRY(file_path(path, db->path, "log", generation, err));
    TRY(file_open(path, O_RDWR | O_CREAT | O_TRUNC, fd, err));
    tcudb_status status = file_write(*fd, path, header, LOG_HEADER, 0, err);
    if (status == TCUDB_OK) status = file_sync(*fd, path, err);
    if (status == TCUDB_OK) return status;
    file_close(*fd);
    *fd = -1;
    return status;
}

tcudb_status log_open(Db *db, uint64_t generation, int *fd, Error *err)
{
    char path[PATH_TEXT];
    uint8_t header[LOG_HEADER], want[LOG_HEADER];
    make_header(generation, want);
    TRY(file_path(path, db->path, "log", generation, err));
    TRY(file_open(path, db->read_only ? O_RDONLY : O_RDWR, fd, err));
    tcudb_status status = file_read(*fd, path, header, LOG_HEADER, 0, err);
    if (status == TCUDB_OK && memcmp(header, want, LOG_HEADER) != 0)
        status = file_damaged(err, path, 0, "wrong log header");
    if (status == TCUDB_OK) return status;
    file_close(*fd);
    *fd = -1;
    return status;
}

/* The record at `at` of the bytes that begin at file offset `from`; false: there is no whole and right one. */
static bool record_at(const uint8_t *data, size_t size, size_t at, uint64_t from, uint64_t generation, size_t *bytes)
{
    uint64_t head[2];
    if (size - at < RECORD_HEADER) return false;
    memcpy(head, data + at, sizeof head);
    if (head[0] == 0 || head[0] > size - at - RECORD_HEADER) return false;
    *bytes = head[0];
    return record_sum(data + at + RECORD_HEADER, *bytes, generation, from + at) == head[1];
}

static size_t padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

static tcudb_status apply_all(Db *db, uint64_t generation, const char *path, const uint8_t *data, size_t size,
                              uint64_t known, uint64_t *length, Root *root, Error *err)
{
    uint64_t from = *length;
    size_t at = 0, bytes;
    while (at < size && record_at(data, size, at, from, generation, &bytes)) {
        Reader r = reader_of(data + at + RECORD_HEADER, bytes);
        TRY(apply_commit(&r, db, root, err));
        if (r.bad || r.at != r.end) return file_damaged(err, path, from + at, "a log record makes no sense");
        at += RECORD_HEADER + padded(bytes);
        *length = from + at;
    }
    if (*length < known) return file_damaged(err, path, *length, "wrong checksum of a log record");
    return TCUDB_OK;
}

tcudb_status log_apply(Db *db, uint64_t generation, int fd, uint64_t known, uint64_t *length, Root *root, Error *err)
{
    char path[PATH_TEXT];
    uint64_t size;
    TRY(file_path(path, db->path, "log", generation, err));
    TRY(file_size(fd, path, &size, err));
    if (size < known) return file_damaged(err, path, size, "the file is truncated");
    if (size <= *length) return TCUDB_OK;
    size -= *length;
    uint8_t *data = mem_alloc(&db->mem, size, err);
    TRY_PTR(data);
    tcudb_status status = file_read(fd, path, data, size, *length, err);
    if (status == TCUDB_OK) status = apply_all(db, generation, path, data, size, known, length, root, err);
    mem_free(&db->mem, data, size);
    return status;
}

tcudb_status log_append(Db *db, const Buf *payload, Error *err)
{
    Disk *disk = db->disk;
    char path[PATH_TEXT];
    assert(!disk->log_suspect && payload->len > 0);
    TRY(file_path(path, db->path, "log", disk->generation, err));
    size_t size = RECORD_HEADER + padded(payload->len);
    uint8_t *record = mem_alloc(&db->mem, size, err);
    TRY_PTR(record);
    memset(record + size - 8, 0, 8);
    uint64_t head[2] = {payload->len, record_sum(payload->data, payload->len, disk->generation, disk->log_length)};
    memcpy(record, head, sizeof head);
    memcpy(record + RECORD_HEADER, payload->data, payload->len);
    tcudb_status status = file_write(disk->log_fd, path, record, size, disk->log_length, err);
    bool synced = status == TCUDB_OK;
    if (synced) status = file_sync(disk->log_fd, path, err);
    mem_free(&db->mem, record, size);
    if (status == TCUDB_OK) {
        disk->log_length += size;
        return status;
    }
    /* The record must not be found later: cut it, or at least break it. What else a failed sync has lost nobody knows,
     * so this log is given up for a new one: the next commit writes a manifest. */
    static const uint8_t nothing[RECORD_HEADER];
    Error ignored;
    disk->log_suspect = true;
    if (file_truncate(disk->log_fd, path, disk->log_length, &ignored) == TCUDB_OK) {
        if (!synced && file_sync(disk->log_fd, path, &ignored) == TCUDB_OK) disk->log_suspect = false;
    } else if (file_write(disk->log_fd, path, nothing, RECORD_HEADER, disk->log_length, &ignored) != TCUDB_OK) {
        error_clear(&ignored);
    }
    return status;
}
