/*
 * text_runs.c: texts whose bytes follow each other, taken together.
 *
 * Texts of neighbouring rows often lie one behind the other in memory: those of a column in which each stands once, in
 * its dictionary's blocks. What treats bytes alike wherever a text ends (is all of it ASCII, other letter case, where
 * does a word stand) then goes over a run of them at once, at the speed of memory, where a call a text would cost more
 * than its twenty bytes. A run is short enough to stay in the first cache, and that one letter beyond ASCII sends only
 * its neighbours the long way.
 */
#include "type/type_int.h"

#include <assert.h>

TextRun text_run(const Vector *texts, const uint16_t *sel, uint32_t from, uint32_t n, uint32_t most)
{
    const Str *at = texts->data;
    const uint32_t stride = STRIDE(*texts);
    assert(from < n);
    Str s = at[(sel == NULL ? from : sel[from]) * stride];
    TextRun run = {.ptr = s.ptr, .bytes = s.len, .end = from + 1};
    for (; run.end < n; run.end++) {
        s = at[(sel == NULL ? run.end : sel[run.end]) * stride];
        if (s.ptr != run.ptr + run.bytes || s.len > most || run.bytes + s.len > most) break;
        run.bytes += s.len;
    }
    return run;
}
