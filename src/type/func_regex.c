/*
 * func_regex.c: regular expressions: ~, SIMILAR TO, regexp_*, substring(text from pattern).
 *
 * PostgreSQL's advanced regular expressions run on PCRE2 (UTF, Unicode classes): the escapes that differ
 * (\m \M \y \Y \Z) are rewritten, . matches newlines, $ only the very end. A constant pattern is compiled
 * once a batch. Matching is bounded by PCRE2's match and heap limits; exceeding them is an error, so that
 * a hostile pattern cannot hang a query; but whether there is a match is then found without backtracking. Matches in
 * long texts are looked for a stretch of places at a time (PCRE2's offset limit), between which the statement can be
 * stopped; such a text is checked to be UTF-8 once, not by every match.
 *
 * Limit: where alternatives differ in length, PostgreSQL takes the longest match and PCRE2 the first that
 * succeeds; this shows in captured text only, not in whether a text matches.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "type/type_int.h"

#include <assert.h>
#include <pcre2.h>

/* A flag of our own beside PCRE2's options: . does not match a newline. */
#define NEWLINE_SENSITIVE UINT32_C(0x80000000)

enum {
    MATCH_LIMIT = 10000000,
    HEAP_LIMIT_KB = 65536,
    MAX_CAPTURES = 64,
    JIT_ROWS = 64,
    JIT_BYTES = 65536,
    STRETCH = 1 << 20, /* bytes of places where a match may begin; a 64th of a text that is longer than 64 */
    STRETCHES = 64
};

typedef struct Regex {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
    Str checked; /* the text that was found to be UTF-8 */
    bool compiled;
    bool backtracks; /* too much: a text showed it */
    bool test;       /* only whether there is a match is asked for */
    int *workspace;  /* of match_all_at_once, in the arena */
} Regex;

static void regex_free(Regex *re)
{
    pcre2_match_data_free(re->match);
    pcre2_match_context_free(re->limits);
    pcre2_code_free(re->code);
    *re = (Regex){0};
}

/* PostgreSQL's words for what is wrong with a pattern. */
static const char *compile_message(int code)
{
    switch (code) {
    case PCRE2_ERROR_MISSING_CLOSING_PARENTHESIS:
    case PCRE2_ERROR_UNMATCHED_CLOSING_PARENTHESIS: return "parentheses () not balanced";
    case PCRE2_ERROR_MISSING_SQUARE_BRACKET: return "brackets [] not balanced";
    case PCRE2_ERROR_QUANTIFIER_INVALID: return "quantifier operand invalid";
    case PCRE2_ERROR_QUANTIFIER_TOO_BIG:
    case PCRE2_ERROR_QUANTIFIER_OUT_OF_ORDER: return "invalid repetition count(s)";
    case PCRE2_ERROR_CLASS_RANGE_ORDER:
    case PCRE2_ERROR_CLASS_INVALID_RANGE: return "invalid character range";
    case PCRE2_ERROR_UNKNOWN_POSIX_CLASS: return "invalid character class";
    case PCRE2_ERROR_END_BACKSLASH:
    case PCRE2_ERROR_UNKNOWN_ESCAPE: return "invalid escape \\ sequence";

    case PCRE2_ERROR_BAD_SUBPATTERN_REFERENCE: return "invalid backreference number";
    default: return NULL;
    }
}

static tcudb_status bad_regex(int code, Error *err)
{
    const char *message = compile_message(code);
    PCRE2_UCHAR text[128];
    if (message == NULL) {
        pcre2_get_error_message(code, text, sizeof text);
        message = (const char *)text;
    }
    return error_set(err, SQLSTATE_INVALID_REGULAR_EXPRESSION, "invalid regular expression: %s", message);
}

static tcudb_status put(char **at, const char *text)
{
    size_t n = strlen(text);
    memcpy(*at, text, n);
    *at += n;
    return TCUDB_OK;
}

