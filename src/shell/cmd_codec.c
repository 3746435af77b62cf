/*
 * cmd_codec.c: `tcudb codec`: lists of integers, compressed and taken apart. Uses tcudb_codec.h and nothing else of
 * ours.
 *
 *     tcudb codec encode FILE [-o OUT] [--as KIND] [--codec vse|pfor|best]     a file to a set (.tcl)
 *     tcudb codec decode FILE [-o OUT]                                         and back to the very file
 *     tcudb codec inspect FILE [--list N] [--blocks N]                         sizes, blocks, histograms
 *     tcudb codec verify FILE                                                  checks all of it
 *     tcudb codec bench FILE [--as KIND]                                       sizes and speeds, CPU and GPU, beside
 * predictions
 *
 * KIND is sequences (ds2i, PISA), u32, u64 or text; without --as it is guessed from the file's name, else from its
 * bytes.
 * `-` as OUT is standard output. Exit status: 0 done, 1 bad usage or file, 3 damaged or not of its kind.
 */
#include "subcommand.h"

#include "tcudb_codec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { USAGE = 1, DAMAGED = 3, BAR = 40 };

typedef struct Job {
    const char *file, *out;
    int as; /* tcudb_list_source; 0: guess */
    tcudb_list_codec codec;
    uint64_t list, blocks;
    bool one_list, force;
    unsigned char *bytes;
    size_t size;
} Job;

static int complain(const char *what, const char *which, int status)
{
    fprintf(stderr, "tcudb codec: %s%s%s\n", what, which[0] != '\0' ? ": " : "", which);
    return status;
}

static int failed(const tcudb_error *err)
{
    return complain(err->message, "", DAMAGED);
}

/* ---- files ---- */

static int read_file(Job *job)
{
    FILE *f = fopen(job->file, "rb");
    size_t room = 1 << 16, got = 0;
    if (f == NULL) return complain(job->file, strerror(errno), USAGE);
    job->bytes = malloc(room);
    while (job->bytes != NULL && (got = fread(job->bytes + job->size, 1, room - job->size, f)) > 0) {
        job->size += got;
        if (job->size < room) continue;
        unsigned char *more = realloc(job->bytes, room *= 2);
        if (more == NULL) free(job->bytes);
        job->bytes = more;
    }
    bool bad = ferror(f) != 0;
    fclose(f);
    if (job->bytes == NULL) return complain("out of memory", "", USAGE);
    return bad ? complain(job->file, "could not be read", USAGE) : 0;
}

/* A file that could not be written whole goes away; a device, or a file that could not even be opened, stays. */
static void remove_part(const char *name)
{
    struct stat s;
    if (stat(name, &s) == 0 && S_ISREG(s.st_mode)) (void)unlink(name);
}

