/*
 * file_kind.c: what a file is by its name's ending: beginners give one kind where another is wanted.
 */
#include "shell.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

FileKind file_kind(const char *path)
{
    static const struct {
        const char *ending;
        FileKind kind;
    } endings[] = {
        {".csv", FILE_DATA},         {".tsv", FILE_DATA},        {".tbl", FILE_DATA},       {".csv.gz", FILE_DATA},
        {".tsv.gz", FILE_DATA},      {".csv.zst", FILE_DATA},    {".tsv.zst", FILE_DATA},   {".sql", FILE_SQL},
        {".xlsx", FILE_BINARY},      {".xls", FILE_BINARY},      {".ods", FILE_BINARY},     {".parquet", FILE_BINARY},
        {".json", FILE_BINARY},      {".jsonl", FILE_BINARY},    {".feather", FILE_BINARY}, {".sqlite", FILE_DATABASE},
        {".sqlite3", FILE_DATABASE}, {".duckdb", FILE_DATABASE}, {".db", FILE_DATABASE},    {".mdb", FILE_DATABASE},
    };
    assert(path != NULL);
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t m = strlen(endings[i].ending);
        if (n > m && strcasecmp(path + n - m, endings[i].ending) == 0) return endings[i].kind;
    }
    return FILE_OTHER;
}