/* The pattern in PCRE2's terms; at most 11 bytes for each 2 of the source. */
static tcudb_status translate(Arena *arena, Str p, uint32_t *options, Str *out, Error *err)
{
    char *to = arena_alloc_raw(arena, (size_t)p.len * 6 + 16, err), *at = to;
    TRY_PTR(to);
    if (p.len >= 4 && memcmp(p.ptr, "***=", 4) == 0) {
        *options |= PCRE2_LITERAL;
        *options &= ~(uint32_t)(PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_UCP);
        *out = (Str){p.ptr + 4, p.len - 4};
        return TCUDB_OK;
    }
    if (p.len >= 4 && memcmp(p.ptr, "***:", 4) == 0) p = (Str){p.ptr + 4, p.len - 4};
    bool set = false;
    for (uint32_t i = 0; i < p.len; i++) {
        char c = p.ptr[i];
        if (c == '\\' && i + 1 < p.len) {
            char next = p.ptr[++i];
            const char *instead = set           ? NULL
                                  : next == 'm' ? "\\b(?=\\w)"
                                  : next == 'M' ? "\\b(?<=\\w)"
                                  : next == 'y' ? "\\b"
                                  : next == 'Y' ? "\\B"
                                  : next == 'Z' ? "\\z"
                                                : NULL;
            if (instead != NULL) {
                put(&at, instead);
            } else {
                *at++ = '\\';
                *at++ = next;
            }
            continue;
        }
        if (!set && p.len - i >= 7 && memcmp(p.ptr + i, "[[:<:]]", 7) == 0) {
            put(&at, "\\b(?=\\w)");
            i += 6;
            continue;
        }
        if (!set && p.len - i >= 7 && memcmp(p.ptr + i, "[[:>:]]", 7) == 0) {
            put(&at, "\\b(?<=\\w)");
            i += 6;
            continue;
        }
        *at++ = c;
        if (c == '[' && !set) {
            set = true;
            if (i + 1 < p.len && p.ptr[i + 1] == '^') *at++ = p.ptr[++i];
            if (i + 1 < p.len && p.ptr[i + 1] == ']') {
                *at++ = '\\';
                *at++ = p.ptr[++i];
            }
        } else if (c == '[' && i + 1 < p.len && (p.ptr[i + 1] == ':' || p.ptr[i + 1] == '.' || p.ptr[i + 1] == '=')) {
            char kind = p.ptr[i + 1]; /* [:alpha:] inside a set */
            *at++ = p.ptr[++i];
            while (i + 2 < p.len && !(p.ptr[i + 1] == kind && p.ptr[i + 2] == ']')) *at++ = p.ptr[++i];
            if (i + 2 < p.len) {
                *at++ = p.ptr[++i];
                *at++ = p.ptr[++i];
            }
        } else if (c == ']') {
            set = false;
        }
    }
    *out = (Str){to, (uint32_t)(at - to)};
    return TCUDB_OK;
}

/* To machine code, where that pays; the interpreter does as well. */
static void regex_jit(Regex *re)
{
    if (!re->compiled) (void)pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE);
    re->compiled = true;
}

static tcudb_status regex_compile(Arena *arena, Str pattern, uint32_t extra, bool jit, Regex *out, Error *err)
{
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_USE_OFFSET_LIMIT | extra;
    if (extra & NEWLINE_SENSITIVE) options &= ~(NEWLINE_SENSITIVE | PCRE2_DOTALL);
    int code = 0;
    PCRE2_SIZE offset = 0;
    Str source;
    *out = (Regex){0};
    TRY(translate(arena, pattern, &options, &source, err));
    out->code = pcre2_compile((PCRE2_SPTR)source.ptr, source.len, options, &code, &offset, NULL);
    if (out->code == NULL) {
        if (code == PCRE2_ERROR_HEAP_FAILED) return error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
        return bad_regex(code, err);
    }
    out->match = pcre2_match_data_create_from_pattern(out->code, NULL);
    out->limits = pcre2_match_context_create(NULL);
    if (out->match == NULL || out->limits == NULL) {
        regex_free(out);
        return error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
    }
    pcre2_set_match_limit(out->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(out->limits, HEAP_LIMIT_KB);
    if (jit) regex_jit(out);
    return TCUDB_OK;
}

static tcudb_status not_utf8(Error *err)
{
    return error_set(err, SQLSTATE_CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"");
}

static tcudb_status too_complex(Error *err)
{
    return error_set(err, SQLSTATE_STATEMENT_TOO_COMPLEX, "regular expression is too complex");
}

static uint32_t char_start(Str s, uint32_t at)
{
    assert(s.ptr != NULL || at >= s.len);
    while (at < s.len && ((unsigned char)s.ptr[at] & 0xc0) == 0x80) at++;
    return at;
}

/* match_stretch for a pattern that backtracks too much, by following all alternatives at once: no captures, no
 * references back, a look at the text's rest for each place. */
static tcudb_status match_all_at_once(const EvalCtx *ctx, Regex *re, Str s, uint32_t from, uint32_t last, bool *hit,
                                      Error *err)
{
    enum { WORKSPACE = 16384, LONGEST = 1 << 20, STEPS = 1 << 20 };
    if (!re->test || s.len > LONGEST) return too_complex(err);
    re->backtracks = true;
    if (re->workspace == NULL) re->workspace = arena_alloc_raw(ctx->arena, WORKSPACE * sizeof(int), err);
    TRY_PTR(re->workspace);
    for (;;) {
        uint32_t stop = last - from > STEPS / (s.len + 1) ? from + STEPS / (s.len + 1) : last;
        TRY(cancel_poll(ctx->cancel, err));
        pcre2_set_offset_limit(re->limits, stop);
        int rc = pcre2_dfa_match(re->code, (PCRE2_SPTR)s.ptr, s.len, from, PCRE2_NO_UTF_CHECK | PCRE2_DFA_SHORTEST,
                                 re->match, re->limits, re->workspace, WORKSPACE);
        *hit = rc >= 0;
        if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) return too_complex(err);
        if (*hit || stop == last) return TCUDB_OK;
        from = char_start(s, stop + 1);
    }
}

