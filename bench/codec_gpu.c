/*
 * codec_gpu.c: checks and measures the GPU decoders of list blocks.
 *
 *   codec_gpu check [FILE.docs...]    every kind of block in every mode against the CPU; damage
 *   codec_gpu intact                  the same without damage: for racecheck, since damaged exceptions may name a
 *                                     position twice, and then two lanes write it
 *   codec_gpu sanitize                a short check for memcheck
 *   codec_gpu bench [=LABEL] [FILE.docs...]
 *                                     2^28 values a run, each mode beside the mix: a plain kernel that reads and
 *                                     writes the same bytes, in the same run; every output is compared
 *   codec_gpu sweep                   the source text's figures 3.19 to 3.22 as CSV
 *   codec_gpu ops DOCS [FREQS]        AND, OR, NOT, top-k against the CPU's answers
 *
 * Without a GPU it says why and exits with 77 (skipped).
 */
#include "codec_gpu.h"

#include "codec/list_cost.h"
#include "codec/list_int.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 1 << 18, POOL = 1024, RUNS = 7 };

typedef struct Bench {
    Device *dev;
    DeviceKernel *mix[3], *read, *fill, *directory, *compare;
    DevicePtr area, dir, out, result, want, wrong;
    size_t area_bytes;
    ListGpu big;
    double mix_rate, read_rate;
    const char *only; /* measure only pools whose label contains this */
    uint32_t failures;
} Bench;

static double values_a_second(uint64_t values, float ms)
{
    return (double)values / ms / 1e6;
}

