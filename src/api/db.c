/*
 * db.c: databases and connections.
 *
 * A tcudb_db is counted: its handle, connections and results each hold a reference, so they can be closed in
 * any order and the database closes with the last. The default limits are those of the machine or of the
 * control group that the process runs in, whichever is smaller.
 */
#include "api/api_int.h"
#include "session/rates_file.h"

#include <assert.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the machine --------------------------------------------------------------------------- */

static uint64_t cgroup_memory(void)
{
    char text[32];
    int fd = open("/sys/fs/cgroup/memory.max", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return UINT64_MAX;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return UINT64_MAX;
    text[n] = '\0';
    uint64_t bytes = strtoull(text, NULL, 10);
    return bytes == 0 ? UINT64_MAX : bytes; /* "max" */
}

static size_t default_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_C(1) << 30;
    uint64_t group = cgroup_memory();
    if (group < bytes) bytes = group;
    return (size_t)(bytes / 5 * 4);
}

static uint32_t default_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (uint32_t)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (uint32_t)n;
}

/* ---- databases ----------------------------------------------------------------------------- */

static tcudb_options read_options(const tcudb_options *options)
{
    tcudb_options known = {.size = sizeof known};
    if (options != NULL) memcpy(&known, options, options->size < sizeof known ? options->size : sizeof known);
    return known;
}

static tcudb_status open_instance(const char *path, const tcudb_options *options, Instance *out, Error *err)
{
    Settings defaults;
    settings_init(&defaults);
    rates_load(&out->rates, &out->measured, out->rates_warning);
    out->memory_limit = options->memory_limit != 0 ? (size_t)options->memory_limit : default_memory();
    DbOptions db_options = {
        .read_only = options->read_only != 0,
        .create = options->must_exist == 0 && options->read_only == 0,
        .memory_limit = out->memory_limit,
        .lock_timeout_ms = (uint32_t)defaults.lock_timeout,
    };
    uint32_t threads = options->threads != 0 ? options->threads : default_threads();
    TRY(pool_new(threads, &out->pool, err));
    bool memory = path == NULL || path[0] == '\0';
    tcudb_status status = corrections_new(&out->corrections, err);
    if (status == TCUDB_OK) status = key_cache_new(&out->keys, err);
    if (status == TCUDB_OK) status = db_open(memory ? NULL : path, &db_options, &out->db, err);
    if (status == TCUDB_OK) return TCUDB_OK;
    corrections_free(out->corrections);
    key_cache_free(out->keys);
    pool_free(out->pool);
    return status;
}

tcudb_status tcudb_open(const char *path, const tcudb_options *options, tcudb_db **out, tcudb_error *out_err)
{
    if (out == NULL) return api_misuse(out_err, "tcudb_open: there is nowhere to put the database");
    *out = NULL;
    Error err = {0};
    tcudb_options known = read_options(options);
    if (known.threads > 1024) return api_misuse(out_err, "tcudb_open: more than 1024 threads");
    tcudb_db *db = mem_alloc_zero(NULL, sizeof *db, &err);
    if (db == NULL) return api_fail(out_err, TCUDB_NOMEM, &err);
    atomic_init(&db->refs, 1);
    db->owner = getpid();
    tcudb_status status = open_instance(path, &known, &db->instance, &err);
    if (status != TCUDB_OK) {
        mem_free(NULL, db, sizeof *db);
        return api_fail(out_err, status, &err);
    }
    *out = db;
    return TCUDB_OK;
}

void api_db_ref(tcudb_db *db)
{
    atomic_fetch_add(&db->refs, 1);
}

void api_db_unref(tcudb_db *db)
{
    uint64_t before = atomic_fetch_sub(&db->refs, 1);
    assert(before >= 1);
    if (before > 1 || api_forked(db)) return;
    db_close(db->instance.db);
    pool_free(db->instance.pool);
    corrections_free(db->instance.corrections);
    key_cache_free(db->instance.keys);
    mem_free(NULL, db, sizeof *db);
}

void tcudb_close(tcudb_db *db)
{
    if (db != NULL) api_db_unref(db);
}

/* ---- connections --------------------------------------------------------------------------- */

