/*
 * scan.c: structural scan of separated text.
 *
 * A word is 64 bytes; comparing it with a character gives a 64-bit mask. Bytes inside quotes are found with a
 * prefix XOR over the mask of quotes (each toggles), escaped bytes with the carry trick on runs of backslashes
 * (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019). So
 *
 *     text    a,"b,""c",d\n
 *     quote   001001101000      inside  001111110000 (prefix XOR, opening quote included)
 *     delim   010010000100      & ~inside  010000000100   = field ends
 *
 * Lenient mode, where a quote counts at the start of a field only, first tries the XOR and checks that every
 * opening quote follows a field end (or closes a doubled quote) and every closing one precedes a field end or
 * a quote; a word where that fails is walked byte by byte. The state between words is exact in both cases.
 * One loop text (scan_isa.inc) is compiled for AVX-512, AVX2 and portable C and picked at run time. About 8 bytes
 * a cycle without quotes. Offsets are 32-bit: a text is at most 4 GB.
 */
#include "files/scan.h"

#include <assert.h>
#include <string.h>

enum { TOKENS_FIRST = 1 << 15, ROWS_FIRST = 4096, TOKENS_GUARD = 128, TOKENS_MANY = 1 << 22, SCAN_STEP = 1 << 20 };

typedef struct WordMarks {
    uint64_t lines;   /* physical line ends, quoted ones included */
    uint64_t dirty;   /* quotes, escapes, backslashes */
    uint64_t bad_eol; /* line end characters that the dialect forbids */
} WordMarks;

/* ---- masks -------------------------------------------------------------------------------- */

static inline uint64_t prefix_xor(uint64_t m)
{
    m ^= m << 1;
    m ^= m << 2;
    m ^= m << 4;
    m ^= m << 8;
    m ^= m << 16;
    return m ^ m << 32;
}

/* All ones if the mask's last live bit is set, else 0. */
static inline uint64_t last_live(uint64_t mask, uint64_t live)
{
    return (mask >> (63 - __builtin_clzll(live)) & 1) != 0 ? ~UINT64_C(0) : 0;
}

static inline uint64_t lowest_bits(uint64_t mask, uint32_t n)
{
    uint64_t rest = mask;
    while (n-- > 0) rest &= rest - 1;
    return mask ^ rest;
}

/* The bytes that a backslash before them escapes; runs of backslashes pair up from the left. */
static inline uint64_t find_escaped(uint64_t backslash, ScanState *st, uint64_t live)
{
    const uint64_t even = UINT64_C(0x5555555555555555);
    backslash &= ~st->escaped;
    uint64_t follows = backslash << 1 | st->escaped;
    uint64_t odd_starts = backslash & ~even & ~follows;
    uint64_t even_runs;
    bool carry = __builtin_add_overflow(odd_starts, backslash, &even_runs);
    uint64_t escaped = (even ^ even_runs << 1) & follows;
    if (live == ~UINT64_C(0))
        st->escaped = carry;
    else /* a partial word is the last of its text; the carry is the bit after the last live byte */
        st->escaped = (escaped >> (64 - __builtin_clzll(live))) & 1;
    return escaped & live;
}

/* ---- byte by byte ------------------------------------------------------------------------- */

/* csv with an escape character of its own: it acts inside quotes. Returns the mask of bytes outside. */
static __attribute__((noinline)) uint64_t csv_slow_word(const Dialect *d, ScanState *st, const char *p, uint64_t live)
{
    uint64_t plain = 0;
    for (uint32_t i = 0; i < 64 && (live >> i & 1) != 0; i++) {
        bool was_escaped = st->escaped != 0;
        st->escaped = 0;
        if (st->inside != 0 && p[i] == d->escape && !was_escaped)
            st->escaped = 1;
        else if (p[i] == d->quote && !was_escaped)
            st->inside = ~st->inside;
        else if (st->inside == 0)
            plain |= UINT64_C(1) << i;
    }
    return plain;
}

