/*
 * codec_lists.c: list codecs on one CPU core, in cache, gaps only, beside StreamVByte in the same run.
 *
 *     codec_lists FILE.docs...    ds2i files; lists of 128 and more values, their full blocks
 *
 * A line a codec and instruction set: bits a value (headers included), decoding and encoding rates, the ratio to
 * StreamVByte. The first 64 Ki values of a file are decoded again and again (256 KB out: in L2); the best of many
 * rounds counts. Rates are of this thread's processor time. Every decoding is compared. The optimum is the dynamic
 * program's own sum of bits plus 64-bit headers over all blocks, partial ones included: the target of the size check.
 */
#include "codec/list_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <streamvbyte.h>
#include <time.h>

enum { CACHED = 1 << 16, ROUNDS = 400 };

typedef struct Input {
    uint32_t *gaps;  /* of full blocks only */
    size_t n, all;   /* values kept; values seen */
    double optimum;  /* bits over all blocks */
    double coded[2]; /* bytes by scheme: PForDelta, VSEncoding */
    double best;     /* bytes of the smaller of both, block by block */
} Input;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One block of a list: sizes by all schemes, and the optimum. */
static void size_block(Input *in, const uint32_t *gaps, uint32_t n)
{
    static uint8_t out[32768];
    uint8_t width[CODEC_BLOCK];
    uint16_t cost[CODEC_BLOCK + 1];
    for (uint32_t i = 0; i < n; i++) width[i] = vse_width[vse_code[list_bits(gaps[i])]];
    vse_costs_scalar(width, n, true, cost);
    in->optimum += 64 + cost[n];
    in->coded[0] += (double)list_encode32(gaps, n, LIST_USE_PFOR, out);
    in->coded[1] += (double)list_encode32(gaps, n, LIST_USE_VSE, out);
    in->best += (double)list_encode32(gaps, n, LIST_USE_ANY, out);
    in->all += n;
}

static bool read_input(const char *path, Input *in)
{
    uint32_t length = 0, block[CODEC_BLOCK], v = 0;
    FILE *f = fopen(path, "rb");
    if (f == NULL) return false;
    fseek(f, 0, SEEK_END);
    in->gaps = malloc((size_t)ftell(f) + 4096);
    rewind(f);
    for (uint32_t list = 0; in->gaps != NULL && fread(&length, 4, 1, f) == 1; list++) {
        uint32_t before = UINT32_MAX, n = 0;
        for (uint32_t i = 0; i < length && fread(&v, 4, 1, f) == 1; i++) {
            block[n++] = v - before - 1;
            before = v;
            if (list == 0 || length < 128 || (n < CODEC_BLOCK && i + 1 < length)) continue;
            size_block(in, block, n);
            if (n == CODEC_BLOCK) memcpy(in->gaps + in->n, block, sizeof(block));
            if (n == CODEC_BLOCK) in->n += n;
            n = 0;
        }
    }
    fclose(f);
    return in->gaps != NULL;
}

/* Million values a second of StreamVByte. */
static double stream_vbyte(const uint32_t *gaps, uint32_t n, uint32_t *out, double *bits)
{
    uint8_t *coded = malloc(streamvbyte_max_compressedbytes(n) + 64);
    double best = 1e9;
    if (coded == NULL) return 0;
    *bits = 8.0 * (double)streamvbyte_encode(gaps, n, coded) / n;
    for (int r = 0; r < ROUNDS; r++) {
        double from = now();
        streamvbyte_decode(coded, out, n);
        double took = now() - from;
        best = took < best ? took : best;
    }
    free(coded);
    return memcmp(out, gaps, 4 * (size_t)n) == 0 ? n / best / 1e6 : 0;
}

static double time_encoding(const uint32_t *gaps, uint32_t n, uint32_t schemes, uint8_t *coded, size_t *ends)
{
    double best = 1e9;
    for (int r = 0; r < 5; r++) {
        size_t at = 0;
        double from = now();
        for (uint32_t b = 0; b < n / CODEC_BLOCK; b++) {
            at += list_encode32(gaps + b * CODEC_BLOCK, CODEC_BLOCK, schemes, coded + at);
            ends[b] = at;
        }
        double took = now() - from;
        best = took < best ? took : best;
    }
    memset(coded + ends[n / CODEC_BLOCK - 1], 0, 64);
    return n / best / 1e6;
}

static double time_decoding(ListIsa isa, const uint8_t *coded, const size_t *ends, uint32_t n, uint32_t *out)
{
    double best = 1e9;
    for (int r = 0; r < ROUNDS; r++) {
        double from = now();
        for (uint32_t b = 0; b < n / CODEC_BLOCK; b++) {
            size_t at = b == 0 ? 0 : ends[b - 1], size = ends[b] - at;
            if (list_decode32(isa, coded + at, size, size + 64, CODEC_BLOCK, out + b * CODEC_BLOCK) != LIST_OK)
                return 0;
        }
        double took = now() - from;
        best = took < best ? took : best;
    }
    return n / best / 1e6;
}

static int bench_file(const char *path)
{
    static const char *const isa_name[] = {"scalar", "AVX2", "AVX-512"};
    static const struct {
        const char *name;
        uint32_t schemes;
    } codec[] = {{"vse", LIST_USE_VSE}, {"pfor", LIST_USE_PFOR}};
    Input in = {0};
    int wrong = 0;
    double svb_bits = 0;
    if (!read_input(path, &in) || in.n == 0) return printf("skipped: %s is not there\n", path), 0;
    uint32_t n = in.n < CACHED ? (uint32_t)in.n : CACHED, *out = malloc(4 * (size_t)n + 64);
    uint8_t *coded = malloc(list_bound32(CODEC_BLOCK) * (n / CODEC_BLOCK) + 64);
    size_t *ends = malloc(sizeof(*ends) * (n / CODEC_BLOCK));
    if (out == NULL || coded == NULL || ends == NULL) return 1;
    double svb = stream_vbyte(in.gaps, n, out, &svb_bits), all = (double)in.all;
    printf("%s: %zu values in lists of 128 and more\n", path, in.all);
    printf("  size, bits a value: optimum %.3f, vse %.3f (%+.2f %%), pfor %.3f, best of both %.3f\n", in.optimum / all,
           8 * in.coded[1] / all, 100 * (8 * in.coded[1] / in.optimum - 1), 8 * in.coded[0] / all, 8 * in.best / all);
    printf("  StreamVByte  %5.2f bits, decode %6.0f Mint/s\n", svb_bits, svb);
    for (int c = 0; c < 2; c++) {
        double encode = time_encoding(in.gaps, n, codec[c].schemes, coded, ends);
        for (int isa = LIST_SCALAR; isa <= (int)list_isa(); isa++) {
            double rate = time_decoding((ListIsa)isa, coded, ends, n, out);
            bool same = memcmp(out, in.gaps, 4 * (size_t)n) == 0;
            wrong += !same;
            printf("  %-4s %-7s %5.2f bits, decode %6.0f Mint/s (%.2f of StreamVByte), encode %4.0f Mint/s%s\n",
                   codec[c].name, isa_name[isa], 8.0 * (double)ends[n / CODEC_BLOCK - 1] / n, rate, rate / svb, encode,
                   same ? "" : "  WRONG");
        }
    }
    free(in.gaps);
    free(out);
    free(coded);
    free(ends);
    return wrong;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    if (argc < 2) printf("skipped: no files given\n");
    for (int i = 1; i < argc; i++) wrong += bench_file(argv[i]);
    return wrong != 0;
}
