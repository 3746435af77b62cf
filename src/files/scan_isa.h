/*
 * scan_isa.h: the scanner's loop; included by scan.c once per instruction set. The includer defines
 * ISA(name), ISA_TARGET (an attribute), Word (64 bytes in registers), ISA(load), ISA(eq) and ISA(put) before.
 */

/* Splits one word of 64 bytes. Returns the mask of field and record ends, *newlines those of records. */
static inline ISA_TARGET __attribute__((always_inline)) uint64_t ISA(split)(const Dialect *d, ScanState *st,
                                                                            const char *p, uint64_t live,
                                                                            const ScanMode mode, uint64_t *newlines,
                                                                            WordMarks *marks)
{
    const Word w = ISA(load)(p);
    uint64_t newline = ISA(eq)(w, dialect_newline(d)) & live;
    uint64_t delim = ISA(eq)(w, d->delim) & live;
    uint64_t plain = ~UINT64_C(0);
    uint64_t dirty = 0;
    marks->lines = newline;
    if (mode == SCAN_TEXT) {
        uint64_t backslash = ISA(eq)(w, '\\') & live;
        if (__builtin_expect((backslash | st->escaped) != 0, 0)) {
            plain = ~find_escaped(backslash, st, live);
            dirty = backslash;
        }
    } else if (d->quote != 0) {
        uint64_t quote = ISA(eq)(w, d->quote) & live;
        uint64_t escape = d->escape == d->quote || d->escape == 0 ? 0 : ISA(eq)(w, d->escape) & live;
        dirty = quote | escape;
        if (mode == SCAN_CSV) {
            if (__builtin_expect((escape | st->escaped) != 0, 0)) {
                plain = csv_slow_word(d, st, p, live);
            } else if (__builtin_expect((quote | st->inside) != 0, 0)) {
                uint64_t inside = prefix_xor(quote) ^ st->inside;
                st->inside = last_live(inside, live);
                plain = ~inside;
            }
        } else if (__builtin_expect((quote | st->inside) != 0 || st->after_quote || st->escaped != 0, 0)) {
            plain = escape == 0 && st->escaped == 0 ? lenient_word(d, st, p, live, quote, delim | newline)
                                                    : lenient_slow_word(d, st, p, live);
        } else {
            st->mid_field = (last_live(delim | newline, live)) == 0;
        }
    }
    uint64_t ends = (delim | newline) & plain;
    *newlines = newline & plain;
    marks->dirty = dirty;
    marks->bad_eol = 0;
    if (mode != SCAN_LENIENT) {
        /* the other line end character: forbidden unless the eol is CRLF, and then only as its first half */
        uint64_t other = ISA(eq)(w, d->eol == EOL_CR ? '\n' : '\r') & live & plain;
        if (d->eol == EOL_CRLF) {
            uint64_t before = other << 1 | (uint64_t)st->after_cr;
            marks->bad_eol = (*newlines & ~before) | (before & live & ~newline);
            st->after_cr = last_live(other, live) != 0;
        } else if (d->eol != EOL_ANY) {
            marks->bad_eol = other;
        }
    }
    return ends;
}

static inline ISA_TARGET __attribute__((always_inline)) void ISA(cut_loop)(const Dialect *d, ScanState *st,
                                                                           const char *text, size_t at, size_t end,
                                                                           uint64_t max_rows, ScanCut *cut,
                                                                           const ScanMode mode)
{
    WordMarks marks;
    for (; at < end; at += 64) {
        uint64_t live = end - at >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (end - at)) - 1;
        uint64_t newlines;
        ISA(split)(d, st, text + at, live, mode, &newlines, &marks);
        if (newlines == 0) {
            cut->pending += popcount64(marks.lines);
            continue;
        }
        uint32_t n = popcount64(newlines);
        if (cut->rows + n >= max_rows) {
            newlines = lowest_bits(newlines, (uint32_t)(max_rows - cut->rows));
            n = (uint32_t)(max_rows - cut->rows);
            cut->full = true;
        }
        uint32_t last = 63 - (uint32_t)__builtin_clzll(newlines);
        uint64_t upto = last == 63 ? ~UINT64_C(0) : (UINT64_C(2) << last) - 1;
        cut->rows += n;
        cut->row_end = at + last + 1;
        cut->lines += cut->pending + popcount64(marks.lines & upto);
        cut->pending = popcount64(marks.lines & ~upto);
        if (cut->full) return;
    }
}

static inline ISA_TARGET __attribute__((always_inline)) size_t ISA(token_loop)(const Dialect *d, ScanState *st,
                                                                               const char *text, size_t at, size_t end,
                                                                               uint32_t max_rows, Tokens *t,
                                                                               const ScanMode mode)
{
    WordMarks marks;
    uint32_t nfields = t->nfields, nrows = t->nrows;
    for (; at < end && nrows < max_rows; at += 64) {
        uint64_t live = end - at >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (end - at)) - 1;
        uint64_t newlines;
        uint64_t ends = ISA(split)(d, st, text + at, live, mode, &newlines, &marks);
        if (__builtin_expect(marks.dirty != 0, 0)) mark_dirty(t, nfields, ends, marks.dirty);
        if (__builtin_expect(marks.bad_eol != 0, 0) && t->bad_eol < 0)
            t->bad_eol = (int64_t)at + __builtin_ctzll(marks.bad_eol);
        ISA(put)(ends, (uint32_t)at, t->ends + nfields);
        for (; newlines != 0; newlines &= newlines - 1)
            t->rows[nrows++] = nfields + popcount64(ends & (newlines ^ (newlines - 1))) - 1;
        nfields += popcount64(ends);
        if (__builtin_expect(nfields + TOKENS_GUARD > t->cap || nrows + TOKENS_GUARD > t->rows_cap, 0)) {
            at += 64;
            break;
        }
    }
    t->nfields = nfields;
    t->nrows = nrows;
    return at < end ? at : end;
}

static ISA_TARGET void ISA(cut)(const Dialect *d, ScanState *st, const char *text, size_t at, size_t end,
                                uint64_t max_rows, ScanCut *cut)
{
    switch (d->mode) {
    case SCAN_TEXT: ISA(cut_loop)(d, st, text, at, end, max_rows, cut, SCAN_TEXT); break;
    case SCAN_CSV: ISA(cut_loop)(d, st, text, at, end, max_rows, cut, SCAN_CSV); break;
    case SCAN_LENIENT: ISA(cut_loop)(d, st, text, at, end, max_rows, cut, SCAN_LENIENT); break;
    }
}

static ISA_TARGET size_t ISA(tokens)(const Dialect *d, ScanState *st, const char *text, size_t at, size_t end,
                                     uint32_t max_rows, Tokens *t)
{
    switch (d->mode) {
    case SCAN_TEXT: return ISA(token_loop)(d, st, text, at, end, max_rows, t, SCAN_TEXT);
    case SCAN_CSV: return ISA(token_loop)(d, st, text, at, end, max_rows, t, SCAN_CSV);
    case SCAN_LENIENT: break;
    }
    return ISA(token_loop)(d, st, text, at, end, max_rows, t, SCAN_LENIENT);
}
