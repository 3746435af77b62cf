/*
 * scan.c: finds the end of a statement without parsing SQL.
 *
 * PostgreSQL's lexical rules: '..' with '' inside, E'..' with backslashes, "..", $tag$..$tag$, -- to the end
 * of the line, nested block comments. A semicolon ends a statement outside all of these and outside
 * parentheses. The state survives between lines, so a statement of n bytes is scanned once, whatever the
 * number of its lines.
 */
#include "scan.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* E'..' but not the end of a longer word as in name'..'. */
static bool escape_prefix(const char *text, size_t quote)
{
    if (quote == 0 || (text[quote - 1] != 'E' && text[quote - 1] != 'e')) return false;
    return quote == 1 || !is_word(text[quote - 2]);
}

/* Length of a dollar quote's tag at text[0] == '$', or 0. */
static size_t dollar_tag(const char *text, size_t len)
{
    size_t n = 1;
    if (n < len && isdigit((unsigned char)text[n])) return 0; /* $1 */
    while (n < len && is_word(text[n])) n++;
    return n < len && text[n] == '$' && n + 1 < SCAN_TAG_MAX ? n + 1 : 0;
}

static size_t end_of_quote(Scan *scan, const char *text, size_t len, size_t i)
{
    char close = scan->quote == SCAN_NAME ? '"' : '\'';
    for (; i < len; i++) {
        if (scan->quote == SCAN_ESCAPE_STRING && text[i] == '\\' && i + 1 < len) {
            i++;
        } else if (text[i] == close) {
            if (i + 1 < len && text[i + 1] == close) {
                i++;
                continue;
            }
            scan->quote = SCAN_NONE;
            return i + 1;
        }
    }
    return len;
}

static size_t end_of_dollar(Scan *scan, const char *text, size_t len, size_t i)
{
    size_t n = strlen(scan->tag);
    assert(n >= 2);
    for (; i + n <= len; i++) {
        if (memcmp(text + i, scan->tag, n) != 0) continue;
        scan->quote = SCAN_NONE;
        return i + n;
    }
    return len;
}

static size_t end_of_comment(Scan *scan, const char *text, size_t len, size_t i)
{
    for (; i + 1 < len; i++) {
        if (text[i] == '/' && text[i + 1] == '*') {
            scan->comments++;
            i++;
        } else if (text[i] == '*' && text[i + 1] == '/') {
            i++;
            if (--scan->comments > 0) continue;
            scan->quote = SCAN_NONE;
            return i + 1;
        }
    }
    return len;
}

/* Enters a quote or comment that begins at i and returns the position after its beginning; i: none begins. */
static size_t begin_quote(Scan *scan, const char *text, size_t len, size_t i)
{
    size_t tag = 0;
    if (text[i] == '\'') {
        scan->quote = escape_prefix(text, i) ? SCAN_ESCAPE_STRING : SCAN_STRING;
    } else if (text[i] == '"') {
        scan->quote = SCAN_NAME;
    } else if (text[i] == '/' && i + 1 < len && text[i + 1] == '*') {
        scan->quote = SCAN_COMMENT;
        scan->comments = 1;
        return i + 2;
    } else if (text[i] == '$' && !(i > 0 && is_word(text[i - 1])) && (tag = dollar_tag(text + i, len - i)) > 0) {
        scan->quote = SCAN_DOLLAR;
        memcpy(scan->tag, text + i, tag);
        scan->tag[tag] = '\0';
    } else {
        return i;
    }
    scan->content = true;
    return tag > 0 ? i + tag : i + 1;
}

static size_t inside(Scan *scan, const char *text, size_t len, size_t i)
{
    if (scan->quote == SCAN_DOLLAR) return end_of_dollar(scan, text, len, i);
    if (scan->quote == SCAN_COMMENT) return end_of_comment(scan, text, len, i);
    return end_of_quote(scan, text, len, i);
}

ScanEnd scan_next(Scan *scan, const char *text, size_t len)
{
    size_t i = scan->at;
    while (i < len) {
        if (scan->quote != SCAN_NONE) {
            i = inside(scan, text, len, i);
            continue;
        }
        char c = text[i];
        if (c == '-' && i + 1 < len && text[i + 1] == '-') {
            while (i < len && text[i] != '\n') i++;
            continue;
        }
        size_t begun = begin_quote(scan, text, len, i);
        if (begun > i) {
            i = begun;
            continue;
        }
        if (c == '\\') {
            scan->at = i;
            return SCAN_BACKSLASH;
        }
        if (c == '(') scan->parens++;
        if (c == ')' && scan->parens > 0) scan->parens--;
        i++;
        if (c == ';' && scan->parens == 0) {
            scan->at = i;
            return SCAN_SEMICOLON;
        }
        if (!isspace((unsigned char)c)) scan->content = true;
    }
    scan->at = i;
    return SCAN_MORE;
}

char scan_prompt(const Scan *scan)
{
    switch (scan->quote) {
    case SCAN_STRING:
    case SCAN_ESCAPE_STRING: return '\'';
    case SCAN_NAME: return '"';
    case SCAN_DOLLAR: return '$';
    case SCAN_COMMENT: return '*';
    case SCAN_NONE: break;
    }
    if (scan->parens > 0) return '(';
    return scan->content ? '-' : '=';
}
