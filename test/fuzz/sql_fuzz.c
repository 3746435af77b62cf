/*
 * sql_fuzz.c: fuzz target for the SQL text: parse, bind, verify the plans, against a database with two tables and a
 * view. With libFuzzer: clang -fsanitize=fuzzer,address. Tables are not created or dropped by the input.
 */
#include "bind/bind.h"
#include "files/files.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Target {
    Db *db;
    Txn *txn;
} Target;

static tcudb_status run(const Target *target, Str sql, bool define, Error *err)
{
    Mem mem;
    Arena arena;
    Ast *asts;
    uint32_t n;
    Settings settings;
    settings_init(&settings);
    BindEnv env = {.txn = target->txn, .settings = &settings, .find_table_func = define ? NULL : files_find_table_func};
    mem_init(&mem, 64 << 20);
    arena_init(&arena, &mem);
    tcudb_status status = sql_parse(&arena, sql, NULL, &asts, &n, err);
    for (uint32_t i = 0; i < n && status == TCUDB_OK; i++) {
        Stmt *stmt;
        status = bind_statement(&arena, &env, &asts[i], &stmt, err);
        if (status != TCUDB_OK) break;
        if (stmt->plan != NULL && plan_verify(stmt->plan, err) != TCUDB_OK) abort();
        if (define && stmt->kind == STMT_CREATE_TABLE) status = txn_create_table(target->txn, &stmt->table, err);
        if (define && stmt->kind == STMT_CREATE_VIEW)
            status = txn_create_view(target->txn, &stmt->create_view, false, err);
    }
    arena_free(&arena);
    return status;
}

static const Target *target_open(void)
{
    static Target target;
    static const char *const schema[] = {
        "create table t(a int, b bigint, c text, d date, n numeric(12,2), f float8, ok bool, ts timestamp)",
        "create table u(a int, x int not null, y varchar(10), z int default 1 + 2)",
        "create view v(p, q) as select a, sum(b) from t group by a",
    };
    Error err;
    DbOptions options = {.create = true};
    if (target.db != NULL) return &target;
    if (db_open(NULL, &options, &target.db, &err) != TCUDB_OK || txn_begin(target.db, &target.txn, &err) != TCUDB_OK)
        abort();
    for (size_t i = 0; i < sizeof schema / sizeof *schema; i++) {
        if (run(&target, str_of(schema[i]), true, &err) != TCUDB_OK) abort();
    }
    return &target;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Error err;
    Str sql = {(const char *)data, (uint32_t)size};
    if (size > 20000) return 0;
    (void)sql_incomplete(sql);
    (void)run(target_open(), sql, false, &err);
    return 0;
}
