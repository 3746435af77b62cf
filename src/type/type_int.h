/*
 * type_int.h: what the files of type/ share: the shape of a kernel, the row loops, text helpers.
 *
 * A kernel's arguments are flat or constant. STRIDE(v) is 0 for a constant and 1 otherwise, so that
 * v.data[row * STRIDE] reads either; hot kernels have loops of their own for each case instead.
 */
#ifndef TYPE_TYPE_INT_H
#define TYPE_TYPE_INT_H

#include "base/hot.h"
#include "type/datetime.h"
#include "type/func.h"
#include "type/num.h"

enum { TEXT_MAX_LENGTH = 10485760 }; /* varchar(n), char(n): PostgreSQL's MaxAttrSize */

#define UNUSED __attribute__((unused))

/* The head of a kernel's definition. */
#define KERNEL(name)                                                                                                   \
    tcudb_status name(UNUSED EvalCtx *ctx, UNUSED const Vector *args, UNUSED uint32_t nargs,                           \
                      UNUSED const uint16_t *sel, uint32_t n, Vector *out, UNUSED Error *err)

#define STRIDE(v) ((v).form == VEC_CONST ? 0u : 1u)
/* for (each live row) */
#define EACH_ROW(i, row) for (uint32_t i = 0, row = 0; i < n && (row = sel == NULL ? i : sel[i], true); i++)

/* The loops of a kernel of two arguments: computes r from x and y by the given statements for each live row.
 * BINARY_LOOPS writes a loop for each shape, so that simple statements vectorise; BINARY_ROWS writes one, for
 * statements that are expensive anyway or may return. UNARY_* likewise, from x. */