static __attribute__((noinline)) uint64_t lenient_slow_word(const Dialect *d, ScanState *st, const char *p,
                                                            uint64_t live)
{
    uint64_t plain = 0;
    const char newline = dialect_newline(d);
    for (uint32_t i = 0; i < 64 && (live >> i & 1) != 0; i++) {
        char c = p[i];
        if (st->inside != 0) {
            if (st->escaped != 0)
                st->escaped = 0;
            else if (c == d->escape && d->escape != d->quote)
                st->escaped = 1;
            else if (c == d->quote) {
                st->inside = 0;
                st->after_quote = true;
            }
            continue;
        }
        bool after_quote = st->after_quote;
        st->after_quote = false;
        if (c == d->quote && after_quote && d->escape == d->quote) {
            st->inside = ~UINT64_C(0);
        } else if (c == d->quote && !st->mid_field) {
            st->inside = ~UINT64_C(0);
            st->mid_field = true;
        } else {
            plain |= UINT64_C(1) << i;
            st->mid_field = c != d->delim && c != newline;
        }
    }
    return plain;
}

/* No escape character of its own in this word. ends: field and record ends, quoted or not. */
static inline uint64_t lenient_word(const Dialect *d, ScanState *st, const char *p, uint64_t live, uint64_t quote,
                                    uint64_t ends)
{
    uint64_t inside = prefix_xor(quote) ^ st->inside;
    uint64_t opening = quote & inside;
    uint64_t closing = quote & ~inside;
    uint64_t outside_ends = ends & ~inside;
    uint64_t doubled = d->escape == d->quote ? closing << 1 | (uint64_t)st->after_quote : 0;
    uint64_t may_open = outside_ends << 1 | (uint64_t)!st->mid_field | doubled;
    bool eol_cr = d->eol == EOL_CR; /* then CR is among the ends; else it is the first half of a line end */
    uint64_t may_follow = outside_ends | opening;
    uint64_t after = (closing << 1 | (uint64_t)st->after_quote) & live;
    if ((opening & ~may_open) != 0) return lenient_slow_word(d, st, p, live);
    for (uint64_t odd = after & ~may_follow; odd != 0; odd &= odd - 1)
        if (eol_cr || p[__builtin_ctzll(odd)] != '\r') return lenient_slow_word(d, st, p, live);
    if (d->escape != d->quote && (opening & after) != 0) return lenient_slow_word(d, st, p, live);
    st->inside = last_live(inside, live);
    st->after_quote = last_live(closing, live) != 0;
    st->mid_field = last_live(outside_ends, live) == 0;
    return ~inside;
}

/* ---- tokens ------------------------------------------------------------------------------- */

static __attribute__((noinline)) void mark_dirty(Tokens *t, uint32_t nfields, uint64_t ends, uint64_t dirty)
{
    t->any_dirty = true;
    for (; dirty != 0; dirty &= dirty - 1) {
        uint64_t below = (dirty & -dirty) - 1;
        bit_set(t->dirty, nfields + popcount64(ends & below));
    }
}

static inline void put_bits(uint64_t ends, uint32_t at, uint32_t *out)
{
    for (; ends != 0; ends &= ends - 1) *out++ = at + (uint32_t)__builtin_ctzll(ends);
}

/* ---- portable ----------------------------------------------------------------------------- */

typedef struct PortableWord {
    uint64_t w[8];
} PortableWord;

static inline PortableWord load_portable(const char *p)
{
    PortableWord w;
    memcpy(&w, p, sizeof w);
    return w;
}

static inline uint64_t eq_portable(PortableWord w, char c)
{
    const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t pattern = UINT64_C(0x0101010101010101) * (uint8_t)c;
    uint64_t mask = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t x = w.w[i] ^ pattern;
        uint64_t zero = ~(((x & low7) + low7) | x | low7); /* bit 7 of each byte that is zero */
        mask |= ((zero >> 7) * UINT64_C(0x0102040810204080) >> 56) << (8 * i);
    }
    return mask;
}

static inline void put_portable(uint64_t ends, uint32_t at, uint32_t *out)
{
    put_bits(ends, at, out);
}

#define ISA_TARGET
#define ISA(name) name##_portable
#define Word      PortableWord
#include "files/scan_isa.inc"
#undef ISA
#undef ISA_TARGET
#undef Word

