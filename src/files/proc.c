/*
 * proc.c: the registry of procedures, as files.c is that of table functions.
 *
 * A procedure is one `const Proc` in a file of its own (gen_*.c) and one line in proc.def; lookups are by
 * exact name, the list ends with NULL.
 */
#include "files/proc.h"

#define PROC(variable) extern const Proc variable;
#include "files/proc.def"
#undef PROC

static const Proc *const procedures[] = {
#define PROC(variable) &variable,
#include "files/proc.def"
#undef PROC
    NULL};

const Proc *files_find_proc(Str name)
{
    for (const Proc *const *p = procedures; *p != NULL; p++)
        if (str_equal(name, str_of((*p)->name))) return *p;
    return NULL;
}

const Proc *files_proc_at(uint32_t i)
{
    return i + 1 < sizeof procedures / sizeof procedures[0] ? procedures[i] : NULL;
}