/* *hit: whether a match begins at `from` or after it, but not behind `last`. */
static tcudb_status match_stretch(const EvalCtx *ctx, Regex *re, Str s, uint32_t from, uint32_t last, bool *hit,
                                  Error *err)
{
    PCRE2_SPTR text = (PCRE2_SPTR)(s.len == 0 ? "" : s.ptr);
    if (re->backtracks) return match_all_at_once(ctx, re, s, from, last, hit, err);
    pcre2_set_offset_limit(re->limits, last);
    int rc = pcre2_match(re->code, text, s.len, from, PCRE2_NO_UTF_CHECK, re->match, re->limits);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter takes what it needs from the heap */
        rc = pcre2_match(re->code, text, s.len, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, re->match, re->limits);
    *hit = rc > 0;
    if (rc > 0 || rc == PCRE2_ERROR_NOMATCH) return TCUDB_OK;
    if (rc == PCRE2_ERROR_NOMEMORY) return error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
    if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT || rc == PCRE2_ERROR_HEAPLIMIT)
        return match_all_at_once(ctx, re, s, from, last, hit, err);
    return not_utf8(err);
}

/* *hit: whether there is a match at or after `from`, which is the start of a character or the text's end. */
static tcudb_status regex_match(const EvalCtx *ctx, Regex *re, Str s, uint32_t from, bool *hit, Error *err)
{
    uint32_t stretch = s.len / STRETCHES > STRETCH ? s.len / STRETCHES : STRETCH;
    assert(from <= s.len);
    if (re->checked.ptr != s.ptr || re->checked.len != s.len) {
        size_t valid;
        if (s.len >= JIT_BYTES) regex_jit(re);
        TRY(utf8_valid(s.ptr, s.len, ctx->cancel, &valid, err));
        if (valid < s.len) return not_utf8(err);
        re->checked = s;
    }
    for (;; from = from + stretch + 1) {
        from = char_start(s, from);
        TRY(cancel_poll(ctx->cancel, err));
        bool end = s.len - from <= stretch;
        TRY(match_stretch(ctx, re, s, from, end ? s.len : from + stretch, hit, err));
        if (*hit || end) return TCUDB_OK;
    }
}

static Str capture(const Regex *re, Str s, uint32_t k, bool *set)
{
    PCRE2_SIZE *v = pcre2_get_ovector_pointer(re->match);
    *set = k < pcre2_get_ovector_count(re->match) && v[2 * k] != PCRE2_UNSET;
    return *set ? (Str){s.ptr + v[2 * k], (uint32_t)(v[2 * k + 1] - v[2 * k])} : (Str){"", 0};
}

static uint32_t capture_groups(const Regex *re)
{
    uint32_t n = 0;
    pcre2_pattern_info(re->code, PCRE2_INFO_CAPTURECOUNT, &n);
    return n;
}

/* One compiled pattern that is kept while the pattern does not change. */
typedef struct Cache {
    Regex re;
    Str pattern;
    uint32_t options;
    bool test;
    bool ready;
} Cache;

static tcudb_status cached(EvalCtx *ctx, Cache *cache, Str pattern, uint32_t options, uint32_t rows, Error *err)
{
    if (cache->ready && cache->options == options && str_equal(cache->pattern, pattern)) return TCUDB_OK;
    if (cache->ready) regex_free(&cache->re);
    cache->ready = false;
    TRY(regex_compile(ctx->arena, pattern, options, rows >= JIT_ROWS, &cache->re, err));
    cache->re.test = cache->test;
    *cache = (Cache){cache->re, pattern, options, cache->test, true};
    return TCUDB_OK;
}

