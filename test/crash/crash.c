/* crash: kill -9 at random moments.
 *
 *     crash [CYCLES [SEED [DATABASES]]]         default 50 cycles, seed 1, 4 databases at a time
 *
 * A child opens the database and runs transactions for ever: each adds rows (n, n * 7, text of n) for the next numbers,
 * one to a few thousand at a time, sometimes through an appender large enough for part files, sometimes deletes rows,
 * drops and makes a second table. After each commit it writes the transaction's number to a pipe. The parent kills it
 * some time after a random one of them (after the fork in every fourth cycle, so that opening is hit too), opens the
 * database and checks: every acknowledged transaction is there, at most one more, and it is whole. Then the next cycle
 * goes on in the same directory, which starts over when it has grown: checking reads every row. Several processes share
 * the cycles, each with its own database. */
#include "store/store.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS_MAX = 400000 }; /* a database starts over */

static char dir[128];
static Error err;

static void die(const char *what)
{
    fprintf(stderr, "crash: %s: %s %s\n", what, err.message, err.detail);
    _exit(2);
}

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static Db *open_db(bool read_only)
{
    DbOptions options = {.create = !read_only, .read_only = read_only, .lock_timeout_ms = 5000};
    Db *db;
    if (db_open(dir, &options, &db, &err) != TCUDB_OK) die("open");
    return db;
}

/* ---- what transaction k does ---------------------------------------------------------------------------- */

typedef struct Plan {
    uint64_t rows; /* added to t */
    bool bulk;     /* by an appender */
    bool deletes;  /* the first live rows of t, a tenth of those added */
    bool side;     /* drops and makes table u, which holds k */
} Plan;

static Plan plan_of(uint64_t k)
{
    uint64_t r = mix(k);
    Plan plan = {.rows = 1 + r % 5, .deletes = r % 11 == 3, .side = r % 7 == 2};
    if (r % 13 == 5) plan.rows = 1000 + r % 3000;
    if (r % 97 == 11) plan.rows = 140000;
    plan.bulk = plan.rows > 2000;
    return plan;
}

/* Totals after transactions 0..k-1: rows ever added and deleted. */
static void totals(uint64_t k, uint64_t *added, uint64_t *deleted)
{
    static uint64_t at, sum, gone; /* k only grows */
    if (k < at) at = sum = gone = 0;
    for (; at < k; at++) {
        Plan plan = plan_of(at);
        sum += plan.rows;
        if (plan.deletes) gone += plan.rows / 10;
    }
    *added = sum;
    *deleted = gone;
}

/* ---- the child --------------------------------------------------------------------------------------------- */

static void make_batch(Arena *arena, uint64_t from, uint32_t n, Batch *out)
{
    *out = (Batch){.rows = n, .n = n, .ncols = 3, .cols = ARENA_ARRAY(arena, Vector, 3, &err)};
    const Type types[3] = {TYPE(TYPE_INT8), TYPE(TYPE_INT4), TYPE(TYPE_TEXT)};
    for (uint32_t c = 0; c < 3; c++)
        if (vec_new(arena, types[c], n, &out->cols[c], &err) != TCUDB_OK) die("vector");
    for (uint32_t i = 0; i < n; i++) {
        uint64_t v = from + i;
        ((int64_t *)out->cols[0].data)[i] = (int64_t)v;
        ((int32_t *)out->cols[1].data)[i] = (int32_t)(v % 100000 * 7);
        ((Str *)out->cols[2].data)[i] = str_of(arena_printf(arena, &err, "v%" PRIu64, v % 20000));
    }
}

static void add_rows(Txn *txn, const char *table, uint64_t from, uint64_t n, bool bulk)
{
    Appender *a = NULL;
    if (bulk && appender_new(txn, str_of(table), &a, &err) != TCUDB_OK) die("appender");
    while (n > 0) {
        uint32_t m = n < BATCH_ROWS ? (uint32_t)n : BATCH_ROWS;
        Arena arena;
        Batch batch;
        arena_init(&arena, NULL);
        make_batch(&arena, from, m, &batch);
        tcudb_status status = bulk ? appender_add(a, &batch, &err) : txn_append(txn, str_of(table), &batch, &err);
        if (status != TCUDB_OK) die("append");
        arena_free(&arena);
        from += m;
        n -= m;
    }
    if (bulk && appender_finish(a, 0, &err) != TCUDB_OK) die("finish");
}

