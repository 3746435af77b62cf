/*
 * facts.c: exact facts about a column's rows: NULLs, bounds, whether the values ascend.
 *
 * Facts grow with the rows: facts_add takes the rows that follow those it knows. Rows without NULLs take a loop per
 * type that the compiler vectorises, below 1 ns a value; with NULLs a branch a row. Num columns have bounds as long
 * as all values are finite and of one scale (then they order as integers).
 */
#include "base/hot.h"
#include "store/store_int.h"

#include <assert.h>
#include <string.h>

/* Order with NaN on top, as PostgreSQL sorts floats. */
#define LESS_INT(a, b)   ((a) < (b))
#define LESS_FLOAT(a, b) ((b) != (b) ? (a) == (a) : (a) < (b))

#define FACTS_LOOP(T, get, set, less, store)                                                                           \
    do {                                                                                                               \
        const T *v_ = (const T *)data + from;                                                                          \
        T lo_ = v_[0], hi_ = v_[0];                                                                                    \
        uint32_t first_ = 0;                                                                                           \
        if (nulls > 0) {                                                                                               \
            while (valid[first_] == 0) first_++;                                                                       \
            lo_ = hi_ = v_[first_];                                                                                    \
        }                                                                                                              \
        if (facts->has_bounds) {                                                                                       \
            if (less(get(facts->min), lo_)) lo_ = get(facts->min);                                                     \
            if (less(hi_, get(facts->max))) hi_ = get(facts->max);                                                     \
        }                                                                                                              \
        if (nulls == 0) {                                                                                              \
            bool up_ = true;                                                                                           \
            if (facts->ascending && facts->has_bounds) up_ = less(get(facts->max), v_[0]);                             \
            for (uint32_t i = 1; i < n; i++) up_ &= less(v_[i - 1], v_[i]);                                            \
            facts->ascending &= up_;                                                                                   \
            for (uint32_t i = 0; i < n; i++) {                                                                         \
                lo_ = less(v_[i], lo_) ? v_[i] : lo_;                                                                  \
                hi_ = less(hi_, v_[i]) ? v_[i] : hi_;                                                                  \
            }                                                                                                          \
        } else {                                                                                                       \
            for (uint32_t i = first_; i < n; i++) {                                                                    \
                if (!valid[i]) continue;                                                                               \
                lo_ = less(v_[i], lo_) ? v_[i] : lo_;                                                                  \
                hi_ = less(hi_, v_[i]) ? v_[i] : hi_;                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        set(facts->min, lo_);                                                                                          \
        set(facts->max, hi_);                                                                                          \
        facts->has_bounds = true;                                                                                      \
    } while (0)

#define FIELD_LOOP(T, field, less)                                                                                     \
    do {                                                                                                               \
        FACTS_LOOP(T, GET_##field, SET_##field, less, 0);                                                              \
    } while (0)

#define GET_b(x)       (x).b
#define SET_b(x, v)    (x).b = (v) != 0
#define GET_i16(x)     (x).i16
#define SET_i16(x, v)  (x).i16 = (v)
#define GET_i32(x)     (x).i32
#define SET_i32(x, v)  (x).i32 = (v)
#define GET_i64(x)     (x).i64
#define SET_i64(x, v)  (x).i64 = (v)
#define GET_i128(x)    (x).i128
#define SET_i128(x, v) (x).i128 = (v)
#define GET_f32(x)     (x).f32
#define SET_f32(x, v)  (x).f32 = (v)
#define GET_f64(x)     (x).f64
#define SET_f64(x, v)  (x).f64 = (v)
#define GET_code(x)    (uint32_t)(x).i64
#define SET_code(x, v) (x).i64 = (v)

static void add_nums(ColData *col, const Num *v, const uint8_t *valid, uint32_t n)
{
    SegColumn *facts = &col->pub;
    for (uint32_t i = 0; i < n && !col->mixed; i++) {
        if (!valid[i]) continue;
        bool first = !facts->has_bounds;
        if (v[i].kind != NUM_FINITE || (!first && v[i].scale != facts->min.num.scale)) {
            col->mixed = true;
            break;
        }
        facts->ascending &= first || v[i].value > facts->max.num.value;
        if (first || v[i].value < facts->min.num.value) facts->min.num = v[i];
        if (first || v[i].value > facts->max.num.value) facts->max.num = v[i];
        facts->has_bounds = true;
    }
    if (col->mixed) facts->has_bounds = facts->ascending = false;
}

void facts_init(ColData *col, Type type)
{
    memset(&col->pub, 0, sizeof col->pub);
    col->mixed = false;
    col->pub.codec = CODEC_RAW;
    col->pub.ascending = true;
    col->pub.word_width = (uint8_t)stored_width(type_phys(type));
    col->pub.min.type = col->pub.max.type = type_phys(type) == PHYS_STR ? TYPE(TYPE_INT8) : type;
}

HOT void facts_add(ColData *col, Type type, const uint8_t *data, const uint8_t *valid, uint32_t from, uint32_t n)
{
    SegColumn *facts = &col->pub;
    assert(facts->rows == from);
    if (n == 0) return;
    valid += from;
    uint32_t set = 0;
    for (uint32_t i = 0; i < n; i++) set += valid[i];
    uint32_t nulls = n - set;
    facts->rows += n;
    facts->nulls += nulls;
    if (nulls > 0) facts->ascending = false;
    if (set == 0) return;
    switch (type_phys(type)) {
    case PHYS_BOOL: FIELD_LOOP(uint8_t, b, LESS_INT); return;
    case PHYS_I16: FIELD_LOOP(int16_t, i16, LESS_INT); return;
    case PHYS_I32: FIELD_LOOP(int32_t, i32, LESS_INT); return;
    case PHYS_I64: FIELD_LOOP(int64_t, i64, LESS_INT); return;
    case PHYS_I128: FIELD_LOOP(int128, i128, LESS_INT); return;
    case PHYS_F32: FIELD_LOOP(float, f32, LESS_FLOAT); return;
    case PHYS_F64: FIELD_LOOP(double, f64, LESS_FLOAT); return;
    case PHYS_STR: FIELD_LOOP(uint32_t, code, LESS_INT); return;
    default: add_nums(col, (const Num *)data + from, valid, n); return;
    }
}

#define ORDER(field, less) return less(a->field, b->field) ? -1 : less(b->field, a->field) ? 1 : 0

int value_order(const Value *a, const Value *b)
{
    switch (type_phys(a->type)) {
    case PHYS_BOOL: ORDER(b, LESS_INT);
    case PHYS_I16: ORDER(i16, LESS_INT);
    case PHYS_I32: ORDER(i32, LESS_INT);
    case PHYS_I64: ORDER(i64, LESS_INT);
    case PHYS_I128: ORDER(i128, LESS_INT);
    case PHYS_F32: ORDER(f32, LESS_FLOAT);
    case PHYS_F64: ORDER(f64, LESS_FLOAT);
    default: assert(type_phys(a->type) == PHYS_NUM); ORDER(num.value, LESS_INT);
    }
}
