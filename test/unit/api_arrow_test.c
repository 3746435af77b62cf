/* Arrow streams: schemas, buffers, ownership. */
#include "api_util.h"

static tcudb_result *run(tcudb_conn *conn, const char *sql)
{
    tcudb_result *result = NULL;
    tcudb_error err = {0};
    assert_int_equal(tcudb_query(conn, sql, &result, &err), TCUDB_OK);
    return result;
}

static void open_stream(tcudb_conn *conn, const char *sql, struct ArrowArrayStream *stream)
{
    tcudb_error err;
    tcudb_result *result = run(conn, sql);
    assert_int_equal(tcudb_arrow_stream(result, stream, &err), TCUDB_OK);
    tcudb_result_free(result); /* the stream keeps what it needs */
}

static void schemas(void **state)
{
    static const char *const formats[] = {"b",      "s", "i", "l",   "f",    "g",   "d:12,2",
                                          "d:30,4", "U", "U", "tdD", "tsu:", "tin", "U"};
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    open_stream(conn_of(state),
                "select true, 1::int2, 2 as two, 3::int8, 1::float4, 1::float8, 1::numeric(12,2), 1::numeric(30,4), "
                "1::numeric, 'x', date '2000-01-01', timestamp '2000-01-01', interval '1 day', 'y'::char(3)",
                &stream);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(schema.n_children, 14);
    for (int i = 0; i < 14; i++) assert_string_equal(schema.children[i]->format, formats[i]);
    assert_string_equal(schema.children[2]->name, "two");
    schema.release(&schema);
    assert_null(schema.release);
    stream.release(&stream);
    assert_null(stream.release);
}

static void values(void **state)
{
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    open_stream(
        conn_of(state),
        "select * from (select true as b, 7 as i, 'one' as t, 1.25::numeric(5,2) as d, date '1970-01-02' as day, "
        "'a'::char(3) as c, 2.50::numeric as n union all select null, null, null, null, null, null, null "
        "union all select false, 9, 'three', -1.25::numeric(5,2), date '2000-01-01', 'b'::char(3), 3::numeric) v "
        "order by case when i = 7 then 1 when i = 9 then 3 else 2 end",
        &stream);
    assert_int_equal(stream.get_next(&stream, &array), 0);
    assert_int_equal(array.length, 3);
    assert_int_equal(array.n_children, 7);
    struct ArrowArray **c = array.children;
    assert_int_equal(((const uint8_t *)c[0]->buffers[1])[0] & 5, 1);
    assert_int_equal(c[1]->null_count, 1);
    assert_int_equal(((const uint8_t *)c[1]->buffers[0])[0] & 7, 5);
    assert_int_equal(((const int32_t *)c[1]->buffers[1])[2], 9);
    const int64_t *offsets = c[2]->buffers[1];
    assert_int_equal(offsets[1], 3);
    assert_int_equal(offsets[2], 3);
    assert_int_equal(offsets[3], 8);
    assert_memory_equal(c[2]->buffers[2], "onethree", 8);
    const int64_t *decimal = c[3]->buffers[1]; /* pairs of words */
    assert_int_equal(decimal[0], 125);
    assert_int_equal(decimal[4], -125);
    assert_int_equal(decimal[5], -1);
    assert_int_equal(((const int32_t *)c[4]->buffers[1])[0], 1);
    assert_int_equal(((const int32_t *)c[4]->buffers[1])[2], 10957);
    assert_memory_equal(c[5]->buffers[2], "a  b  ", 6);
    assert_memory_equal(c[6]->buffers[2], "2.503", 5);
    struct ArrowArray moved = *c[1]; /* a child may be moved out and outlive its parent */
    c[1]->release = NULL;
    array.release(&array);
    assert_int_equal(stream.get_next(&stream, &array), 0);
    assert_null(array.release); /* the end */
    stream.release(&stream);
    assert_int_equal(((const int32_t *)moved.buffers[1])[0], 7);
    moved.release(&moved);
}

static void many_batches(void **state)
{
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    int64_t rows = 0;
    int64_t sum = 0;
    open_stream(conn_of(state), "select g from generate_series(1, 10000) g", &stream);
    while (stream.get_next(&stream, &array) == 0 && array.release != NULL) {
        const int32_t *numbers = array.children[0]->buffers[1];
        for (int64_t i = 0; i < array.length; i++) sum += numbers[i];
        rows += array.length;
        array.release(&array);
    }
    assert_int_equal(rows, 10000);
    assert_int_equal(sum, 50005000);
    assert_null(stream.get_last_error(&stream));
    stream.release(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas),
        cmocka_unit_test(values),
        cmocka_unit_test(many_batches),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
