/*
 * result.c: results kept in memory: chunks in an arena that is charged to the database's memory limit.
 *
 * The values of a result are copies, so a result is independent of transactions and of its connection. It is
 * counted, because Arrow streams and arrays point into it.
 */
#include "api/api_int.h"

#include <assert.h>
#include <stdio.h>

tcudb_status api_result_new(tcudb_db *db, tcudb_result **out, Error *err)
{
    tcudb_result *result = mem_alloc_zero(NULL, sizeof *result, err);
    TRY_PTR(result);
    atomic_init(&result->refs, 1);
    arena_init(&result->arena, db_mem(db->instance.db));
    result->db = db;
    api_db_ref(db);
    result->report = (tcudb_report){.tag = result->tag, .engine = "cpu", .why = result->why, .exact = 1};
    *out = result;
    return TCUDB_OK;
}

void api_result_ref(tcudb_result *result)
{
    atomic_fetch_add(&result->refs, 1);
}

static void drop_rows(tcudb_result *result)
{
    mem_free(result->arena.mem, result->chunks, result->cap * sizeof *result->chunks);
    arena_free(&result->arena);
    result->chunks = NULL;
    result->infos = NULL;
    result->cap = result->nchunks = result->rows = 0;
    result->ncols = 0;
}

void tcudb_result_free(tcudb_result *result)
{
    if (result == NULL || atomic_fetch_sub(&result->refs, 1) > 1) return;
    drop_rows(result);
    api_db_unref(result->db);
    mem_free(NULL, result, sizeof *result);
}

/* ---- gathering ----------------------------------------------------------------------------- */

static tcudb_status gather_columns(void *ctx, const PlanCol *cols, uint32_t ncols, Error *err)
{
    tcudb_result *result = ((Gather *)ctx)->result;
    drop_rows(result);
    ((Gather *)ctx)->has_rows = true;
    result->ncols = ncols;
    return api_infos(&result->arena, cols, ncols, &result->infos, err);
}

static tcudb_status gather_batch(void *ctx, const Batch *batch, Error *err)
{
    Gather *gather = ctx;
    tcudb_result *result = gather->result;
    if (batch->n == 0) return TCUDB_OK;
    if (result->nchunks == result->cap) {
        uint64_t cap = result->cap == 0 ? 8 : result->cap * 2;
        size_t size = sizeof *result->chunks;
        tcudb_chunk *chunks = mem_realloc(result->arena.mem, result->chunks, result->cap * size, cap * size, err);
        TRY_PTR(chunks);
        result->chunks = chunks;
        result->cap = cap;
    }
    arena_reset(&gather->scratch);
    TRY(api_chunk(&result->arena, &gather->scratch, batch, true, result->infos, &result->chunks[result->nchunks], err));
    result->nchunks++;
    result->rows += batch->n;
    return TCUDB_OK;
}

static bool changes_rows(const char *tag)
{
    static const char *const tags[] = {"INSERT", "UPDATE", "DELETE", "COPY"};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (strcmp(tag, tags[i]) == 0) return true;
    return false;
}

static tcudb_status gather_done(void *ctx, const char *tag, const ExecReport *report, Error *err)
{
    (void)err;
    tcudb_result *result = ((Gather *)ctx)->result;
    Gather *gather = ctx;
    if (!gather->has_rows) drop_rows(result); /* of an earlier statement */
    gather->has_rows = false;
    api_report(tag, report, result->tag, &result->report);
    result->affected = changes_rows(tag) ? report->rows : 0;
    snprintf(result->why, sizeof result->why, "%s", report->why);
    result->report.why = result->why;
    return TCUDB_OK;
}

SessionSink api_gather(Gather *gather)
{
    return (SessionSink){.ctx = gather, .columns = gather_columns, .batch = gather_batch, .done = gather_done};
}

/* ---- reading ------------------------------------------------------------------------------- */

uint32_t tcudb_result_columns(const tcudb_result *result)
{
    return result == NULL ? 0 : result->ncols;
}

const tcudb_column_info *tcudb_result_column(const tcudb_result *result, uint32_t i)
{
    return result == NULL || i >= result->ncols ? NULL : &result->infos[i];
}

uint64_t tcudb_result_rows(const tcudb_result *result)
{
    return result == NULL ? 0 : result->rows;
}

uint64_t tcudb_result_chunks(const tcudb_result *result)
{
    return result == NULL ? 0 : result->nchunks;
}

const tcudb_chunk *tcudb_result_chunk(const tcudb_result *result, uint64_t i)
{
    return result == NULL || i >= result->nchunks ? NULL : &result->chunks[i];
}

uint64_t tcudb_result_affected(const tcudb_result *result)
{
    return result == NULL ? 0 : result->affected;
}

const tcudb_report *tcudb_result_report(const tcudb_result *result)
{
    return result == NULL ? NULL : &result->report;
}
