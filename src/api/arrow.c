/*
 * arrow.c: results as Arrow C streams. Written next; until then the call says so.
 */
#include "api/api_int.h"

tcudb_status tcudb_arrow_stream(tcudb_result *result, struct ArrowArrayStream *stream, tcudb_error *err)
{
    Error why = {0};
    if (result == NULL || stream == NULL) return api_misuse(err, "tcudb_arrow_stream: an argument is NULL");
    return api_fail(err, error_unsupported(&why, 0, "Arrow export"), &why);
}
