/*
 * datetime.c: dates, timestamps and intervals as text. PLACEHOLDER until the real parser lands.
 */
#include "type/type_int.h"
tcudb_status date_parse(Str text, int32_t *out, Error *err)
{
    (void)text;
    (void)out;
    return error_unsupported(err, 0, "date input");
}
tcudb_status timestamp_parse(Str text, int64_t *out, Error *err)
{
    (void)text;
    (void)out;
    return error_unsupported(err, 0, "timestamp input");
}
tcudb_status interval_parse(Str text, Interval *out, Error *err)
{
    (void)text;
    (void)out;
    return error_unsupported(err, 0, "interval input");
}
uint32_t date_print(int32_t value, char *buffer)
{
    return int_print(value, buffer);
}
uint32_t timestamp_print(int64_t value, char *buffer)
{
    return int_print(value, buffer);
}
uint32_t interval_print(Interval value, char *buffer)
{
    return int_print(value.micros, buffer);
}
int interval_compare(Interval a, Interval b)
{
    return (a.micros > b.micros) - (a.micros < b.micros);
}
