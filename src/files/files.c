/*
 * files.c: the registry of table functions.
 *
 * A function is one `const TableFunc` in a file of its own and one line in table_func.def; lookups are by
 * exact name (the binder has folded its case). The list is short, so a linear search does.
 */
#include "files/files.h"

#define TABLE_FUNC(variable) extern const TableFunc variable;
#include "files/table_func.def"
#undef TABLE_FUNC

static const TableFunc *const functions[] = {
#define TABLE_FUNC(variable) &variable,
#include "files/table_func.def"
#undef TABLE_FUNC
};

enum { NFUNCTIONS = sizeof functions / sizeof functions[0] };

const TableFunc *files_find_table_func(Str name)
{
    for (uint32_t i = 0; i < NFUNCTIONS; i++)
        if (str_equal(name, str_of(functions[i]->name))) return functions[i];
    return NULL;
}

const TableFunc *files_table_func_at(uint32_t i)
{
    return i < NFUNCTIONS ? functions[i] : NULL;
}
