/*
 * source.c: bytes of a file or stream, expanded and turned into UTF-8 on the way.
 *
 *     read(2) or the caller -> [gzip or zstd] -> [Latin-1, Windows-1252, UTF-16] -> buffer
 *
 * Each stage is skipped when it has nothing to do; a plain UTF-8 file is read straight into the caller's
 * buffer. Compression is recognised by the file's first bytes (gzip 1f 8b, zstd 28 b5 2f fd), so that a
 * wrongly named file still works; several compressed members in a row are read as one. A source belongs to
 * one thread at a time.
 */
#include "files/source.h"
#include "base/fd.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { RAW_SIZE = 1 << 17, MAGIC = 4, WAIT_MS = 50 };

typedef enum Compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD } Compression;

struct Source {
    Mem *mem;
    char *path; /* NULL: a stream */
    size_t path_size;
    int fd;
    bool waits; /* a pipe or a device: what is to come may take its time */
    const atomic_bool *cancel;
    SourceRead read;
    void *read_ctx;
    uint64_t size;
    uint64_t done;
    Encoding encoding;
    Compression compression;
    bool raw_ended;
    bool member_open; /* inside a compressed member: an end of the file here is damage */
    char *raw;        /* bytes as read, [raw_at, raw_len) */
    size_t raw_at, raw_len;
    char *coded; /* expanded bytes that wait for conversion, [coded_at, coded_len) */
    size_t coded_at, coded_len;
    z_stream gzip;
    bool gzip_ready;
    ZSTD_DStream *zstd;
};

static const char *source_name(const Source *s)
{
    return s->path != NULL ? s->path : "standard input";
}

static tcudb_status open_error(Error *err, int errnum, const char *path)
{
    tcudb_status status = error_system(err, errnum, "open file", path);
    if (err != NULL) {
        char reason[128];
        snprintf(err->message, sizeof err->message, "could not open file \"%s\" for reading: %s", path,
                 strerror_r(errnum, reason, sizeof reason));
    }
    return status;
}

/* ---- raw bytes ---------------------------------------------------------------------------- */

/* Until there is something to read or the other end is closed: a wait that an interrupt ends. */
static tcudb_status wait_for_bytes(const Source *s, Error *err)
{
    struct pollfd fd = {.fd = s->fd, .events = POLLIN};
    int rc;
    do {
        TRY(cancel_poll(s->cancel, err));
        rc = poll(&fd, 1, WAIT_MS);
    } while (rc == 0 || (rc < 0 && errno == EINTR));
    return rc > 0 ? TCUDB_OK : error_system(err, errno, "wait for file", s->path);
}

static tcudb_status read_raw(Source *s, char *buffer, size_t size, size_t *got, Error *err)
{
    *got = 0;
    if (s->raw_ended) return TCUDB_OK;
    if (s->path == NULL) {
        TRY(s->read(s->read_ctx, buffer, size, got, err));
    } else {
        ssize_t n;
        do {
            if (s->waits) TRY(wait_for_bytes(s, err));
            n = read(s->fd, buffer, size);
        } while (n < 0 && (errno == EINTR || errno == EAGAIN));
        if (n < 0) return error_system(err, errno, "read from file", s->path);
        *got = (size_t)n;
    }
    s->raw_ended = *got == 0;
    s->done += *got;
    return TCUDB_OK;
}

static tcudb_status refill_raw(Source *s, Error *err)
{
    assert(s->raw_at == s->raw_len);
    s->raw_at = 0;
    s->raw_len = 0;
    return read_raw(s, s->raw, RAW_SIZE, &s->raw_len, err);
}

/* ---- expansion ---------------------------------------------------------------------------- */

static tcudb_status damaged(const Source *s, Error *err, const char *what, const char *why)
{
    tcudb_status status = error_set(err, SQLSTATE_DATA_CORRUPTED,
                                    "could not expand file \"%s\": %s data is damaged (%s)", source_name(s), what, why);
    error_hint(err, "The file is cut short or broken: get it once more.");
    return status;
}

static tcudb_status expand_gzip(Source *s, char *buffer, size_t size, size_t *got, Error *err)
{
    s->gzip.next_out = (Bytef *)buffer;
    s->gzip.avail_out = size > UINT32_MAX ? UINT32_MAX : (uInt)size;
    const uInt room = s->gzip.avail_out;
    while (s->gzip.avail_out == room) {
        if (s->raw_at == s->raw_len) {
            TRY(refill_raw(s, err));
            if (s->raw_len == 0) {
                *got = 0;
                return s->member_open ? damaged(s, err, "gzip", "unexpected end of file") : TCUDB_OK;
            }
        }
        s->gzip.next_in = (Bytef *)s->raw + s->raw_at;
        s->gzip.avail_in = (uInt)(s->raw_len - s->raw_at);
        s->member_open = true;
        int rc = inflate(&s->gzip, Z_NO_FLUSH);
        s->raw_at = s->raw_len - s->gzip.avail_in;
        if (rc == Z_STREAM_END) {
            s->member_open = false;
            inflateReset(&s->gzip);
        } else if (rc == Z_MEM_ERROR) {
            return error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
        } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
            return damaged(s, err, "gzip", s->gzip.msg != NULL ? s->gzip.msg : "bad stream");
        }
    }
    *got = room - s->gzip.avail_out;
    return TCUDB_OK;
}

