/*
 * table.c: rows kept in memory until their widths are known.
 *
 * The first rows' texts lie in blocks; the last rows, when only a part is shown, in a ring whose cells are
 * allocated one by one and replaced as newer rows come. So a cut table takes constant memory.
 */
#include "print.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 64 * 1024 };

typedef struct Block {
    struct Block *next;
    size_t used;
    size_t size;
    char bytes[];
} Block;

void table_begin(Table *table, const tcudb_column_info *cols, uint32_t n)
{
    *table = (Table){.ncols = n, .head_max = UINT64_MAX};
    table->names = shell_alloc((n + 1) * sizeof *table->names);
    table->types = shell_alloc((n + 1) * sizeof *table->types);
    table->right = shell_alloc((n + 1) * sizeof *table->right);
    for (uint32_t i = 0; i < n; i++) {
        Text name = {0};
        table_escape(cols[i].name, strlen(cols[i].name), &name);
        table->names[i] = shell_strdup(text_cstr(&name));
        table->types[i] = shell_strdup(cols[i].type_name);
        table->right[i] = type_is_number(cols[i].type);
        text_free(&name);
    }
}

static char *keep(Table *table, const char *text, size_t len)
{
    Block *block = table->blocks;
    if (block == NULL || block->size - block->used < len + 1) {
        size_t size = len + 1 > BLOCK_SIZE ? len + 1 : BLOCK_SIZE;
        block = shell_realloc(NULL, sizeof *block + size);
        *block = (Block){.next = table->blocks, .size = size};
        table->blocks = block;
    }
    char *copy = block->bytes + block->used;
    if (len > 0) memcpy(copy, text, len);
    copy[len] = '\0';
    block->used += len + 1;
    return copy;
}

void table_row(Table *table)
{
    uint64_t row = table->rows++;
    if (row < table->head_max) {
        if (row == table->head_cap) {
            table->head_cap = row == 0 ? 64 : row * 2;
            table->head = shell_realloc(table->head, table->head_cap * (table->ncols + 1) * sizeof *table->head);
        }
        table->head_rows = row + 1;
        return;
    }
    if (table->tail == NULL && table->tail_max > 0)
        table->tail = shell_alloc(table->tail_max * (table->ncols + 1) * sizeof *table->tail);
}

void table_add(Table *table, uint32_t col, const char *text, size_t len, bool null)
{
    assert(table->rows > 0 && col < table->ncols && len <= UINT32_MAX);
    uint64_t row = table->rows - 1;
    Cell cell = {.len = (uint32_t)len, .null = null};
    if (row < table->head_max) {
        cell.text = keep(table, text, len);
        table->head[row * table->ncols + col] = cell;
    } else if (table->tail_max > 0) {
        Cell *slot = &table->tail[row % table->tail_max * table->ncols + col];
        free((void *)slot->text);
        cell.text = shell_strndup(text, len);
        *slot = cell;
    }
}

static uint64_t tail_rows(const Table *table)
{
    uint64_t others = table->rows - table->head_rows;
    return others < table->tail_max ? others : table->tail_max;
}

uint64_t table_kept(const Table *table)
{
    return table->head_rows + tail_rows(table);
}

bool table_cut(const Table *table)
{
    return table_kept(table) < table->rows;
}

const Cell *table_at(const Table *table, uint64_t i)
{
    assert(i < table_kept(table));
    if (i < table->head_rows) return table->head + i * table->ncols;
    uint64_t row = table->rows - tail_rows(table) + (i - table->head_rows);
    return table->tail + row % table->tail_max * table->ncols;
}

void table_free(Table *table)
{
    for (uint32_t i = 0; table->names != NULL && i < table->ncols; i++) {
        free(table->names[i]);
        free(table->types[i]);
    }
    for (uint64_t i = 0; table->tail != NULL && i < table->tail_max * table->ncols; i++)
        free((void *)table->tail[i].text);
    while (table->blocks != NULL) {
        Block *block = table->blocks;
        table->blocks = block->next;
        free(block);
    }
    free(table->names);
    free(table->types);
    free(table->right);
    free(table->head);
    free(table->tail);
    *table = (Table){0};
}

void table_escape(const char *text, size_t len, Text *out)
{
    size_t line = out->len;
    size_t plain = 0;
    while (plain < len && (unsigned char)text[plain] >= ' ' && text[plain] != 0x7f) plain++;
    text_add(out, text, plain);
    for (size_t i = plain; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\t') {
            do text_char(out, ' ');
            while ((out->len - line) % 8 != 0);
        } else if (c == '\n') {
            text_char(out, '\n');
            line = out->len;
        } else if (c == '\r') {
            text_str(out, "\\r");
        } else if (c < ' ' || c == 0x7f) {
            text_printf(out, "\\x%02X", c);
        } else {
            text_char(out, (char)c);
        }
    }
}
