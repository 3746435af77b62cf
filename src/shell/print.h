/*
 * print.h: results on their way to the screen. A mode either prints rows as they come or collects them in a
 * Table and prints it at the end.
 */
#ifndef SHELL_PRINT_H
#define SHELL_PRINT_H

#include "shell.h"

typedef struct Cell {
    const char *text;
    uint32_t len;
    bool null;
} Cell;

/* Rows kept for printing: the first `head_max`, and the last `tail_max` of the others. */
typedef struct Table {
    uint32_t ncols;
    char **names;
    char **types;
    bool *right;   /* right-aligned: numbers */
    uint64_t rows; /* all that came */
    uint64_t head_rows, head_cap, head_max;
    Cell *head;
    uint64_t tail_max;
    Cell *tail;           /* a ring: row r at r % tail_max */
    struct Block *blocks; /* memory of the head's texts */
} Table;

typedef struct Print {
    Shell *shell;
    FILE *to; /* stream modes */
    uint32_t ncols;
    tcudb_column_info *cols;
    uint64_t rows;
    Text cell; /* scratch */
    Table table;
} Print;

/* What a mode does. Stream modes have row, table modes have table. */
typedef struct PrintMode {
    const char *name;
    const char *help;
    void (*begin)(Print *print);
    void (*row)(Print *print, const tcudb_chunk *chunk, uint64_t row);
    void (*end)(Print *print);
    void (*table)(Print *print, FILE *to);
} PrintMode;

extern const PrintMode print_modes[MODES];
/* The mode's number by name, -1: none. */
int print_mode_by_name(const char *name);

/* A sink for one statement's rows. */
void print_init(Print *print, Shell *shell);
void print_columns(Print *print, const tcudb_column_info *cols, uint32_t n);
void print_chunk(Print *print, const tcudb_chunk *chunk);
void print_end(Print *print);
/* Forgets rows that were collected: the statement failed. */
void print_free(Print *print);

/* The value's text, valid until the next call; NULL values give look.null. */
const char *print_cell(Print *print, const tcudb_chunk *chunk, uint32_t col, uint64_t row, size_t *len);
bool type_is_number(tcudb_type_id type);

/* ---- table.c ------------------------------------------------------------------------------- */

void table_begin(Table *table, const tcudb_column_info *cols, uint32_t n);
void table_add(Table *table, uint32_t col, const char *text, size_t len, bool null);
/* Before the cells of a row. */
void table_row(Table *table);
uint64_t table_kept(const Table *table);
/* The i-th kept row. */
const Cell *table_at(const Table *table, uint64_t i);
bool table_cut(const Table *table); /* rows are missing between head and tail */
void table_free(Table *table);
/* Escapes control characters and expands tabs; newlines stay. */
void table_escape(const char *text, size_t len, Text *out);

/* ---- modes --------------------------------------------------------------------------------- */

void csv_begin(Print *print);
void csv_row(Print *print, const tcudb_chunk *chunk, uint64_t row);
void unaligned_begin(Print *print);
void unaligned_row(Print *print, const tcudb_chunk *chunk, uint64_t row);
void unaligned_end(Print *print);
void json_begin(Print *print);
void json_row(Print *print, const tcudb_chunk *chunk, uint64_t row);
void json_end(Print *print);
void jsonlines_row(Print *print, const tcudb_chunk *chunk, uint64_t row);
void line_row(Print *print, const tcudb_chunk *chunk, uint64_t row);
void insert_row(Print *print, const tcudb_chunk *chunk, uint64_t row);
void box_table(Print *print, FILE *to);
void aligned_table(Print *print, FILE *to);
void markdown_table(Print *print, FILE *to);
void expanded_table(Print *print, FILE *to);
/* "(3 rows)" and an empty line, if footers are on. */
void print_footer(Print *print, FILE *to);
void print_spaces(FILE *to, size_t n);

#endif
