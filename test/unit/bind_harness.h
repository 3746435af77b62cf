/* A database in memory with some tables, and statements bound against it: for the tests of sql/ and bind/. */
#ifndef TEST_UNIT_BIND_HARNESS_H
#define TEST_UNIT_BIND_HARNESS_H

#include "bind/bind.h"
#include "files/files.h"

#include <assert.h>
#include <stdio.h>

typedef struct Harness {
    Db *db;
    Txn *txn;
    Arena arena;
    Mem mem;
    Error err;
} Harness;

static inline void harness_open(Harness *h)
{
    DbOptions options = {.create = true};
    *h = (Harness){0};
    mem_init(&h->mem, 0);
    arena_init(&h->arena, &h->mem);
    if (db_open(NULL, &options, &h->db, &h->err) != TCUDB_OK || txn_begin(h->db, &h->txn, &h->err) != TCUDB_OK) {
        fprintf(stderr, "%s\n", h->err.message);
        assert(!"no database");
    }
}

static inline void harness_close(Harness *h)
{
    arena_free(&h->arena);
    txn_rollback(h->txn);
    db_close(h->db);
}

/* Binds the text's only statement; the result lives until the next call. */
static inline tcudb_status harness_bind(Harness *h, const char *sql, Stmt **out)
{
    Settings settings;
    settings_init(&settings);
    BindEnv env = {.txn = h->txn, .settings = &settings, .find_table_func = files_find_table_func};
    Ast *asts;
    uint32_t n;
    arena_reset(&h->arena);
    error_clear(&h->err);
    TRY(sql_parse(&h->arena, str_of(sql), NULL, &asts, &n, &h->err));
    if (n != 1) return error_set(&h->err, SQLSTATE_SYNTAX_ERROR, "%u statements", n);
    return bind_statement(&h->arena, &env, asts, out, &h->err);
}

/* Binds and, if it is a definition, carries it out. */
static inline tcudb_status harness_define(Harness *h, const char *sql)
{
    Stmt *stmt;
    TRY(harness_bind(h, sql, &stmt));
    if (stmt->kind == STMT_CREATE_TABLE) return txn_create_table(h->txn, &stmt->table, &h->err);
    if (stmt->kind == STMT_CREATE_VIEW) return txn_create_view(h->txn, &stmt->create_view, stmt->flag, &h->err);
    return TCUDB_OK;
}

/* The answer as the oracle gives it: "name type | name type $1 type", or "SQLSTATE message [position]". */
static inline void harness_answer(Harness *h, const char *sql, char *out, size_t size)
{
    Stmt *stmt;
    size_t at = 0;
    out[0] = '\0';
    tcudb_status status = harness_bind(h, sql, &stmt);
    if (status == TCUDB_OK && stmt->plan != NULL) status = plan_verify(stmt->plan, &h->err);
    if (status != TCUDB_OK) {
        snprintf(out, size, "%s %s [%d]", h->err.sqlstate, h->err.message, h->err.position);
        return;
    }
    for (uint32_t i = 0; stmt->plan != NULL && i < stmt->plan->ncols && at < size; i++) {
        const PlanCol *col = &stmt->plan->cols[i];
        at +=
            (size_t)snprintf(out + at, size - at, "%s%s %s", i == 0 ? "" : " | ", col->name, type_base_name(col->type));
    }
    for (uint32_t i = 0; i < stmt->nparams && at < size; i++) {
        at += (size_t)snprintf(out + at, size - at, "%s$%u %s", at == 0 ? "" : " ", i + 1,
                               type_base_name(stmt->params[i]));
    }
}

#endif