#define BINARY_LOOPS(A, B, R, ...)                                                                                     \
    do {                                                                                                               \
        const A *restrict a_ = args[0].data;                                                                           \
        const B *restrict b_ = args[1].data;                                                                           \
        R *restrict to_ = out->data;                                                                                   \
        const uint32_t sa_ = STRIDE(args[0]), sb_ = STRIDE(args[1]);                                                   \
        if (sel != NULL) {                                                                                             \
            for (uint32_t i_ = 0; i_ < n; i_++) {                                                                      \
                const A x = a_[sel[i_] * sa_];                                                                         \
                const B y = b_[sel[i_] * sb_];                                                                         \
                R r;                                                                                                   \
                __VA_ARGS__;                                                                                           \
                to_[sel[i_]] = r;                                                                                      \
            }                                                                                                          \
        } else if (sa_ == 1 && sb_ == 1) {                                                                             \
            for (uint32_t i_ = 0; i_ < n; i_++) {                                                                      \
                const A x = a_[i_];                                                                                    \
                const B y = b_[i_];                                                                                    \
                R r;                                                                                                   \
                __VA_ARGS__;                                                                                           \
                to_[i_] = r;                                                                                           \
            }                                                                                                          \
        } else if (sa_ == 1) {                                                                                         \
            const B y = b_[0];                                                                                         \
            for (uint32_t i_ = 0; i_ < n; i_++) {                                                                      \
                const A x = a_[i_];                                                                                    \
                R r;                                                                                                   \
                __VA_ARGS__;                                                                                           \
                to_[i_] = r;                                                                                           \
            }                                                                                                          \
        } else {                                                                                                       \
            const A x = a_[0];                                                                                         \
            for (uint32_t i_ = 0; i_ < n; i_++) {                                                                      \
                const B y = b_[i_ * sb_];                                                                              \
                R r;                                                                                                   \
                __VA_ARGS__;                                                                                           \
                to_[i_] = r;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

#define BINARY_ROWS(A, B, R, ...)                                                                                      \
    do {                                                                                                               \
        const A *a_ = args[0].data;                                                                                    \
        const B *b_ = args[1].data;                                                                                    \
        R *to_ = out->data;                                                                                            \
        const uint32_t sa_ = STRIDE(args[0]), sb_ = STRIDE(args[1]);                                                   \
        EACH_ROW(i, row)                                                                                               \
        {                                                                                                              \
            const A x = a_[row * sa_];                                                                                 \
            const B y = b_[row * sb_];                                                                                 \
            R r = {0};                                                                                                 \
            __VA_ARGS__;                                                                                               \
            to_[row] = r;                                                                                              \
        }                                                                                                              \
    } while (0)

#define UNARY_LOOPS(A, R, ...)                                                                                         \
    do {                                                                                                               \
        const A *restrict a_ = args[0].data;                                                                           \
        R *restrict to_ = out->data;                                                                                   \
        const uint32_t sa_ = STRIDE(args[0]);                                                                          \
        if (sel == NULL && sa_ == 1) {                                                                                 \
            for (uint32_t i_ = 0; i_ < n; i_++) {                                                                      \
                const A x = a_[i_];                                                                                    \
                R r;                                                                                                   \
                __VA_ARGS__;                                                                                           \
                to_[i_] = r;                                                                                           \
            }                                                                                                          \
        } else {                                                                                                       \
            EACH_ROW(i_, row_)                                                                                         \
            {                                                                                                          \
                const A x = a_[row_ * sa_];                                                                            \
                R r;                                                                                                   \
                __VA_ARGS__;                                                                                           \
                to_[row_] = r;                                                                                         \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

#define UNARY_ROWS(A, R, ...)                                                                                          \
    do {                                                                                                               \
        const A *a_ = args[0].data;                                                                                    \
        R *to_ = out->data;                                                                                            \
        const uint32_t sa_ = STRIDE(args[0]);                                                                          \
        EACH_ROW(i, row)                                                                                               \
        {                                                                                                              \
            const A x = a_[row * sa_];                                                                                 \
            R r = {0};                                                                                                 \
            __VA_ARGS__;                                                                                               \
            to_[row] = r;                                                                                              \
        }                                                                                                              \
    } while (0)

/* Called for each character or so of long texts: looks at the cancel flag now and then. */
static inline tcudb_status text_poll(const EvalCtx *ctx, uint32_t *steps, Error *err)
{
    return (++*steps & 0xffff) == 0 ? cancel_poll(ctx->cancel, err) : TCUDB_OK;
}

/* Rows that out must have room for, to size a validity bitmap. */
static inline uint32_t live_rows(const uint16_t *sel, uint32_t n)
{
    return sel == NULL || n == 0 ? n : (uint32_t)sel[n - 1] + 1;
}

/* A kernel's result at a row. */
static inline tcudb_status set_null(EvalCtx *ctx, Vector *out, const uint16_t *sel, uint32_t n, uint32_t row,
                                    Error *err)
{
    TRY(vec_need_valid(ctx->arena, out, live_rows(sel, n), err));
    bit_clear(out->valid, row);
    return TCUDB_OK;
}

/* Every kernel named in func.def. */
#define KERNEL_PROTOTYPE(name) FuncEvalType name
typedef tcudb_status FuncEvalType(EvalCtx *ctx, const Vector *args, uint32_t nargs, const uint16_t *sel, uint32_t n,
                                  Vector *out, Error *err);
#define FUNCTION(name, flags, kernel, result, ...)          KERNEL_PROTOTYPE(kernel);
#define VARIADIC(name, flags, kernel, result, ...)          KERNEL_PROTOTYPE(kernel);
#define OPERATOR(name, flags, kernel, result, ...)          KERNEL_PROTOTYPE(kernel);
#define VARIADIC_OPERATOR(name, flags, kernel, result, ...) KERNEL_PROTOTYPE(kernel);
#define COMPARE(name, cmp, kernel, arg)                     KERNEL_PROTOTYPE(kernel);
#define CAST(from, to, context, kernel)                     KERNEL_PROTOTYPE(kernel);
#include "type/func.def"

/* The least context in which a cast exists; CAST_NONE: never. Equal types: implicit. */
enum { CAST_NONE = 3 };
int cast_context(uint8_t from, uint8_t to);

/* "integer out of range", "division by zero". */
tcudb_status range_error(const char *type_name, Error *err);
tcudb_status division_by_zero(Error *err);

/* Casts that have no line in func.def: cast.c chooses them. */
FuncEvalType text_to_any, any_to_text, text_cut_varchar, text_fit_varchar, text_cut_bpchar, text_fit_bpchar,
    text_drop_blanks, text_add_blanks;
FuncEvalType numeric_to_numeric, interval_to_interval, timestamp_to_timestamp, any_relabelled, any_cut_text,
    any_fit_text;

/* Text forms. *_print write a NUL-terminated text of less than NUM_TEXT_MAX bytes and return its length. */
uint32_t int_print(int64_t value, char *buffer);
/* The last `digits` digits of the value, zeros in front; no NUL. */
void digits_print(uint64_t value, uint32_t digits, char *to);
uint32_t float4_print(float value, char *buffer);
uint32_t float8_print(double value, char *buffer);
tcudb_status bool_parse(Str text, bool *out, Error *err) MUST_CHECK;
tcudb_status int_parse(Str text, int64_t lo, int64_t hi, const char *type_name, int64_t *out, Error *err) MUST_CHECK;
tcudb_status float4_parse(Str text, float *out, Error *err) MUST_CHECK;
tcudb_status float8_parse(Str text, double *out, Error *err) MUST_CHECK;
/* 22P02 "invalid input syntax for type T: "text"". */
tcudb_status bad_text(const char *type_name, Str text, Error *err);
/* With blanks at its end up to so many characters. */
tcudb_status text_padded(EvalCtx *ctx, Str text, uint32_t characters, Str *out, Error *err) MUST_CHECK;
/* text as a value of text, varchar(n) or char(n): cut to n characters, or 22001 unless only blanks go. */
tcudb_status text_fit(Str text, Type to, bool cut, Str *out, Error *err) MUST_CHECK;

/* Byte offset in s of the first occurrence of `what` from `from` on; -1: none. */
tcudb_status text_find(const EvalCtx *ctx, Str s, Str what, uint32_t from, int64_t *at, Error *err) MUST_CHECK;
/* The same in one go, for texts that are not long. */
int64_t text_search(Str s, Str what, uint32_t from);

/* Writes the value's bits where a vector keeps them. */
void value_store(const Value *value, Phys phys, void *to);

/* ISO 8601 week of a day and the year it belongs to; 0 Sunday .. 6 Saturday. */
int32_t date_iso_week(int32_t day, int32_t *iso_year);
int date_weekday(int32_t day);

/* A copy of the buffer's text in the batch's arena; text in lower case, and the texts of all live rows. */
tcudb_status text_keep(EvalCtx *ctx, const Buf *buf, Str *out, Error *err) MUST_CHECK;
tcudb_status text_fold(EvalCtx *ctx, Str s, Str *out, Error *err) MUST_CHECK;
tcudb_status text_fold_rows(EvalCtx *ctx, const Vector *texts, const uint16_t *sel, uint32_t n, Str *out,
                            Error *err) MUST_CHECK;

/* The list as the text of an array: {a,"b c",NULL}; a text whose ptr is NULL is NULL (func_array.c). */
tcudb_status array_text(EvalCtx *ctx, const TextList *list, Str *out, Error *err) MUST_CHECK;

/* Live rows from some one to before `end` whose texts lie side by side (text_runs.c). One alone may be longer than
 * `most`. */
enum { RUN_BYTES = 4096 };
typedef struct TextRun {
    const char *ptr;
    size_t bytes;
    uint32_t end;
} TextRun;
TextRun text_run(const Vector *texts, const uint16_t *sel, uint32_t from, uint32_t n, uint32_t most);

#endif