/* ---- x86-64 ------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#include <immintrin.h>

#define ISA_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt")))
typedef struct Avx2Word {
    __m256i low, high;
} Avx2Word;

static inline ISA_TARGET Avx2Word load_avx2(const char *p)
{
    return (Avx2Word){_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)(p + 32))};
}

static inline ISA_TARGET uint64_t eq_avx2(Avx2Word w, char c)
{
    const __m256i pattern = _mm256_set1_epi8(c);
    uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(w.low, pattern));
    uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(w.high, pattern));
    return (uint64_t)high << 32 | low;
}

/* Writes eight at a time, whether or not they are needed: cheaper than a branch a bit. */
static inline ISA_TARGET void put_avx2(uint64_t ends, uint32_t at, uint32_t *out)
{
    uint32_t n = popcount64(ends);
    for (uint32_t done = 0; done < n; done += 8, out += 8)
        for (int i = 0; i < 8; i++) {
            out[i] = at + (uint32_t)_tzcnt_u64(ends);
            ends = _blsr_u64(ends);
        }
}

#define ISA(name) name##_avx2
#define Word      Avx2Word
#include "files/scan_isa.inc"
#undef ISA
#undef ISA_TARGET
#undef Word

#define ISA_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512vl,avx512vbmi2")))
static inline ISA_TARGET __m512i load_avx512(const char *p)
{
    return _mm512_loadu_si512(p);
}

static inline ISA_TARGET uint64_t eq_avx512(__m512i w, char c)
{
    return _mm512_cmpeq_epi8_mask(w, _mm512_set1_epi8(c));
}

static inline ISA_TARGET void put_avx512(uint64_t ends, uint32_t at, uint32_t *out)
{
    const __m512i iota =
        _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40,
                        39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                        15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i packed = _mm512_maskz_compress_epi8(ends, iota);
    const __m512i base = _mm512_set1_epi32((int)at);
    uint32_t n = popcount64(ends);
    _mm512_storeu_si512(out, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed))));
    if (n <= 16) return;
    _mm512_storeu_si512(out + 16, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 1))));
    if (n <= 32) return;
    _mm512_storeu_si512(out + 32, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 2))));
    _mm512_storeu_si512(out + 48, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 3))));
}

#define ISA(name) name##_avx512
#define Word      __m512i
#include "files/scan_isa.inc"
#undef ISA
#undef ISA_TARGET
#undef Word
#endif

/* ---- choice ------------------------------------------------------------------------------- */

typedef struct Scanner {
    void (*cut)(const Dialect *, ScanState *, const char *, size_t, size_t, uint64_t, ScanCut *);
    size_t (*tokens)(const Dialect *, ScanState *, const char *, size_t, size_t, uint32_t, Tokens *);
} Scanner;

static const Scanner scanners[] = {
    {cut_portable, tokens_portable},
#if defined(__x86_64__)
    {cut_avx2, tokens_avx2},
    {cut_avx512, tokens_avx512},
#endif
};

bool scan_isa_available(ScanIsa isa)
{
#if defined(__x86_64__)
    if (isa == SCAN_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    if (isa == SCAN_AVX512) return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2");
#endif
    return isa == SCAN_PORTABLE;
}

/* Chosen anew for each call: two cached flag tests, next to thousands of bytes of scanning. */
static const Scanner *scanner(const Dialect *d)
{
    ScanIsa isa = d->isa;
    for (ScanIsa best = SCAN_AVX512; isa == SCAN_BEST; best--)
        if (scan_isa_available(best)) isa = best;
    return &scanners[isa - SCAN_PORTABLE];
}

void scan_cut(const Dialect *d, ScanState *state, const char *text, size_t at, size_t end, uint64_t max_rows,
              ScanCut *cut)
{
    assert(cut->rows < max_rows);
    scanner(d)->cut(d, state, text, at, end, max_rows, cut);
}

void tokens_init(Tokens *t, const atomic_bool *cancel, Mem *mem)
{
    *t = (Tokens){.cancel = cancel, .mem = mem, .bad_eol = -1};
}

void tokens_free(Tokens *t)
{
    if (t->ends != NULL) mem_free(t->mem, t->ends - 1, (t->cap + 1) * sizeof *t->ends);
    mem_free(t->mem, t->dirty, bit_words(t->dirty_cap) * sizeof *t->dirty);
    mem_free(t->mem, t->rows, t->rows_cap * sizeof *t->rows);
    tokens_init(t, t->cancel, t->mem);
}

static tcudb_status grow_fields(Tokens *t, Error *err)
{
    uint32_t cap = t->cap == 0 ? TOKENS_FIRST : t->cap * 2;
    if (cap < t->cap || cap > INT32_MAX)
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "a record has too many fields");
    size_t old = bit_words(t->dirty_cap) * sizeof *t->dirty, size = bit_words(cap) * sizeof *t->dirty;
    uint64_t *dirty = mem_realloc(t->mem, t->dirty, old, size, err);
    TRY_PTR(dirty);
    memset((char *)dirty + old, 0, size - old);
    t->dirty = dirty;
    t->dirty_cap = cap;
    uint32_t *base = t->ends == NULL ? NULL : t->ends - 1;
    size_t old_ends = base == NULL ? 0 : (t->cap + 1) * sizeof *base;
    base = mem_realloc(t->mem, base, old_ends, (cap + (size_t)1) * sizeof *base, err);
    TRY_PTR(base);
    if (t->ends == NULL) base[0] = UINT32_MAX; /* the record before the first ended just before offset 0 */
    t->ends = base + 1;
    t->cap = cap;
    return TCUDB_OK;
}