static void create(Txn *txn, const char *name)
{
    ColumnDef cols[3] = {{.name = STR_LIT("a"), .type = TYPE(TYPE_INT8)},
                         {.name = STR_LIT("b"), .type = TYPE(TYPE_INT4)},
                         {.name = STR_LIT("c"), .type = TYPE(TYPE_TEXT)}};
    TableDef def = {.name = str_of(name), .ncols = 3, .cols = cols};
    if (txn_create_table(txn, &def, &err) != TCUDB_OK) die("create");
}

/* Deletes the first n live rows of t: those with the smallest numbers. */
static void delete_first(Txn *txn, uint64_t n)
{
    const Table *t = txn_table(txn, STR_LIT("t"));
    uint64_t *ids = malloc((n + 1) * sizeof ids[0]), found = 0;
    for (uint32_t s = 0; s < table_segments(t) && found < n; s++) {
        const uint64_t *gone = segment_deleted(t, s);
        for (uint32_t row = 0; row < segment_rows(t, s) && found < n; row++)
            if (gone == NULL || !bit_get(gone, row)) ids[found++] = (uint64_t)s << 32 | row;
    }
    if (txn_delete(txn, STR_LIT("t"), ids, found, &err) != TCUDB_OK) die("delete");
    free(ids);
}

static void run_transaction(Db *db, uint64_t k)
{
    Plan plan = plan_of(k);
    uint64_t added, deleted;
    totals(k, &added, &deleted);
    Txn *txn;
    if (txn_begin(db, &txn, &err) != TCUDB_OK || txn_lock(txn, &err) != TCUDB_OK) die("begin");
    if (k == 0) create(txn, "t");
    add_rows(txn, "t", added, plan.rows, plan.bulk);
    if (plan.deletes) delete_first(txn, plan.rows / 10);
    if (plan.side || k == 0) {
        if (k > 0 && txn_drop_table(txn, STR_LIT("u"), &err) != TCUDB_OK) die("drop");
        create(txn, "u");
        add_rows(txn, "u", k, 1, false);
    }
    if (txn_commit(txn, &err) != TCUDB_OK) die("commit");
}

static void child(uint64_t k, int pipe_fd)
{
    Db *db = open_db(false);
    for (;; k++) {
        run_transaction(db, k);
        if (write(pipe_fd, &k, sizeof k) != sizeof k) _exit(0);
        if (db_maintain(db, NULL, &err) != TCUDB_OK) die("maintain");
        if (mix(k) % 31 == 7) { /* closing folds */
            db_close(db);
            db = open_db(false);
        }
    }
}

/* ---- the parent ------------------------------------------------------------------------------------------------ */

static int64_t number_at(const Table *t, uint32_t s, uint32_t col, uint32_t row, Arena *arena)
{
    Vector v;
    uint32_t start = row / CODEC_BLOCK * CODEC_BLOCK, n = segment_rows(t, s) - start;
    if (segment_read(t, s, col, start, n < CODEC_BLOCK ? n : CODEC_BLOCK, NULL, 0, arena, &v, &err) != TCUDB_OK)
        die("read");
    return vec_value(&v, row - start).i64;
}

/* Rows deleted..added-1 of the model, in order, with all their columns. */
static void check_rows(const Table *t, uint64_t deleted)
{
    Arena arena;
    arena_init(&arena, NULL);
    uint64_t next = deleted;
    for (uint32_t s = 0; s < table_segments(t); s++) {
        const uint64_t *gone = segment_deleted(t, s);
        for (uint32_t start = 0; start < segment_rows(t, s); start += BATCH_ROWS) {
            uint32_t n = segment_rows(t, s) - start < BATCH_ROWS ? segment_rows(t, s) - start : BATCH_ROWS;
            Vector v[3];
            for (uint32_t c = 0; c < 3; c++)
                if (segment_read(t, s, c, start, n, NULL, 0, &arena, &v[c], &err) != TCUDB_OK) die("read");
            for (uint32_t i = 0; i < n; i++) {
                if (gone != NULL && bit_get(gone, start + i)) continue;
                char text[32];
                snprintf(text, sizeof text, "v%" PRIu64, next % 20000);
                if (vec_value(&v[0], i).i64 != (int64_t)next ||
                    vec_value(&v[1], i).i32 != (int32_t)(next % 100000 * 7) ||
                    !str_equal(vec_value(&v[2], i).str, str_of(text)))
                    die("a row is wrong");
                next++;
            }
            arena_reset(&arena);
        }
    }
    arena_free(&arena);
}

