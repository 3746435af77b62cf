/*
 * scan.h: where a statement ends: a lexer that knows quotes, dollar quotes, comments and parentheses.
 */
#ifndef SHELL_SCAN_H
#define SHELL_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum { SCAN_TAG_MAX = 64 };

typedef enum ScanQuote { SCAN_NONE, SCAN_STRING, SCAN_ESCAPE_STRING, SCAN_NAME, SCAN_DOLLAR, SCAN_COMMENT } ScanQuote;

/* State between lines; zero-initialised at the start of a statement. */
typedef struct Scan {
    size_t at;         /* everything before is scanned */
    ScanQuote quote;   /* what the position is inside of */
    unsigned comments; /* depth of nested comments */
    unsigned parens;
    bool content;           /* something other than blanks and comments has been seen */
    char tag[SCAN_TAG_MAX]; /* the dollar quote's: "$$" */
} Scan;

typedef enum ScanEnd {
    SCAN_MORE,      /* the text ends inside a statement */
    SCAN_SEMICOLON, /* scan->at is after a semicolon that ends a statement */
    SCAN_BACKSLASH  /* scan->at is at a backslash that begins a command */
} ScanEnd;

ScanEnd scan_next(Scan *scan, const char *text, size_t len);
/* The character that prompts show: '-' in a statement, '(' in parentheses, '\'', '"', '$', '*'; '=' at its start. */
char scan_prompt(const Scan *scan);

#endif