static int write_file(const Job *job, const char *name, bool chosen, const void *bytes, size_t size)
{
    bool standard = strcmp(name, "-") == 0;
    if (!chosen && !job->force && access(name, F_OK) == 0) return complain(name, "exists (-f overwrites it)", USAGE);
    FILE *f = standard ? stdout : fopen(name, "wb");
    if (f == NULL) return complain(name, strerror(errno), USAGE);
    bool bad = fwrite(bytes, 1, size, f) != size;
    if (standard)
        bad |= fflush(f) != 0;
    else
        bad |= fclose(f) != 0;
    if (bad && !standard) remove_part(name);
    return bad ? complain(name, "could not be written", USAGE) : 0;
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static bool is_set(const Job *job)
{
    return job->size >= 8 && memcmp(job->bytes, "TCULISTS", 8) == 0;
}

static tcudb_list_source guess(const Job *job)
{
    static const char *const sequences[] = {".docs", ".freqs", ".sizes"};
    bool text = job->size > 0;
    for (size_t i = 0; i < 3; i++)
        if (ends_with(job->file, sequences[i])) return TCUDB_FROM_SEQUENCES;
    if (ends_with(job->file, ".u64") || ends_with(job->file, ".i64")) return TCUDB_FROM_U64;
    if (ends_with(job->file, ".u32") || ends_with(job->file, ".i32")) return TCUDB_FROM_U32;
    for (size_t i = 0; i < job->size && text; i++)
        text = job->bytes[i] == '\n' || (job->bytes[i] >= '0' && job->bytes[i] <= '9');
    return text || ends_with(job->file, ".txt") ? TCUDB_FROM_TEXT : TCUDB_FROM_U32;
}

static const char *source_name(tcudb_list_source source)
{
    static const char *const names[] = {"the C interface", "sequences of 32-bit words", "a column of 32-bit words",
                                        "a column of 64-bit words", "text"};
    return (unsigned)source < 5 ? names[source] : "an unknown source";
}

/* ---- encode, decode, verify ---- */

static int encode(Job *job)
{
    tcudb_error err;
    void *bytes = NULL;
    size_t size = 0;
    char name[4096];
    tcudb_list_source source = job->as != 0 ? (tcudb_list_source)job->as : guess(job);
    if (tcudb_lists_encode_file(job->bytes, job->size, source, job->codec, &bytes, &size, &err) != TCUDB_OK)
        return complain(job->file, err.message, DAMAGED);
    snprintf(name, sizeof(name), "%s.tcl", job->file);
    const char *out = job->out != NULL ? job->out : name;
    int status = write_file(job, out, job->out != NULL, bytes, size);
    if (status == 0 && strcmp(out, "-") != 0)
        printf("%s: %s, %zu bytes -> %s, %zu bytes (%.1f %%)\n", job->file, source_name(source), job->size, out, size,
               job->size == 0 ? 100.0 : 100.0 * (double)size / (double)job->size);
    tcudb_lists_free(bytes);
    return status;
}

static int decode(Job *job, tcudb_lists *lists)
{
    tcudb_error err;
    void *bytes = NULL;
    size_t size = 0;
    char name[4096];
    if (tcudb_lists_decode_file(lists, &bytes, &size, &err) != TCUDB_OK)
        return complain(job->file, err.message, DAMAGED);
    if (ends_with(job->file, ".tcl"))
        snprintf(name, sizeof(name), "%.*s", (int)(strlen(job->file) - 4), job->file);
    else
        snprintf(name, sizeof(name), "%s.out", job->file);
    int status = write_file(job, job->out != NULL ? job->out : name, job->out != NULL, bytes, size);
    tcudb_lists_free(bytes);
    return status;
}

static int verify(Job *job, tcudb_lists *lists)
{
    tcudb_error err;
    tcudb_lists_info info;
    if (tcudb_lists_verify(lists, &err) != TCUDB_OK) return complain(job->file, err.message, DAMAGED);
    tcudb_lists_describe(lists, &info);
    printf("%s: ok, %llu lists, %llu values, %llu blocks\n", job->file, (unsigned long long)info.lists,
           (unsigned long long)info.values, (unsigned long long)info.blocks);
    return 0;
}

/* ---- inspect ---- */

typedef struct Summary {
    uint64_t blocks, values, bytes, schemes[5], scheme_bytes[5], exceptions, pfor_values, bunches, vse_values;
    uint64_t lengths[65], widths[33], slots[33], bits[34]; /* bits: blocks by bits a value */
} Summary;

static const char *const scheme_names[5] = {"raw", "constant", "pfor", "vse", "pair"};

static void add_block(Summary *s, const tcudb_list_block *b)
{
    int scheme = 0;
    while (scheme < 4 && strcmp(scheme_names[scheme], b->scheme) != 0) scheme++;
    s->blocks++;
    s->values += b->n;
    s->bytes += b->bytes;
    s->schemes[scheme]++;
    s->scheme_bytes[scheme] += b->bytes;
    uint64_t bits = (uint64_t)b->bytes * 8 / b->n;
    s->bits[bits > 33 ? 33 : bits]++;
    if (scheme == 2) {
        s->exceptions += b->exceptions;
        s->pfor_values += b->n;
        s->slots[b->width] += b->n;
    }
    if (scheme == 3) {
        s->bunches += b->bunches;
        s->vse_values += b->n;
    }
    for (int i = 0; i < 65; i++) s->lengths[i] += b->bunch_lengths[i];
    for (int i = 0; i < 33; i++) s->widths[i] += b->bunch_widths[i];
}

static void histogram(const char *title, const char *unit, const uint64_t *n, int entries)
{
    uint64_t all = 0, most = 0;
    for (int i = 0; i < entries; i++) {
        all += n[i];
        most = n[i] > most ? n[i] : most;
    }
    if (all == 0) return;
    printf("\n%s\n", title);
    for (int i = 0; i < entries; i++)
        if (n[i] > 0)
            printf("%5d %s %10llu %5.1f %% %.*s\n", i, unit, (unsigned long long)n[i],
                   100.0 * (double)n[i] / (double)all, (int)(n[i] * BAR / most),
                   "########################################");
}

static void print_block(uint64_t list, uint64_t block, const tcudb_list_block *b)
{
    char inside[64] = "";
    if (b->bunches > 0)
        snprintf(inside, sizeof(inside), "%u bunches of %.1f", b->bunches, (double)b->n / b->bunches);
    else if (strcmp(b->scheme, "pfor") == 0)
        snprintf(inside, sizeof(inside), "%u exceptions of %u more bits", b->exceptions, b->exception_bits);
    printf("%6llu %6llu %-9s%5u%6u%7.2f%6u  %-32s%12llu%s\n", (unsigned long long)list, (unsigned long long)block,
           b->scheme, b->n, b->bytes, 8.0 * b->bytes / b->n, b->width, inside, (unsigned long long)b->last,
           b->intact ? "" : "  DAMAGED");
}

static void print_info(const Job *job, const tcudb_lists_info *info)
{
    printf("%s: from %s; %s values%s\n", job->file, source_name(info->source),
           info->flags & TCUDB_LISTS_WIDE ? "64-bit" : "32-bit",
           info->flags & TCUDB_LISTS_ASCENDING ? ", ascending lists stored as gaps" : "");
    printf("%llu lists, %llu values (largest %llu), %llu blocks\n", (unsigned long long)info->lists,
           (unsigned long long)info->values, (unsigned long long)info->largest, (unsigned long long)info->blocks);
    double per = info->values == 0 ? 0 : 8.0 / (double)info->values;
    printf("%llu bytes, %.2f bits a value: blocks %llu, skip arrays %llu, directory and short lists %llu\n",
           (unsigned long long)info->bytes, per * (double)info->bytes, (unsigned long long)info->block_bytes,
           (unsigned long long)info->skip_bytes, (unsigned long long)info->directory_bytes);
}

static void print_summary(const Summary *s)
{
    printf("\nscheme      blocks       bytes\n");
    for (int i = 0; i < 5; i++)
        if (s->schemes[i] > 0)
            printf("%-9s %8llu %11llu\n", scheme_names[i], (unsigned long long)s->schemes[i],
                   (unsigned long long)s->scheme_bytes[i]);
    if (s->values > 0) printf("blocks: %.3f bits a value\n", 8.0 * (double)s->bytes / (double)s->values);
    if (s->bunches > 0) printf("vse: %.2f values a bunch\n", (double)s->vse_values / (double)s->bunches);
    if (s->pfor_values > 0)
        printf("pfor: %.2f %% exceptions\n", 100.0 * (double)s->exceptions / (double)s->pfor_values);
    histogram("blocks by bits a value", "bits  ", s->bits, 34);
    histogram("vse: bunches by length", "values", s->lengths, 65);
    histogram("vse: values by width", "bits  ", s->widths, 33);
    histogram("pfor: values by slot width", "bits  ", s->slots, 33);
}

static int inspect(Job *job, tcudb_lists *lists)
{
    static Summary s;
    tcudb_lists_info info;
    tcudb_list_block b;
    tcudb_error err;
    uint64_t shown = 0;
    tcudb_lists_describe(lists, &info);
    print_info(job, &info);
    if (job->blocks > 0 && info.blocks > 0)
        printf("\n  list  block scheme       n bytes   bits width  inside                                  last\n");
    for (uint64_t i = 0; i < info.lists; i++) {
        if (job->one_list && i != job->list) continue;
        for (uint64_t k = 0; k < tcudb_lists_blocks(lists, i); k++) {
            if (tcudb_lists_block(lists, i, k, &b, &err) != TCUDB_OK) return complain(job->file, err.message, DAMAGED);
            add_block(&s, &b);
            if (shown++ < job->blocks || !b.intact) print_block(i, k, &b);
        }
    }
    if (shown > job->blocks && job->blocks > 0)
        printf("%llu more (--blocks N shows N, --list N one list's)\n", (unsigned long long)(shown - job->blocks));
    print_summary(&s);
    return 0;
}

/* ---- bench ---- */

/* Of this thread's processor, not of the wall: the machine may be busy with other things. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds of the fastest of several rounds over all lists; negative if one fails. */
static double time_cpu(const tcudb_lists *lists, const tcudb_lists_info *info, tcudb_error *err)
{
    uint64_t longest = 0;
    double best = -1, begun = now();
    for (uint64_t i = 0; i < info->lists; i++)
        if (tcudb_lists_length(lists, i) > longest) longest = tcudb_lists_length(lists, i);
    void *out = malloc((size_t)longest * 8 + 8);
    for (int round = 0; out != NULL && round < 200 && (round < 3 || now() - begun < 0.5); round++) {
        double from = now();
        for (uint64_t i = 0; i < info->lists; i++)
            if (tcudb_lists_decode(lists, i, out, err) != TCUDB_OK) {
                free(out);
                return -1;
            }
        double took = now() - from;
        best = best < 0 || took < best ? took : best;
    }
    free(out);
    return best;
}

typedef struct Shape {
    double bunch, bits, exceptions;
} Shape;

static void mean_shape(const tcudb_lists *lists, const tcudb_lists_info *info, Shape *shape)
{
    uint64_t bunches = 0, values = 0, bytes = 0, exceptions = 0;
    tcudb_list_block b;
    tcudb_error err;
    for (uint64_t i = 0; i < info->lists; i++)
        for (uint64_t k = 0; k < tcudb_lists_blocks(lists, i); k++) {
            if (tcudb_lists_block(lists, i, k, &b, &err) != TCUDB_OK) return;
            bunches += b.bunches;
            exceptions += b.exceptions;
            values += b.n;
            bytes += b.bytes;
        }
    if (values == 0) return;
    shape->bunch = bunches == 0 ? 32 : (double)values / (double)bunches;
    shape->bits = 8.0 * (double)bytes / (double)values;
    shape->exceptions = (double)exceptions / (double)values;
}

static void bench_gpu(const tcudb_lists *lists, const tcudb_lists_info *info, tcudb_list_codec codec,
                      const Shape *shape)
{
    tcudb_gpu_lists *gpu = NULL;
    tcudb_error err;
    int ascending = (info->flags & TCUDB_LISTS_ASCENDING) != 0;
    if (tcudb_gpu_lists_open(lists, NULL, &gpu, &err) != TCUDB_OK) {
        printf("      GPU: skipped: %s\n", err.message);
        return;
    }
    for (int written = 1; written >= 0; written--) {
        double seconds = 0, predicted = tcudb_codec_predict(codec, 1, ascending, written, info->values, shape->bunch,
                                                            shape->bits, shape->exceptions);
        if (tcudb_gpu_lists_time(gpu, written, 9, &seconds, &err) != TCUDB_OK)
            printf("      GPU: %s\n", err.message);
        else
            printf("      GPU, %-8s %8.1f us, %8.2f Gint/s", written ? "written" : "consumed", seconds * 1e6,
                   (double)info->values / seconds * 1e-9);
        if (seconds > 0 && !(info->flags & TCUDB_LISTS_WIDE)) printf("; predicted %8.1f us", predicted * 1e6);
        if (seconds > 0) printf("\n");
    }
    tcudb_gpu_lists_close(gpu);
}

static int bench_codec(const void *file, size_t file_size, tcudb_list_source source, tcudb_list_codec codec,
                       const char *name)
{
    tcudb_error err;
    tcudb_lists *lists = NULL;
    tcudb_lists_info info;
    void *bytes = NULL;
    size_t size = 0;
    Shape shape = {1, 0, 0};
    double begun = now();
    double encoding = -1;
    for (int round = 0; round < 50 && (round < 3 || now() - begun < 0.5); round++) {
        double from = now();
        tcudb_lists_free(bytes);
        if (tcudb_lists_encode_file(file, file_size, source, codec, &bytes, &size, &err) != TCUDB_OK)
            return failed(&err);
        encoding = encoding < 0 || now() - from < encoding ? now() - from : encoding;
    }
    if (tcudb_lists_open(bytes, size, 1, &lists, &err) != TCUDB_OK) {
        tcudb_lists_free(bytes);
        return failed(&err);
    }
    tcudb_lists_describe(lists, &info);
    mean_shape(lists, &info, &shape);
    double cpu = time_cpu(lists, &info, &err), million = (double)info.values * 1e-6;
    printf("%-5s %.3f bits a value in blocks, %.3f in all; encode %.0f Mint/s\n", name, shape.bits,
           8.0 * (double)size / (double)(info.values == 0 ? 1 : info.values), million / encoding);
    if (cpu >= 0)
        printf("      CPU, one thread %8.1f us, %8.0f Mint/s; predicted %8.1f us\n", cpu * 1e6, million / cpu,
               1e6 * tcudb_codec_predict(codec, 0, (info.flags & TCUDB_LISTS_ASCENDING) != 0, 1, info.values,
                                         shape.bunch, shape.bits, shape.exceptions));
    bench_gpu(lists, &info, codec, &shape);
    tcudb_lists_close(lists);
    tcudb_lists_free(bytes);
    return cpu < 0 ? failed(&err) : 0;
}

static int bench(Job *job, tcudb_lists *lists)
{
    static const char *const names[] = {"best", "pfor", "vse"};
    tcudb_error err;
    void *file = job->bytes;
    size_t size = job->size;
    tcudb_list_source source = job->as != 0 ? (tcudb_list_source)job->as : guess(job);
    if (lists != NULL) { /* a set: bench what it was made from */
        tcudb_lists_info info;
        tcudb_lists_describe(lists, &info);
        source = info.source != TCUDB_FROM_API   ? info.source
                 : info.flags & TCUDB_LISTS_WIDE ? TCUDB_FROM_U64
                                                 : TCUDB_FROM_SEQUENCES;
        if (tcudb_lists_decode_file(lists, &file, &size, &err) != TCUDB_OK)
            return complain(job->file, err.message, DAMAGED);
    }
    int status = 0;
    for (int codec = TCUDB_CODEC_VSE; codec >= 0 && status == 0; codec--)
        status = bench_codec(file, size, source, (tcudb_list_codec)codec, names[codec]);
    if (lists != NULL) tcudb_lists_free(file);
    return status;
}

/* ---- the command line ---- */

static const char usage[] =
    "usage: tcudb codec encode FILE [-o OUT] [--as sequences|u32|u64|text] [--codec best|vse|pfor] [-f]\n"
    "       tcudb codec decode FILE [-o OUT] [-f]\n"
    "       tcudb codec inspect FILE [--list N] [--blocks N]\n"
    "       tcudb codec verify FILE\n"
    "       tcudb codec bench FILE [--as KIND]\n";

static bool number(const char *text, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && text[0] >= '0' && text[0] <= '9' && *end == '\0';
}

static bool choose(const char *text, const char *const *names, int n, int *out)
{
    for (int i = 0; i < n; i++)
        if (names[i] != NULL && strcmp(text, names[i]) == 0) {
            *out = i;
            return true;
        }
    return false;
}

/* False: not an option of ours, or its value is wrong. */
static bool take_option(Job *job, const char *name, const char *value)
{
    static const char *const kinds[] = {NULL, "sequences", "u32", "u64", "text"};
    static const char *const codecs[] = {"best", "pfor", "vse"};
    int chosen = 0;
    if (strcmp(name, "-o") == 0) {
        job->out = value;
        return true;
    }
    if (strcmp(name, "--as") == 0) return choose(value, kinds, 5, &job->as);
    if (strcmp(name, "--list") == 0) return job->one_list = number(value, &job->list);
    if (strcmp(name, "--blocks") == 0) return number(value, &job->blocks);
    if (strcmp(name, "--codec") != 0 || !choose(value, codecs, 3, &chosen)) return false;
    job->codec = (tcudb_list_codec)chosen;
    return true;
}

static bool parse(Job *job, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            if (job->file != NULL) return false;
            job->file = argv[i];
        } else if (strcmp(argv[i], "-f") == 0) {
            job->force = true;
        } else if (i + 1 >= argc || !take_option(job, argv[i], argv[i + 1])) {
            return false;
        } else {
            i++;
        }
    }
    return job->file != NULL;
}