static void cache_free(Cache *cache)
{
    if (cache->ready) regex_free(&cache->re);
}

/* ---- predicates ---------------------------------------------------------------------------------- */

static tcudb_status match_rows(EvalCtx *ctx, const Vector *args, const uint16_t *sel, uint32_t n, uint32_t options,
                               bool want, Vector *out, Error *err)
{
    const Str *texts = args[0].data, *patterns = args[1].data;
    const uint32_t width = args[0].type.id == TYPE_BPCHAR ? args[0].type.length : 0;
    uint8_t *to = out->data;
    tcudb_status status = TCUDB_OK;
    Cache cache = {.test = true};
    EACH_ROW(i, row)
    {
        bool hit;
        Str text = texts[row * STRIDE(args[0])];
        if (width > 0) TRY_GOTO(text_padded(ctx, text, width, &text, err)); /* char(n) takes part with its blanks */
        TRY_GOTO(cached(ctx, &cache, patterns[row * STRIDE(args[1])], options, n, err));
        TRY_GOTO(regex_match(ctx, &cache.re, text, 0, &hit, err));
        to[row] = hit == want;
    }
done:
    cache_free(&cache);
    return status;
}

KERNEL(text_regex)
{
    return match_rows(ctx, args, sel, n, 0, true, out, err);
}

KERNEL(text_not_regex)
{
    return match_rows(ctx, args, sel, n, 0, false, out, err);
}

KERNEL(text_iregex)
{
    return match_rows(ctx, args, sel, n, PCRE2_CASELESS, true, out, err);
}

KERNEL(text_not_iregex)
{
    return match_rows(ctx, args, sel, n, PCRE2_CASELESS, false, out, err);
}

/* ---- SIMILAR TO ----------------------------------------------------------------------------------- */

/* The SQL pattern as a regular expression: % and _ become .* and ., | + * ? {} () [] keep their meaning, other
 * special characters lose it. escape " parts the pattern in three for substring(... similar ... escape); the
 * first part then matches as little as it can, which PCRE2 must be told by (?U (lazy). */
static tcudb_status similar(EvalCtx *ctx, Str p, Str escape, bool lazy, Str *out, Error *err)
{
    char *to = arena_alloc_raw(ctx->arena, (size_t)p.len * 8 + 64, err), *at = to;
    TRY_PTR(to);
    if (utf8_length(escape) > 1) {
        tcudb_status status = error_set(err, SQLSTATE_INVALID_ESCAPE_SEQUENCE, "invalid escape string");
        error_hint(err, "Escape string must be empty or one character.");
        return status;
    }
    bool escaped = false, set = false;
    int quotes = 0;
    put(&at, lazy ? "^(?U:" : "^(?:");
    for (uint32_t i = 0; i < p.len; i++) {
        char c = p.ptr[i];
        bool is_escape = escape.len > 0 && p.len - i >= escape.len && memcmp(p.ptr + i, escape.ptr, escape.len) == 0;
        if (escaped) {
            if (c == '"' && !set) {
                if (quotes == 2)
                    return error_set(
                        err, SQLSTATE_INVALID_USE_OF_ESCAPE_CHARACTER,
                        "SQL regular expression may not contain more than two escape-double-quote separators");
                put(&at, quotes++ == 0 ? (lazy ? ")(" : "){1,1}?(") : lazy ? ")(?:" : "){1,1}(?:");
            } else {
                *at++ = '\\';
                *at++ = c;
            }
            escaped = false;
        } else if (is_escape) {
            escaped = true;
            i += escape.len - 1;
        } else if (set) {
            if (c == '\\') *at++ = '\\';
            *at++ = c;
            if (c == ']') set = false;
        } else if (c == '[') {
            *at++ = c;
            set = true;
            if (i + 1 < p.len && p.ptr[i + 1] == '^') *at++ = p.ptr[++i];
            if (i + 1 < p.len && p.ptr[i + 1] == ']') *at++ = p.ptr[++i];
        } else if (c == '%') {
            put(&at, ".*");
        } else if (c == '_') {
            *at++ = '.';
        } else if (c == '(') {
            put(&at, "(?:");
        } else if (c == '\\' || c == '.' || c == '^' || c == '$') {
            *at++ = '\\';
            *at++ = c;
        } else {
            *at++ = c;
        }
    }
    put(&at, ")$");
    *out = (Str){to, (uint32_t)(at - to)};
    return TCUDB_OK;
}