/* Room for at least one more word of tokens. */
static tcudb_status tokens_reserve(Tokens *t, Error *err)
{
    if (t->nfields + TOKENS_GUARD > t->cap) TRY(grow_fields(t, err));
    if (t->nrows + TOKENS_GUARD > t->rows_cap) {
        uint32_t cap = t->rows_cap == 0 ? ROWS_FIRST : t->rows_cap * 2;
        uint32_t *rows = mem_realloc(t->mem, t->rows, t->rows_cap * sizeof *rows, cap * sizeof *rows, err);
        TRY_PTR(rows);
        t->rows = rows;
        t->rows_cap = cap;
    }
    return TCUDB_OK;
}

void tokens_next(Tokens *t)
{
    if (t->nrows == 0) return;
    uint32_t first = t->rows[t->nrows - 1] + 1;
    uint32_t left = t->nfields - first;
    t->ends[-1] = t->ends[first - 1];
    memmove(t->ends, t->ends + first, left * sizeof *t->ends);
    bool dirty = false;
    if (t->any_dirty) {
        for (uint32_t f = 0; f <= left; f++) { /* <=: the field that has no end yet may be dirty already */
            bool set = bit_get(t->dirty, first + f);
            dirty |= set;
            if (set)
                bit_set(t->dirty, f);
            else
                bit_clear(t->dirty, f);
        }
        for (uint32_t f = left + 1; f <= t->nfields; f++) bit_clear(t->dirty, f);
    }
    t->any_dirty = dirty;
    t->nfields = left;
    t->nrows = 0;
}

tcudb_status tokens_end(Tokens *t, size_t end, Error *err)
{
    TRY(tokens_reserve(t, err));
    uint32_t record = t->nrows == 0 ? t->ends[-1] : t->ends[t->rows[t->nrows - 1]];
    if (record + 1 == (uint32_t)end) return TCUDB_OK;
    t->ends[t->nfields] = (uint32_t)end;
    t->rows[t->nrows++] = t->nfields++;
    return TCUDB_OK;
}

/* Drops what the record that goes on has beyond SCAN_FIELDS fields, so that a line of delimiters takes no gigabytes. */
static void drop_fields(Tokens *t)
{
    uint32_t first = t->nrows == 0 ? 0 : t->rows[t->nrows - 1] + 1;
    uint32_t kept = first + SCAN_FIELDS;
    if (t->nfields <= kept) return;
    bool open_dirty = bit_get(t->dirty, t->nfields);
    t->ends[kept - 1] = t->ends[t->nfields - 1];
    for (uint32_t f = kept; f <= t->nfields && t->any_dirty; f++) bit_clear(t->dirty, f);
    if (open_dirty) bit_set(t->dirty, kept);
    t->nfields = kept;
}

tcudb_status scan_tokens(const Dialect *d, ScanState *state, const char *text, size_t at, size_t end, uint32_t max_rows,
                         Tokens *tokens, size_t *reached, Error *err)
{
    assert(end < UINT32_MAX);
    const Scanner *s = scanner(d);
    while (at < end && tokens->nrows < max_rows && (tokens->nrows == 0 || tokens->nfields < TOKENS_MANY)) {
        TRY(cancel_poll(tokens->cancel, err));
        TRY(tokens_reserve(tokens, err));
        size_t upto = end - at > SCAN_STEP ? at + SCAN_STEP : end;
        at = s->tokens(d, state, text, at, upto, max_rows, tokens);
        drop_fields(tokens);
    }
    *reached = at;
    return TCUDB_OK;
}