static int compare_float(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Median milliseconds of fn(ctx). */
typedef tcudb_status (*RunFn)(void *ctx, Error *err);
static tcudb_status median_ms(Bench *b, RunFn fn, void *ctx, float *out, Error *err)
{
    float ms[RUNS];
    TRY(fn(ctx, err));
    for (int i = 0; i < RUNS; i++) {
        TRY(device_mark(b->dev, 0, err));
        TRY(fn(ctx, err));
        TRY(device_mark(b->dev, 1, err));
        TRY(device_between(b->dev, 0, 1, &ms[i], err));
    }
    qsort(ms, RUNS, sizeof(ms[0]), compare_float);
    *out = ms[RUNS / 2];
    return TCUDB_OK;
}

typedef struct MixRun {
    Bench *b;
    int kind; /* 0..2: mix; 3: read only */
    double bytes;
} MixRun;

static tcudb_status run_mix(void *ctx, Error *err)
{
    MixRun *m = ctx;
    uint32_t blocks = BLOCKS;
    uint64_t units = m->b->area_bytes / 16;
    if (m->kind == 3) {
        void *args[] = {&m->b->area, &m->b->result, &units};
        return device_launch(m->b->dev, m->b->read, (uint32_t)((units + 2047) / 2048), 512, 0, args, err);
    }
    void *args[] = {&m->b->area, &m->b->out, &m->bytes, &blocks};
    return device_launch(m->b->dev, m->b->mix[m->kind], BLOCKS / 8, 256, m->kind == 2 ? 32768 : 0, args, err);
}

static tcudb_status measure_mix(Bench *b, Error *err)
{
    float best = 1e9f, ms = 0;
    MixRun m = {b, 0, (double)b->area_bytes / BLOCKS + 16};
    for (m.kind = 0; m.kind < 3; m.kind++) {
        TRY(median_ms(b, run_mix, &m, &ms, err));
        best = ms < best ? ms : best;
    }
    b->mix_rate = values_a_second((uint64_t)BLOCKS * CODEC_BLOCK, best);
    m.kind = 3;
    TRY(median_ms(b, run_mix, &m, &ms, err));
    b->read_rate =
        values_a_second((uint64_t)BLOCKS * CODEC_BLOCK, ms * (float)((b->area_bytes + 16.0 * BLOCKS) / b->area_bytes));
    return TCUDB_OK;
}

/* Repeats the pool to BLOCKS blocks on the device. */
static tcudb_status spread(Bench *b, const Pool1 *p, Error *err)
{
    ListGpu small;
    uint64_t words = p->image.area.len / 4, repeats = (BLOCKS + p->blocks - 1) / p->blocks, total = words * repeats;
    uint32_t n = BLOCKS, units = (uint32_t)(words / 4);
    if (total * 4 + LIST_AREA_SLACK > (size_t)1300 << 20)
        return error_set(err, SQLSTATE_OUT_OF_MEMORY, "pool too large");
    TRY(list_gpu_upload(b->dev, &p->image, &small, err));
    void *fill[] = {&b->area, &small.area, &total, &words};
    tcudb_status status = device_launch(b->dev, b->fill, 4096, 256, 0, fill, err);
    void *dir[] = {&b->dir, &small.dir, &n, (void *)&p->blocks, &units};
    if (status == TCUDB_OK) status = device_launch(b->dev, b->directory, BLOCKS / 256, 256, 0, dir, err);
    if (status == TCUDB_OK) status = device_sync(b->dev, err);
    DevicePtr fault = b->big.fault;
    b->area_bytes = total * 4;
    b->big = small;
    b->big.fault = fault;
    b->big.dir = b->dir;
    b->big.area = b->area;
    b->big.blocks = BLOCKS;
    b->big.area_bytes = b->area_bytes;
    for (int c = 0; c < LIST_CLASSES; c++) {
        b->big.index[c] = 0;
        b->big.in_class[c] = small.in_class[c] == 0 ? 0 : BLOCKS; /* all of one class */
    }
    list_gpu_close(&small);
    return status;
}

typedef struct DecodeRun {
    Bench *b;
    ListMode mode;
    uint32_t limit, first, count, parts; /* parts: launches over consecutive ranges */
    bool burst;
} DecodeRun;

static tcudb_status run_decode(void *ctx, Error *err)
{
    DecodeRun *d = ctx;
    for (uint32_t i = 0; i < d->parts; i++)
        TRY(list_gpu_decode(&d->b->big, d->mode, d->first + i * d->count, d->count, d->limit, d->burst, d->b->out,
                            d->b->result, err));
    return TCUDB_OK;
}

static tcudb_status compare(Bench *b, const Buf *want, DevicePtr got, uint64_t n, const char *what, Error *err)
{
    uint64_t wrong = 0, period = want->len / 4;
    TRY(device_upload(b->dev, b->want, want->data, want->len, err));
    TRY(device_fill(b->dev, b->wrong, 0, 8, err));
    void *args[] = {&got, &b->want, &n, &period, &b->wrong};
    TRY(device_launch(b->dev, b->compare, 4096, 256, 0, args, err));
    TRY(device_download(b->dev, &wrong, b->wrong, 8, err));
    if (wrong != 0) {
        printf("WRONG: %s: %llu of %llu\n", what, (unsigned long long)wrong, (unsigned long long)n);
        b->failures++;
    }
    return TCUDB_OK;
}

/* Poisons, decodes, compares with the pool's answers. */
static tcudb_status verify(Bench *b, const Pool1 *p, ListMode mode, const char *what, Error *err)
{
    bool folded = mode == LIST_SUM || mode == LIST_COUNT;
    uint64_t n = folded ? b->big.blocks : (uint64_t)b->big.blocks * CODEC_BLOCK;
    const Buf *want = mode == LIST_ASCEND  ? &p->values
                      : mode == LIST_SUM   ? &p->sums
                      : mode == LIST_COUNT ? &p->counts
                                           : &p->gaps;
    TRY(device_fill(b->dev, folded ? b->result : b->out, 0xa5, n * 4, err));
    TRY(list_gpu_decode(&b->big, mode, 0, b->big.blocks, p->limit, false, b->out, b->result, err));
    TRY(list_gpu_check(&b->big, err));
    return compare(b, want, folded ? b->result : b->out, n, what, err);
}

static const char *const mode_name[LIST_MODES] = {"store", "ascend", "sum", "count", "seed"};

static tcudb_status bench_pool(Bench *b, const Pool1 *p, const char *label, Error *err)
{
    static const struct {
        ListMode mode;
        bool burst;
        const char *name;
    } column[] = {{LIST_SEED, false, "seed"},      {LIST_STORE, false, "written"}, {LIST_ASCEND, false, "prefix"},
                  {LIST_STORE, true, "w+burst"},   {LIST_ASCEND, true, "p+burst"}, {LIST_SUM, false, "fused sum"},
                  {LIST_COUNT, false, "fused pfx"}};
    if (p->blocks == 0 || (b->only != NULL && strstr(label, b->only) == NULL)) return TCUDB_OK;
    TRY(spread(b, p, err));
    TRY(measure_mix(b, err));
    printf("%-22s %5.2f b/i mix %4.0f read %5.0f |", label, p->bits, b->mix_rate, b->read_rate);
    for (size_t c = 0; c < sizeof(column) / sizeof(column[0]); c++) {
        float ms = 0;
        DecodeRun d = {b, column[c].mode, p->limit, 0, BLOCKS, 1, column[c].burst};
        if (!column[c].burst) TRY(verify(b, p, d.mode, mode_name[d.mode], err));
        TRY(median_ms(b, run_decode, &d, &ms, err));
        double rate = values_a_second((uint64_t)BLOCKS * CODEC_BLOCK, ms);
        ListShape shape = {.pfor = b->big.in_class[LIST_CLASS_PFOR] + b->big.in_class[LIST_CLASS_PFOR_WIDE] > 0,
                           .n = (uint64_t)BLOCKS * CODEC_BLOCK,
                           .bunch = p->bunches == 0 ? 32 : (double)p->stored / (double)p->bunches,
                           .bits = (double)b->area_bytes * 8 / ((double)BLOCKS * CODEC_BLOCK),
                           .exceptions = (double)p->exceptions / (double)p->stored};
        double predicted = list_cost_gpu(list_cost_h200(), &shape, d.mode);
        if (d.mode == LIST_SUM || d.mode == LIST_COUNT)
            printf(" %s %5.0f", column[c].name, rate);
        else
            printf(" %s %4.0f %3.0f%%", column[c].name, rate, 100 * rate / b->mix_rate);
        if (!column[c].burst)
            printf(" (T+G %.0f)", values_a_second((uint64_t)BLOCKS * CODEC_BLOCK, (float)(predicted * 1e3)));
    }
    printf("\n");
    fflush(stdout);
    return TCUDB_OK;
}

static tcudb_status bench_all(Bench *b, int files, char **file, Error *err)
{
    static const uint32_t widths[] = {1, 4, 8, 12, 16, 20, 24, 28, 32}, lengths[] = {2, 4, 8, 16};
    static const double shares[] = {0, 0.02, 0.1};
    Pool1 p;
    char label[96];
    for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++)
        for (size_t s = 0; s < 3; s++) {
            if (widths[w] == 32 && s > 0) continue;
            pool_begin(&p, 1u << 28);
            TRY(pool_pfor(&p, POOL, widths[w], shares[s], err));
            snprintf(label, sizeof(label), "pfor b=%u exc %.0f%%", widths[w], 100 * shares[s]);
            TRY(bench_pool(b, &p, label, err));
            pool_end(&p);
        }
    for (size_t l = 0; l < 4; l++)
        for (size_t w = 0; w < 5; w++) {
            if (widths[w] == 12) continue;
            pool_begin(&p, 1u << 28);
            TRY(pool_vse(&p, POOL, lengths[l], widths[w], err));
            snprintf(label, sizeof(label), "vse n=%.1f b=%u", (double)p.stored / (double)p.bunches, widths[w]);
            TRY(bench_pool(b, &p, label, err));
            pool_end(&p);
        }
    for (int i = 0; i < files; i++) {
        const char *slash = strrchr(file[i], '/');
        pool_begin(&p, 1u << 16);
        TRY(pool_lists(&p, file[i], POOL, LIST_USE_VSE, true, err));
        snprintf(label, sizeof(label), "vse n=%.1f %.12s", (double)p.stored / (double)p.bunches,
                 slash == NULL ? file[i] : slash + 1);
        TRY(bench_pool(b, &p, label, err));
        pool_end(&p);
    }
    return b->only == NULL ? wide_bench(b->dev, err) : TCUDB_OK;
}