KERNEL(text_similar_escape)
{
    BINARY_ROWS(Str, Str, Str, TRY(similar(ctx, x, y, false, &r, err)));
    return TCUDB_OK;
}

KERNEL(text_similar)
{
    UNARY_ROWS(Str, Str, TRY(similar(ctx, x, STR_LIT("\\"), false, &r, err)));
    return TCUDB_OK;
}

/* ---- functions ------------------------------------------------------------------------------------ */

#define STR_AT(k)  (((const Str *)args[k].data)[row * STRIDE(args[k])])
#define INT4_AT(k) (((const int32_t *)args[k].data)[row * STRIDE(args[k])])

/* substring(s from pattern): the first parenthesised part, or the whole match. */
static tcudb_status substring_rows(EvalCtx *ctx, const Vector *args, const uint16_t *sel, uint32_t n, bool sql,
                                   Vector *out, Error *err)
{
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    Cache cache = {0};
    EACH_ROW(i, row)
    {
        bool hit, set = false;
        Str pattern = STR_AT(1);
        if (sql)
            TRY_GOTO(
                similar(ctx, pattern, STR_AT(2), memmem(pattern.ptr, pattern.len, "\"", 1) != NULL, &pattern, err));
        TRY_GOTO(cached(ctx, &cache, pattern, 0, n, err));
        TRY_GOTO(regex_match(ctx, &cache.re, STR_AT(0), 0, &hit, err));
        if (hit) to[row] = capture(&cache.re, STR_AT(0), capture_groups(&cache.re) > 0 ? 1 : 0, &set);
        if (!set) TRY_GOTO(set_null(ctx, out, sel, n, row, err));
    }
done:
    cache_free(&cache);
    return status;
}

KERNEL(text_substring_regex)
{
    return substring_rows(ctx, args, sel, n, false, out, err);
}

KERNEL(text_substring_similar)
{
    return substring_rows(ctx, args, sel, n, true, out, err);
}

typedef struct RegexFlags {
    uint32_t options;
    bool global;
} RegexFlags;

/* function: whose call it is, if "g" is not for it; else NULL. */
static tcudb_status read_flags(Str flags, const char *function, RegexFlags *out, Error *err)
{
    *out = (RegexFlags){0};
    for (uint32_t i = 0; i < flags.len; i++) {
        switch (flags.ptr[i]) {
        case 'g':
            if (function != NULL)
                return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "%s() does not support the \"global\" option",
                                 function);
            out->global = true;
            break;
        case 'i': out->options |= PCRE2_CASELESS; break;
        case 'c': out->options &= ~(uint32_t)PCRE2_CASELESS; break;
        case 'x': out->options |= PCRE2_EXTENDED; break;
        case 'n':
        case 'm': out->options |= PCRE2_MULTILINE | NEWLINE_SENSITIVE; break;
        case 'p': out->options |= NEWLINE_SENSITIVE; break;
        case 'w': out->options |= PCRE2_MULTILINE; break;
        case 'q': out->options |= PCRE2_LITERAL; break;
        case 'b': return error_unsupported(err, 0, "a basic regular expression (option \"b\")");
        case 's':
        case 'e':
        case 't': break;
        default:
            return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "invalid regular expression option: \"%.*s\"",
                             (int)utf8_prefix((Str){flags.ptr + i, flags.len - i}, 1), flags.ptr + i);
        }
    }
    return TCUDB_OK;
}

/* The replacement text with \1..\9 and \& filled in. */
static tcudb_status put_replacement(const Regex *re, Str s, Str with, Buf *buf, Error *err)
{
    for (uint32_t i = 0; i < with.len; i++) {
        char c = with.ptr[i];
        if (c != '\\' || i + 1 == with.len) {
            TRY(buf_char(buf, c, err));
            continue;
        }
        char next = with.ptr[++i];
        bool set, reference = (next >= '1' && next <= '9') || next == '&';
        if (reference) {
            TRY(buf_str(buf, capture(re, s, next == '&' ? 0 : (uint32_t)(next - '0'), &set), err));
        } else {
            if (next != '\\') TRY(buf_char(buf, '\\', err));
            TRY(buf_char(buf, next, err));
        }
    }
    return TCUDB_OK;
}

static uint32_t next_char(Str s, uint32_t at)
{
    return char_start(s, at + 1);
}