tcudb_status tcudb_connect(tcudb_db *db, tcudb_conn **out, tcudb_error *out_err)
{
    if (out == NULL) return api_misuse(out_err, "tcudb_connect: there is nowhere to put the connection");
    *out = NULL;
    if (db == NULL) return api_misuse(out_err, "tcudb_connect: the database is NULL");
    if (api_forked(db)) return api_misuse_forked(out_err);
    Error err = {0};
    tcudb_conn *conn = mem_alloc_zero(NULL, sizeof *conn, &err);
    if (conn == NULL) return api_fail(out_err, TCUDB_NOMEM, &err);
    tcudb_status status = session_new(&db->instance, &conn->session, &err);
    if (status != TCUDB_OK) {
        mem_free(NULL, conn, sizeof *conn);
        return api_fail(out_err, status, &err);
    }
    conn->db = db;
    api_db_ref(db);
    *out = conn;
    return TCUDB_OK;
}

static void orphan(tcudb_stmt *stmt)
{
    prepared_free(stmt->prepared);
    stmt->prepared = NULL;
    stmt->conn = NULL;
}

void tcudb_disconnect(tcudb_conn *conn)
{
    if (conn == NULL || api_forked(conn->db)) return;
    assert(!atomic_load(&conn->busy));
    for (tcudb_stmt *stmt = conn->stmts; stmt != NULL; stmt = stmt->next) orphan(stmt);
    session_free(conn->session);
    api_db_unref(conn->db);
    mem_free(NULL, conn, sizeof *conn);
}

void tcudb_interrupt(tcudb_conn *conn)
{
    if (conn != NULL) session_interrupt(conn->session);
}

char tcudb_transaction_state(const tcudb_conn *conn)
{
    return conn == NULL ? 0 : session_state(conn->session);
}

/* ---- callbacks ----------------------------------------------------------------------------- */

static bool progress_adapter(void *ctx, uint64_t done, uint64_t total, double seconds)
{
    const tcudb_conn *conn = ctx;
    return conn->progress_fn(conn->progress_ctx, done, total, seconds) != 0;
}

tcudb_status tcudb_set_progress(tcudb_conn *conn, tcudb_progress_fn fn, void *ctx, uint32_t interval_ms,
                                tcudb_error *err)
{
    TRY(api_enter(conn, err));
    conn->progress_fn = fn;
    conn->progress_ctx = ctx;
    session_set_progress(conn->session, fn == NULL ? NULL : progress_adapter, conn, interval_ms);
    api_leave(conn);
    return TCUDB_OK;
}

static void notice_adapter(void *ctx, const char *severity, const char *sqlstate, const char *message)
{
    const tcudb_conn *conn = ctx;
    conn->notice_fn(conn->notice_ctx, severity, sqlstate, message);
}

tcudb_status tcudb_set_notice(tcudb_conn *conn, tcudb_notice_fn fn, void *ctx, tcudb_error *err)
{
    TRY(api_enter(conn, err));
    conn->notice_fn = fn;
    conn->notice_ctx = ctx;
    session_set_notice(conn->session, fn == NULL ? NULL : notice_adapter, conn);
    api_leave(conn);
    return TCUDB_OK;
}

static tcudb_status read_adapter(void *ctx, char *buffer, size_t size, size_t *got, Error *err)
{
    const tcudb_conn *conn = ctx;
    size_t n = conn->read_fn(conn->copy_ctx, buffer, size);
    if (n > size)
        return error_set(err, SQLSTATE_IO_ERROR, "COPY from stdin failed: the caller could not read its data");
    *got = n;
    return TCUDB_OK;
}

static tcudb_status write_adapter(void *ctx, const char *data, size_t size, Error *err)
{
    const tcudb_conn *conn = ctx;
    if (conn->write_fn(conn->copy_ctx, data, size) == 0) return TCUDB_OK;
    return error_set(err, SQLSTATE_IO_ERROR, "COPY to stdout failed: the caller could not write the data");
}

tcudb_status tcudb_set_copy(tcudb_conn *conn, tcudb_read_fn read_fn, tcudb_write_fn write_fn, void *ctx,
                            tcudb_error *err)
{
    TRY(api_enter(conn, err));
    conn->read_fn = read_fn;
    conn->write_fn = write_fn;
    conn->copy_ctx = ctx;
    SessionIo io = {.ctx = conn};
    if (read_fn != NULL) io.read = read_adapter;
    if (write_fn != NULL) io.write = write_adapter;
    session_set_io(conn->session, io);
    api_leave(conn);
    return TCUDB_OK;
}