/* ---- the figures ---- */

static tcudb_status sweep_point(Bench *b, const char *figure, uint32_t n, uint32_t width, uint32_t lists, Error *err)
{
    Pool1 p;
    float ms = 0;
    uint32_t blocks = (lists * 100000 + CODEC_BLOCK - 1) / CODEC_BLOCK;
    pool_begin(&p, 1u << 28);
    if (n == 32)
        TRY(pool_pfor(&p, POOL, width, 0.02, err));
    else
        TRY(pool_vse(&p, POOL, n, width, err));
    TRY(spread(b, &p, err));
    for (int mode = 0; mode < LIST_MODES; mode++) {
        uint32_t parts = BLOCKS / blocks < 64 ? BLOCKS / blocks : 64;
        DecodeRun d = {b, (ListMode)mode, p.limit, 0, blocks, parts, false};
        TRY(median_ms(b, run_decode, &d, &ms, err));
        printf("csv,%s,%s,%u,%u,%u,%.1f\n", figure, mode_name[mode], lists, n, width,
               values_a_second((uint64_t)blocks * CODEC_BLOCK * parts, ms));
    }
    pool_end(&p);
    return TCUDB_OK;
}

static tcudb_status sweep(Bench *b, Error *err)
{
    static const uint32_t bound[3][3] = {{2, 2, 16}, {16, 8, 8}, {128, 16, 1}}; /* list size, n, b */
    printf("csv,figure,mode,L/1e5,n,b,Gint/s\n");
    for (uint32_t l = 2; l <= 128; l *= 2)
        for (int s = 0; s < 3; s++) {
            TRY(sweep_point(b, "3.19", bound[s][1], bound[s][2], l, err));
            TRY(sweep_point(b, "3.22", 32, bound[s][2], l, err));
        }
    for (uint32_t n = 2; n <= 16; n *= 2)
        for (int s = 0; s < 3; s++) TRY(sweep_point(b, "3.20", n, bound[s][2], bound[s][0], err));
    for (uint32_t w = 1; w <= 16; w *= 2)
        for (int s = 0; s < 3; s++) TRY(sweep_point(b, "3.21", bound[s][1], w, bound[s][0], err));
    return TCUDB_OK;
}