/* Replaces the nth match (0: all) found from byte `from` on. */
static tcudb_status replace(const EvalCtx *ctx, Regex *re, Str s, uint32_t from, uint32_t nth, Str with, Buf *buf,
                            Error *err)
{
    uint32_t copied = 0, at = from, count = 0;
    while (at <= s.len) {
        bool hit, set;
        TRY(regex_match(ctx, re, s, at, &hit, err));
        if (!hit) break;
        Str whole = capture(re, s, 0, &set);
        uint32_t start = (uint32_t)(whole.ptr - s.ptr), end = start + whole.len;
        count++;
        if (nth == 0 || count == nth) {
            TRY(buf_append(buf, s.ptr + copied, start - copied, err));
            TRY(put_replacement(re, s, with, buf, err));
            copied = end;
        }
        if (nth != 0 && count == nth) break;
        at = whole.len > 0 ? end : next_char(s, end);
    }
    if (copied < s.len) TRY(buf_append(buf, s.ptr + copied, s.len - copied, err));
    return TCUDB_OK;
}

/* Byte offset of the start-th character; past the end: len + 1. */
static uint32_t start_offset(Str s, int32_t start)
{
    uint32_t chars = (uint32_t)start - 1;
    return chars > utf8_length(s) ? s.len + 1 : utf8_prefix(s, chars);
}

static tcudb_status bad_parameter(const char *name, int32_t value, Error *err)
{
    return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "invalid value for parameter \"%s\": %d", name, value);
}

/* Either regexp_replace(s, pattern, with [, flags]) or (s, pattern, with, start [, n [, flags]]). */
static tcudb_status replace_row(EvalCtx *ctx, const Vector *args, uint32_t nargs, uint32_t row, uint32_t n,
                                Cache *cache, Buf *buf, Error *err)
{
    RegexFlags flags = {0};
    bool numbered = nargs > 3 && args[3].phys == PHYS_I32;
    Str s = STR_AT(0);
    int32_t start = numbered ? INT4_AT(3) : 1, nth = numbered && nargs > 4 ? INT4_AT(4) : 1;
    if (start < 1) return bad_parameter("start", start, err);
    if (nth < 0) return bad_parameter("n", nth, err);
    if (nargs > 3 && args[nargs - 1].phys == PHYS_STR) TRY(read_flags(STR_AT(nargs - 1), NULL, &flags, err));
    if (flags.global && !numbered) nth = 0;
    TRY(cached(ctx, cache, STR_AT(1), flags.options, n, err));
    return replace(ctx, &cache->re, s, start_offset(s, start), (uint32_t)nth, STR_AT(2), buf, err);
}

KERNEL(text_regexp_replace)
{
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    Cache cache = {0};
    Buf buf;
    buf_init(&buf, NULL);
    EACH_ROW(i, row)
    {
        buf.len = 0;
        TRY_GOTO(replace_row(ctx, args, nargs, row, n, &cache, &buf, err));
        TRY_GOTO(text_keep(ctx, &buf, &to[row], err));
    }
done:
    buf_free(&buf);
    cache_free(&cache);
    return status;
}

/* The next match from *at on, which moves behind it. */
static tcudb_status next_match(const EvalCtx *ctx, Regex *re, Str s, uint32_t *at, bool *hit, Error *err)
{
    bool set;
    *hit = false;
    if (*at > s.len) return TCUDB_OK;
    TRY(regex_match(ctx, re, s, *at, hit, err));
    if (!*hit) return TCUDB_OK;
    Str whole = capture(re, s, 0, &set);
    uint32_t end = (uint32_t)(whole.ptr - s.ptr) + whole.len;
    *at = whole.len > 0 ? end : next_char(s, end);
    return TCUDB_OK;
}

/* regexp_count(s, pattern [, start [, flags]]). */
KERNEL(text_regexp_count)
{
    int32_t *to = out->data;
    tcudb_status status = TCUDB_OK;
    Cache cache = {0};
    EACH_ROW(i, row)
    {
        RegexFlags flags = {0};
        Str s = STR_AT(0);
        int32_t start = nargs > 2 ? INT4_AT(2) : 1;
        if (start < 1) TRY_GOTO(bad_parameter("start", start, err));
        if (nargs > 3) TRY_GOTO(read_flags(STR_AT(3), "regexp_count", &flags, err));
        TRY_GOTO(cached(ctx, &cache, STR_AT(1), flags.options, n, err));
        to[row] = 0;
        for (uint32_t at = start_offset(s, start);; to[row]++) {
            bool hit;
            TRY_GOTO(next_match(ctx, &cache.re, s, &at, &hit, err));
            if (!hit) break;
        }
    }
done:
    cache_free(&cache);
    return status;
}