static int run(Job *job, const char *verb)
{
    tcudb_error err;
    tcudb_lists *lists = NULL;
    int status = 0;
    bool wants_set = strcmp(verb, "bench") != 0;
    if (strcmp(verb, "encode") == 0) return encode(job);
    if (wants_set || is_set(job))
        if (tcudb_lists_open(job->bytes, job->size, strcmp(verb, "inspect") != 0, &lists, &err) != TCUDB_OK)
            return complain(job->file, err.message, DAMAGED);
    if (strcmp(verb, "decode") == 0) status = decode(job, lists);
    if (strcmp(verb, "verify") == 0) status = verify(job, lists);
    if (strcmp(verb, "inspect") == 0) status = inspect(job, lists);
    if (strcmp(verb, "bench") == 0) status = bench(job, lists);
    tcudb_lists_close(lists);
    return status;
}

int cmd_codec(int argc, char **argv)
{
    static const char *const verbs[] = {"encode", "decode", "inspect", "verify", "bench"};
    Job job = {.blocks = 20};
    int verb = 0;
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc >= 2 && !choose(argv[1], verbs, 5, &verb)) complain("there is no such action", argv[1], USAGE);
    if (argc < 3 || !choose(argv[1], verbs, 5, &verb) || !parse(&job, argc, argv)) {
        fputs(usage, stderr);
        return USAGE;
    }
    int status = read_file(&job);
    if (status == 0) status = run(&job, verbs[verb]);
    free(job.bytes);
    bool lost = fflush(stdout) != 0 || ferror(stdout);
    return status == 0 && lost ? complain("standard output", "could not be written", USAGE) : status;
}