/* ---- correctness ---- */

static tcudb_status check_pool(Bench *b, const Pool1 *p, const char *label, Error *err)
{
    uint32_t before = b->failures;
    DevicePtr fault = b->big.fault;
    TRY(list_gpu_upload(b->dev, &p->image, &b->big, err));
    for (int mode = 0; mode < LIST_MODES; mode++) {
        /* the seed's variants know only the two codecs */
        if (mode == LIST_SEED && p->bunches == 0) continue;
        if (mode == LIST_SEED && b->big.in_class[LIST_CLASS_PFOR] + b->big.in_class[LIST_CLASS_PFOR_WIDE] > 0) continue;
        for (b->big.walk = 0; b->big.walk < 6; b->big.walk += 1 + b->big.walk) /* what pays; 1; 3 */
            TRY(verify(b, p, (ListMode)mode, mode_name[mode], err));
    }
    b->big.walk = 0;
    list_gpu_close(&b->big);
    b->big.fault = fault;
    printf("%-6s %s: %u blocks, %llu values\n", b->failures == before ? "ok" : "FAILED", label, p->blocks,
           (unsigned long long)p->stored);
    return TCUDB_OK;
}

/* Random damage of payloads and entries' payload part: the kernels must end, without a driver error. */
static tcudb_status check_damage(Bench *b, uint32_t rounds, Error *err)
{
    Pool1 p;
    uint32_t reported = 0;
    DevicePtr fault = b->big.fault;
    pool_begin(&p, 1u << 28);
    TRY(pool_all_kinds(&p, err));
    for (uint32_t round = 0; round < rounds; round++) {
        Buf damaged = {0};
        TRY(buf_append(&damaged, p.image.area.data, p.image.area.len, err));
        for (uint32_t k = 0; k < damaged.len / 200; k++)
            damaged.data[pool_random() % damaged.len] = (char)pool_random();
        TRY(list_gpu_upload(b->dev, &p.image, &b->big, err));
        TRY(device_upload(b->dev, b->big.area, damaged.data, damaged.len, err));
        for (int mode = 0; mode < LIST_MODES; mode++)
            TRY(list_gpu_decode(&b->big, (ListMode)mode, 0, b->big.blocks, 7, false, b->out, b->result, err));
        TRY(device_sync(b->dev, err));
        reported += list_gpu_check(&b->big, err) != TCUDB_OK;
        list_gpu_close(&b->big);
        buf_free(&damaged);
    }
    b->big.fault = fault;
    pool_end(&p);
    printf("%-6s damage: %u of %u damaged uploads reported, none trapped\n", reported == rounds ? "ok" : "FAILED",
           reported, rounds);
    b->failures += reported != rounds;
    return TCUDB_OK;
}