/* regexp_like(s, pattern [, flags]). */
KERNEL(text_regexp_like)
{
    uint8_t *to = out->data;
    tcudb_status status = TCUDB_OK;
    Cache cache = {.test = true};
    EACH_ROW(i, row)
    {
        RegexFlags flags = {0};
        bool hit;
        if (nargs > 2) TRY_GOTO(read_flags(STR_AT(2), "regexp_like", &flags, err));
        TRY_GOTO(cached(ctx, &cache, STR_AT(1), flags.options, n, err));
        TRY_GOTO(regex_match(ctx, &cache.re, STR_AT(0), 0, &hit, err));
        to[row] = hit;
    }
done:
    cache_free(&cache);
    return status;
}

/* The nth match from `start` on; *set false: there is none. */
static tcudb_status nth_match(const EvalCtx *ctx, Regex *re, Str s, int32_t start, int32_t nth, uint32_t group,
                              Str *out, bool *set, Error *err)
{
    *set = false;
    for (uint32_t at = start_offset(s, start); nth > 0; nth--) {
        bool hit;
        TRY(next_match(ctx, re, s, &at, &hit, err));
        if (!hit) return TCUDB_OK;
    }
    *out = capture(re, s, group, set);
    return TCUDB_OK;
}

/* regexp_substr(s, pattern [, start [, n [, flags [, subexpr]]]]). */
KERNEL(text_regexp_substr)
{
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    Cache cache = {0};
    EACH_ROW(i, row)
    {
        RegexFlags flags = {0};
        bool set;
        int32_t start = nargs > 2 ? INT4_AT(2) : 1, nth = nargs > 3 ? INT4_AT(3) : 1,
                group = nargs > 5 ? INT4_AT(5) : 0;
        if (start < 1) TRY_GOTO(bad_parameter("start", start, err));
        if (nth < 1) TRY_GOTO(bad_parameter("n", nth, err));
        if (group < 0) TRY_GOTO(bad_parameter("subexpr", group, err));
        if (nargs > 4) TRY_GOTO(read_flags(STR_AT(4), "regexp_substr", &flags, err));
        TRY_GOTO(cached(ctx, &cache, STR_AT(1), flags.options, n, err));
        TRY_GOTO(nth_match(ctx, &cache.re, STR_AT(0), start, nth, (uint32_t)group, &to[row], &set, err));
        if (!set) TRY_GOTO(set_null(ctx, out, sel, n, row, err));
    }
done:
    cache_free(&cache);
    return status;
}

/* regexp_instr(s, pattern [, start [, n [, endoption [, flags [, subexpr]]]]]). */
KERNEL(text_regexp_instr)
{
    int32_t *to = out->data;
    tcudb_status status = TCUDB_OK;
    Cache cache = {0};
    EACH_ROW(i, row)
    {
        RegexFlags flags = {0};
        bool set;
        Str s = STR_AT(0), found = {s.ptr, 0};
        int32_t start = nargs > 2 ? INT4_AT(2) : 1, nth = nargs > 3 ? INT4_AT(3) : 1,
                after = nargs > 4 ? INT4_AT(4) : 0;
        int32_t group = nargs > 6 ? INT4_AT(6) : 0;
        if (start < 1) TRY_GOTO(bad_parameter("start", start, err));
        if (nth < 1) TRY_GOTO(bad_parameter("n", nth, err));
        if (after != 0 && after != 1) TRY_GOTO(bad_parameter("endoption", after, err));
        if (group < 0) TRY_GOTO(bad_parameter("subexpr", group, err));
        if (nargs > 5) TRY_GOTO(read_flags(STR_AT(5), "regexp_instr", &flags, err));
        TRY_GOTO(cached(ctx, &cache, STR_AT(1), flags.options, n, err));
        TRY_GOTO(nth_match(ctx, &cache.re, s, start, nth, (uint32_t)group, &found, &set, err));
        uint32_t offset = (uint32_t)(found.ptr - s.ptr) + (after == 1 ? found.len : 0);
        to[row] = set ? (int32_t)utf8_length((Str){s.ptr, offset}) + 1 : 0;
    }
done:
    cache_free(&cache);
    return status;
}

/* The groups of a match, the whole of it where the pattern has none. */
static tcudb_status add_groups(const EvalCtx *ctx, const Regex *re, Str s, TextList *out, Error *err)
{
    uint32_t groups = capture_groups(re);
    for (uint32_t k = groups > 0; k <= groups; k++) {
        bool set;
        Str group = capture(re, s, k, &set);
        TRY(text_list_add(ctx, out, set ? group : (Str){NULL, 0}, err));
    }
    return TCUDB_OK;
}