static tcudb_status expand_zstd(Source *s, char *buffer, size_t size, size_t *got, Error *err)
{
    ZSTD_outBuffer out = {buffer, size, 0};
    while (out.pos == 0) {
        if (s->raw_at == s->raw_len) {
            TRY(refill_raw(s, err));
            if (s->raw_len == 0) {
                *got = 0;
                return s->member_open ? damaged(s, err, "zstd", "unexpected end of file") : TCUDB_OK;
            }
        }
        ZSTD_inBuffer in = {s->raw, s->raw_len, s->raw_at};
        size_t rc = ZSTD_decompressStream(s->zstd, &out, &in);
        s->raw_at = in.pos;
        if (ZSTD_isError(rc)) return damaged(s, err, "zstd", ZSTD_getErrorName(rc));
        s->member_open = rc != 0;
    }
    *got = out.pos;
    return TCUDB_OK;
}

static tcudb_status read_expanded(Source *s, char *buffer, size_t size, size_t *got, Error *err)
{
    if (s->compression == COMPRESSION_GZIP) return expand_gzip(s, buffer, size, got, err);
    if (s->compression == COMPRESSION_ZSTD) return expand_zstd(s, buffer, size, got, err);
    if (s->raw_at < s->raw_len) { /* what was read to recognise the format */
        *got = s->raw_len - s->raw_at < size ? s->raw_len - s->raw_at : size;
        memcpy(buffer, s->raw + s->raw_at, *got);
        s->raw_at += *got;
        return TCUDB_OK;
    }
    return read_raw(s, buffer, size, got, err);
}

/* ---- conversion --------------------------------------------------------------------------- */

uint32_t utf8_put(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63));
    out[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* Windows-1252 where it differs from Latin-1; its five unassigned codes stay C1 controls. */
static const uint16_t windows1252[32] = {0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
                                         0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
                                         0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                         0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};

static uint32_t utf16_unit(const Source *s, const char *p)
{
    uint8_t a = (uint8_t)p[0], b = (uint8_t)p[1];
    return s->encoding == ENCODING_UTF16LE ? a | (uint32_t)b << 8 : b | (uint32_t)a << 8;
}

/* Takes one character from the waiting bytes; *used 0: it is not complete yet. */
static tcudb_status next_utf16(const Source *s, const char *p, size_t n, uint32_t *code, uint32_t *used, Error *err)
{
    *used = 0;
    if (n < 2) return TCUDB_OK;
    *code = utf16_unit(s, p);
    if (*code < 0xd800 || *code > 0xdfff) {
        *used = 2;
        return TCUDB_OK;
    }
    if (*code < 0xdc00 && n < 4) return TCUDB_OK;
    uint32_t low = *code < 0xdc00 ? utf16_unit(s, p + 2) : 0;
    if (low < 0xdc00 || low > 0xdfff)
        return error_set(err, SQLSTATE_CHARACTER_NOT_IN_REPERTOIRE,
                         "invalid byte sequence for encoding \"UTF16\" in \"%s\": unpaired surrogate 0x%04x",
                         source_name(s), *code);
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    *used = 4;
    return TCUDB_OK;
}

static tcudb_status next_char(const Source *s, const char *p, size_t n, uint32_t *code, uint32_t *used, Error *err)
{
    if (s->encoding == ENCODING_UTF16LE || s->encoding == ENCODING_UTF16BE) return next_utf16(s, p, n, code, used, err);
    *used = n > 0;
    *code = n > 0 ? (uint8_t)p[0] : 0;
    if (s->encoding == ENCODING_WINDOWS1252 && *code >= 0x80 && *code < 0xa0) *code = windows1252[*code - 0x80];
    return TCUDB_OK;
}

static tcudb_status refill_coded(Source *s, bool *ended, Error *err)
{
    size_t left = s->coded_len - s->coded_at;
    memmove(s->coded, s->coded + s->coded_at, left);
    s->coded_at = 0;
    s->coded_len = left;
    size_t got = 0;
    TRY(read_expanded(s, s->coded + left, RAW_SIZE - left, &got, err));
    s->coded_len += got;
    *ended = got == 0;
    return TCUDB_OK;
}

static tcudb_status read_converted(Source *s, char *buffer, size_t size, size_t *got, Error *err)
{
    size_t n = 0;
    while (n + 4 <= size) {
        uint32_t code, used;
        TRY(next_char(s, s->coded + s->coded_at, s->coded_len - s->coded_at, &code, &used, err));
        if (used > 0) {
            s->coded_at += used;
            n += utf8_put(code, buffer + n);
            continue;
        }
        if (n > 0) break; /* what there is, before waiting for more */
        bool ended;
        TRY(refill_coded(s, &ended, err));
        if (ended && s->coded_len > 0)
            return error_set(err, SQLSTATE_CHARACTER_NOT_IN_REPERTOIRE,
                             "invalid byte sequence for encoding \"UTF16\" in \"%s\": the last character is cut off",
                             source_name(s));
        if (ended) break;
    }
    *got = n;
    return TCUDB_OK;
}

tcudb_status source_read(Source *s, char *buffer, size_t size, size_t *got, Error *err)
{
    assert(size >= 4);
    if (s->encoding == ENCODING_UTF8) return read_expanded(s, buffer, size, got, err);
    if (s->coded == NULL) {
        s->coded = mem_alloc(s->mem, RAW_SIZE, err);
        TRY_PTR(s->coded);
    }
    return read_converted(s, buffer, size, got, err);
}

/* ---- open and close ----------------------------------------------------------------------- */

/* The first bytes, however short the reads are, say what the file is. */
static tcudb_status start_expansion(Source *s, Error *err)
{
    while (s->raw_len < MAGIC && !s->raw_ended) {
        size_t got;
        TRY(read_raw(s, s->raw + s->raw_len, RAW_SIZE - s->raw_len, &got, err));
        s->raw_len += got;
    }
    const uint8_t *p = (const uint8_t *)s->raw;
    if (s->raw_len >= 2 && p[0] == 0x1f && p[1] == 0x8b) {
        if (inflateInit2(&s->gzip, 15 + 16) != Z_OK) return error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
        s->gzip_ready = true;
        s->compression = COMPRESSION_GZIP;
    } else if (s->raw_len >= 4 && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd) {
        s->zstd = ZSTD_createDStream();
        if (s->zstd == NULL) return error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
        s->compression = COMPRESSION_ZSTD;
    }
    return TCUDB_OK;
}

static tcudb_status only_once(const char *path, Error *err)
{
    tcudb_status status =
        error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "\"%s\" is a pipe or a device, which can be read only once", path);
    error_hint(err, "Read it into a table (COPY table FROM '%s'), or save what it gives as a file.", path);
    return status;
}