static uint64_t last_side(uint64_t k)
{
    while (k > 0 && !plan_of(k).side) k--;
    return k;
}

/* How many transactions the database holds; `least` were acknowledged. */
static uint64_t check(uint64_t least, bool read_only)
{
    Db *db = open_db(read_only);
    Txn *txn;
    if (txn_begin(db, &txn, &err) != TCUDB_OK) die("begin");
    const Table *t = txn_table(txn, STR_LIT("t")), *u = txn_table(txn, STR_LIT("u"));
    uint64_t k = least, added, deleted;
    if (t == NULL) {
        if (least > 0 || u != NULL) die("the table is lost");
    } else {
        for (; k <= least + 1; k++) {
            totals(k, &added, &deleted);
            if (k > 0 && table_rows(t) == added - deleted) break;
        }
        if (k > least + 1) die("an acknowledged transaction is lost, or one is there in part");
        check_rows(t, deleted);
        Arena arena;
        arena_init(&arena, NULL);
        if (u == NULL || table_rows(u) != 1 || number_at(u, 0, 0, 0, &arena) != (int64_t)last_side(k - 1))
            die("the second table is of another transaction");
        arena_free(&arena);
    }
    txn_rollback(txn);
    db_close(db);
    return k;
}

/* Waits for `wait_for` acknowledgements, then for a time; kills. The result is the next transaction's number. */
static uint64_t cycle(uint64_t k, uint64_t wait_for, uint64_t delay_us)
{
    int ends[2];
    if (pipe(ends) != 0) die("pipe");
    pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) {
        close(ends[0]);
        child(k, ends[1]);
    }
    close(ends[1]);
    uint64_t number, least = k;
    while (wait_for-- > 0 && read(ends[0], &number, sizeof number) == sizeof number) least = number + 1;
    usleep((useconds_t)delay_us);
    kill(pid, SIGKILL);
    while (read(ends[0], &number, sizeof number) == sizeof number) least = number + 1;
    close(ends[0]);
    int wait_status;
    waitpid(pid, &wait_status, 0);
    if (WIFEXITED(wait_status)) die("the child failed by itself");
    return least;
}

static void remove_all(const char *path)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    if (system(command) != 0) die(command);
}

/* The number of transactions that were acknowledged. */
static uint64_t run_cycles(const char *base, uint64_t database, uint64_t cycles, uint64_t seed)
{
    snprintf(dir, sizeof dir, "%s/%" PRIu64 ".tcu", base, database);
    uint64_t k = 0, transactions = 0;
    for (uint64_t i = 0; i < cycles; i++) {
        uint64_t random = mix((seed * 1000003 + database) * 1000003 + i);
        uint64_t least = cycle(k, i % 4 == 0 ? 0 : random % 9, mix(random) % (i % 4 == 0 ? 40000 : 12000));
        transactions += least - k;
        k = check(least, i % 2 == 1 && least > 0);
        uint64_t added, deleted;
        totals(k, &added, &deleted);
        if (added > ROWS_MAX) {
            remove_all(dir);
            k = 0;
        }
    }
    return transactions;
}

int main(int argc, char **argv)
{
    uint64_t cycles = argc > 1 ? strtoull(argv[1], NULL, 10) : 50;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint64_t databases = argc > 3 ? strtoull(argv[3], NULL, 10) : 4;
    char base[64];
    snprintf(base, sizeof base, "%s/tcudb_kill_XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    bool lost = databases == 0;
    uint64_t *done =
        mmap(NULL, sizeof *done * (databases + 1), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (done == MAP_FAILED || mkdtemp(base) == NULL) die("mkdtemp");
    for (uint64_t d = 0; d < databases; d++) {
        pid_t pid = fork();
        if (pid < 0) die("fork");
        if (pid == 0) {
            done[d] = run_cycles(base, d, cycles / databases + (d < cycles % databases), seed);
            _exit(0);
        }
    }
    int status;
    while (wait(&status) > 0) lost |= status != 0;
    if (lost) {
        fprintf(stderr, "crash: seed %" PRIu64 ", %" PRIu64 " databases: look into %s\n", seed, databases, base);
        return 1;
    }
    remove_all(base);
    uint64_t transactions = 0;
    for (uint64_t d = 0; d < databases; d++) transactions += done[d];
    printf("crash: %" PRIu64 " cycles, %" PRIu64 " transactions, seed %" PRIu64 ": nothing lost\n", cycles,
           transactions, seed);
    return 0;
}
