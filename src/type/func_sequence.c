/*
 * func_sequence.c: nextval, currval, lastval, setval: what the session answers (EvalCtx.sequences), row by row.
 */
#include "type/type_int.h"

static tcudb_status ask(const EvalCtx *ctx, const SequenceCall *call, int64_t *out, Error *err)
{
    if (ctx->sequences != NULL) return ctx->sequences->call(ctx->sequences->ctx, call, out, err);
    return error_unsupported(err, 0, "a sequence's function here");
}

KERNEL(sequence_next)
{
    UNARY_ROWS(Str, int64_t, TRY(ask(ctx, &(SequenceCall){.op = SEQUENCE_NEXT, .name = x}, &r, err)));
    return TCUDB_OK;
}

KERNEL(sequence_current)
{
    UNARY_ROWS(Str, int64_t, TRY(ask(ctx, &(SequenceCall){.op = SEQUENCE_CURRENT, .name = x}, &r, err)));
    return TCUDB_OK;
}

KERNEL(sequence_last)
{
    int64_t *to = out->data;
    EACH_ROW(i, row) TRY(ask(ctx, &(SequenceCall){.op = SEQUENCE_LAST}, &to[row], err));
    return TCUDB_OK;
}

KERNEL(sequence_set)
{
    BINARY_ROWS(Str, int64_t, int64_t,
                TRY(ask(ctx, &(SequenceCall){.op = SEQUENCE_SET, .name = x, .value = y, .called = true}, &r, err)));
    return TCUDB_OK;
}

KERNEL(sequence_set_called)
{
    const Str *names = args[0].data;
    const int64_t *values = args[1].data;
    const uint8_t *called = args[2].data;
    int64_t *to = out->data;
    EACH_ROW(i, row)
    {
        SequenceCall call = {SEQUENCE_SET, names[row * STRIDE(args[0])], values[row * STRIDE(args[1])],
                             called[row * STRIDE(args[2])] != 0};
        TRY(ask(ctx, &call, &to[row], err));
    }
    return TCUDB_OK;
}