/* O_NONBLOCK: a pipe that nobody writes to is waited for in read_raw, where the wait can be interrupted. */
static tcudb_status open_fd(Source *s, const char *path, SourceReads reads, Error *err)
{
    s->path_size = strlen(path) + 1;
    s->path = mem_alloc(s->mem, s->path_size, err);
    TRY_PTR(s->path);
    memcpy(s->path, path, s->path_size);
    do s->fd = fd_open(path, O_RDONLY | O_NONBLOCK, 0);
    while (s->fd < 0 && errno == EINTR);
    if (s->fd < 0) return open_error(err, errno, path);
    struct stat st;
    if (fstat(s->fd, &st) != 0) return error_system(err, errno, "stat file", path);
    if (S_ISDIR(st.st_mode)) return error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "\"%s\" is a directory", path);
    s->waits = !S_ISREG(st.st_mode);
    if (s->waits && reads == READS_OFTEN) return only_once(path, err);
    if (!s->waits) s->size = (uint64_t)st.st_size;
    return start_expansion(s, err);
}

static Source *source_new(Mem *mem, Error *err)
{
    Source *s = mem_alloc_zero(mem, sizeof *s, err);
    if (s == NULL) return NULL;
    s->mem = mem;
    s->fd = -1;
    s->raw = mem_alloc(mem, RAW_SIZE, err);
    if (s->raw == NULL) {
        mem_free(mem, s, sizeof *s);
        return NULL;
    }
    return s;
}

tcudb_status source_open_file(const char *path, SourceReads reads, const atomic_bool *cancel, Mem *mem, Source **out,
                              Error *err)
{
    Source *s = source_new(mem, err);
    TRY_PTR(s);
    s->cancel = cancel;
    tcudb_status status = open_fd(s, path, reads, err);
    if (status != TCUDB_OK) {
        source_close(s);
        return status;
    }
    *out = s;
    return TCUDB_OK;
}

tcudb_status source_open_stream(SourceRead read, void *ctx, Mem *mem, Source **out, Error *err)
{
    Source *s = source_new(mem, err);
    TRY_PTR(s);
    s->read = read;
    s->read_ctx = ctx;
    *out = s;
    return TCUDB_OK;
}

void source_set_encoding(Source *s, Encoding encoding)
{
    s->encoding = encoding;
}

uint64_t source_size(const Source *s)
{
    return s->size;
}

uint64_t source_done(const Source *s)
{
    return s->done;
}

bool source_compressed(const Source *s)
{
    return s->compression != COMPRESSION_NONE;
}

void source_close(Source *s)
{
    if (s == NULL) return;
    if (s->fd >= 0) close(s->fd);
    if (s->gzip_ready) inflateEnd(&s->gzip);
    if (s->zstd != NULL) ZSTD_freeDStream(s->zstd);
    mem_free(s->mem, s->path, s->path_size);
    mem_free(s->mem, s->raw, RAW_SIZE);
    if (s->coded != NULL) mem_free(s->mem, s->coded, RAW_SIZE);
    mem_free(s->mem, s, sizeof *s);
}