/* regexp_match(s, pattern [, flags]): NULL where there is no match. */
KERNEL(text_regexp_match)
{
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    Cache cache = {0};
    EACH_ROW(i, row)
    {
        RegexFlags flags = {0};
        TextList groups = {0};
        bool hit;
        if (nargs > 2) TRY_GOTO(read_flags(STR_AT(2), "regexp_match", &flags, err));
        TRY_GOTO(cached(ctx, &cache, STR_AT(1), flags.options, n, err));
        TRY_GOTO(regex_match(ctx, &cache.re, STR_AT(0), 0, &hit, err));
        if (hit) TRY_GOTO(add_groups(ctx, &cache.re, STR_AT(0), &groups, err));
        if (hit)
            TRY_GOTO(array_text(ctx, &groups, &to[row], err));
        else
            TRY_GOTO(set_null(ctx, out, sel, n, row, err));
    }
done:
    cache_free(&cache);
    return status;
}

/* ---- splitting */

/* The next match that splits: not an empty one at the text's ends or right behind the last match. */
static tcudb_status next_split(const EvalCtx *ctx, Regex *re, Str s, uint32_t *at, uint32_t last_end, Str *found,
                               bool *hit, Error *err)
{
    for (;;) {
        bool set;
        TRY(next_match(ctx, re, s, at, hit, err));
        if (!*hit) return TCUDB_OK;
        *found = capture(re, s, 0, &set);
        uint32_t start = (uint32_t)(found->ptr - s.ptr);
        if (start < s.len && start + found->len > last_end) return TCUDB_OK;
    }
}

static tcudb_status split(const EvalCtx *ctx, Regex *re, Str s, TextList *out, Error *err)
{
    uint32_t at = 0, last_end = 0;
    bool hit = true;
    Str found = {0};
    while (hit) {
        TRY(next_split(ctx, re, s, &at, last_end, &found, &hit, err));
        uint32_t end = hit ? (uint32_t)(found.ptr - s.ptr) : s.len;
        TRY(text_list_add(ctx, out, end > last_end ? (Str){s.ptr + last_end, end - last_end} : (Str){"", 0}, err));
        if (hit) last_end = end + found.len;
    }
    return TCUDB_OK;
}

tcudb_status text_regex_split(EvalCtx *ctx, Str s, Str pattern, Str flags, const char *function, TextList *out,
                              Error *err)
{
    RegexFlags options;
    Regex re;
    TRY(read_flags(flags, function, &options, err));
    TRY(regex_compile(ctx->arena, pattern, options.options, false, &re, err));
    tcudb_status status = split(ctx, &re, s, out, err);
    regex_free(&re);
    return status;
}

/* regexp_split_to_array(s, pattern [, flags]). */
KERNEL(text_regexp_to_array)
{
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    Cache cache = {0};
    EACH_ROW(i, row)
    {
        RegexFlags flags = {0};
        TextList pieces = {0};
        if (nargs > 2) TRY_GOTO(read_flags(STR_AT(2), "regexp_split_to_array", &flags, err));
        TRY_GOTO(cached(ctx, &cache, STR_AT(1), flags.options, n, err));
        TRY_GOTO(split(ctx, &cache.re, STR_AT(0), &pieces, err));
        TRY_GOTO(array_text(ctx, &pieces, &to[row], err));
    }
done:
    cache_free(&cache);
    return status;
}

static tcudb_status matches(EvalCtx *ctx, Regex *re, Str s, bool all, TextList *out, Error *err)
{
    bool hit = true;
    for (uint32_t at = 0; hit;) {
        TextList groups = {0};
        Str text;
        TRY(next_match(ctx, re, s, &at, &hit, err));
        if (!hit) break;
        TRY(add_groups(ctx, re, s, &groups, err));
        TRY(array_text(ctx, &groups, &text, err));
        TRY(text_list_add(ctx, out, text, err));
        hit = all;
    }
    return TCUDB_OK;
}

tcudb_status text_regex_matches(EvalCtx *ctx, Str s, Str pattern, Str flags, const char *function, TextList *out,
                                Error *err)
{
    RegexFlags options;
    Regex re;
    (void)function; /* it takes every flag */
    TRY(read_flags(flags, NULL, &options, err));
    TRY(regex_compile(ctx->arena, pattern, options.options, false, &re, err));
    tcudb_status status = matches(ctx, &re, s, options.global, out, err);
    regex_free(&re);
    return status;
}