static tcudb_status check(Bench *b, int files, char **file, bool brief, bool damage, Error *err)
{
    Pool1 p;
    pool_begin(&p, 1u << 28);
    TRY(pool_all_kinds(&p, err));
    TRY(check_pool(b, &p, "all kinds of blocks", err));
    pool_end(&p);
    for (int i = 0; i < files; i++)
        for (uint32_t schemes = LIST_USE_PFOR; schemes <= LIST_USE_ANY; schemes += LIST_USE_PFOR) {
            pool_begin(&p, 100000);
            TRY(pool_lists(&p, file[i], 4096, schemes, false, err));
            TRY(check_pool(b, &p, file[i], err));
            pool_end(&p);
        }
    TRY(wide_check(b->dev, damage ? brief ? 2 : 20 : 0, &b->failures, err));
    TRY(ops_check(b->dev, brief ? 60 : damage ? 1000 : 200, damage ? brief ? 1 : 10 : 0, &b->failures, err));
    return damage ? check_damage(b, brief ? 2 : 20, err) : TCUDB_OK;
}

static tcudb_status prepare(Bench *b, Error *err)
{
    static const char *const names[] = {"bench_mix",  "bench_mix_cs",    "bench_mix_bulk", "bench_read",
                                        "bench_fill", "bench_directory", "bench_compare"};
    DeviceKernel **const kernels[] = {&b->mix[0], &b->mix[1],    &b->mix[2], &b->read,
                                      &b->fill,   &b->directory, &b->compare};
    DeviceModule *module = NULL;
    const DeviceInfo *info = device_info(b->dev);
    printf("%s, %u SMs, %.2f GHz\n", info->name, info->sms, info->clock_khz / 1e6);
    TRY(device_module(b->dev, "list_bench", &module, err));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) TRY(device_kernel(module, names[i], kernels[i], err));
    TRY(device_alloc(b->dev, (size_t)1300 << 20, &b->area, err));
    TRY(device_fill(b->dev, b->area, 0, (size_t)1300 << 20, err));
    TRY(device_alloc(b->dev, (size_t)BLOCKS * 16, &b->dir, err));
    TRY(device_alloc(b->dev, (size_t)BLOCKS * CODEC_BLOCK * 4, &b->out, err));
    TRY(device_alloc(b->dev, (size_t)BLOCKS * 4, &b->result, err));
    TRY(device_alloc(b->dev, (size_t)64 << 20, &b->want, err));
    TRY(device_alloc(b->dev, 8, &b->wrong, err));
    TRY(device_alloc(b->dev, BLOCKS, &b->big.fault, err));
    return device_fill(b->dev, b->big.fault, 0, BLOCKS, err);
}

int main(int argc, char **argv)
{
    Bench b = {0};
    Error err = {0};
    const char *what = argc > 1 ? argv[1] : "check";
    if (argc > 2 && argv[2][0] == '=') { /* =LABEL */
        b.only = argv[2] + 1;
        argv++;
        argc--;
    }
    int files = argc > 2 ? argc - 2 : 0;
    if (device_open(0, &b.dev, &err) != TCUDB_OK) {
        printf("skipped: %s\n", err.message);
        return 77;
    }
    tcudb_status status = prepare(&b, &err);
    if (status == TCUDB_OK && strcmp(what, "bench") == 0)
        status = bench_all(&b, files, argv + 2, &err);
    else if (status == TCUDB_OK && strcmp(what, "sweep") == 0)
        status = sweep(&b, &err);
    else if (status == TCUDB_OK && strcmp(what, "ops") == 0 && files > 0)
        status = ops_bench(b.dev, argv[2], files > 1 ? argv[3] : NULL, &b.failures, &err);
    else if (status == TCUDB_OK)
        status = check(&b, files, argv + 2, strcmp(what, "sanitize") == 0, strcmp(what, "intact") != 0, &err);
    if (status != TCUDB_OK) printf("error: %s %s\n", err.sqlstate, err.message);
    printf("%u wrong\n", b.failures);
    device_close(b.dev);
    return status != TCUDB_OK || b.failures > 0;
}
