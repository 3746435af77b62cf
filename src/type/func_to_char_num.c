/*
 * func_to_char_num.c: to_char of numbers, and to_number.
 *
 * A template is digits (9, 0), a point (. or D), separators (, or G), a sign (S, MI, PL, SG, PR) and literal
 * text. The digits and the point are slots. The number, rounded to the digits behind the point, is aligned
 * to the right of the slots before it:
 *
 *   to_char(-12.5, 'S9,999.00')   slots 9 9 9 9 . 0 0   text _ _ 1 2 . 5 0   ->  '  -12.50'
 *
 * Empty slots are blanks (nothing under FM), zeros from the first 0 on. The sign floats to the first slot that
 * shows something. A number too large for its slots shows # in each.
 */
#include "type/type_int.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum NodeKind {
    NODE_LITERAL,
    NODE_NINE,
    NODE_ZERO,
    NODE_POINT,
    NODE_GROUP,
    NODE_CURRENCY,
    NODE_SIGN,  /* S */
    NODE_MINUS, /* MI */
    NODE_PLUS,  /* PL */
    NODE_BOTH,  /* SG */
    NODE_BRACKET,
    NODE_BLANK,
    NODE_MULTIPLY, /* V */
    NODE_ROMAN,
    NODE_EXPONENT,
    NODE_FILL,
    NODE_ORDINAL
} NodeKind;

typedef struct Node {
    NodeKind kind;
    char c; /* literal; case of TH and RN */
} Node;

typedef enum SignPlace { SIGN_FLOATS, SIGN_BEFORE, SIGN_AFTER } SignPlace;

typedef struct NumFormat {
    Node *nodes;
    uint32_t n;
    int before, behind, multiply; /* digit slots before and behind the point; behind V */
    int zero_from, zero_to;       /* slots that show zeros: from zero_from (-1: none); to: count */
    bool fill, point, v, roman, exponent, sign, minus, plus, bracket;
    int sign_at; /* slots before S */
} NumFormat;

typedef struct Word {
    const char *text;
    NodeKind kind;
} Word;

static const Word words[] = {
    {"EEEE", NODE_EXPONENT}, {"FM", NODE_FILL}, {"MI", NODE_MINUS}, {"PL", NODE_PLUS},    {"PR", NODE_BRACKET},
    {"RN", NODE_ROMAN},      {"SG", NODE_BOTH}, {"SP", NODE_BLANK}, {"TH", NODE_ORDINAL}, {"9", NODE_NINE},
    {"0", NODE_ZERO},        {".", NODE_POINT}, {"D", NODE_POINT},  {",", NODE_GROUP},    {"G", NODE_GROUP},
    {"L", NODE_CURRENCY},    {"S", NODE_SIGN},  {"B", NODE_BLANK},  {"V", NODE_MULTIPLY}, {"C", NODE_BLANK},
};

static const Word *find_word(Str s)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].text), k = 0;
        if (s.len < n) continue;
        while (k < n && toupper((unsigned char)s.ptr[k]) == words[i].text[k]) k++;
        if (k == n) return &words[i];
    }
    return NULL;
}

static tcudb_status conflict(const char *message, Error *err)
{
    return error_set(err, SQLSTATE_SYNTAX_ERROR, "%s", message);
}

/* Counts what the node means for the layout. */
static tcudb_status add_node(NumFormat *f, Node node, Error *err)
{
    bool other_sign = f->minus || f->plus || f->bracket;
    if (f->exponent && node.kind != NODE_LITERAL && node.kind != NODE_EXPONENT)
        return conflict("\"EEEE\" must be the last pattern used", err);
    switch (node.kind) {
    case NODE_NINE:
    case NODE_ZERO:
        if (f->bracket)
            return conflict(node.kind == NODE_NINE ? "\"9\" must be ahead of \"PR\"" : "\"0\" must be ahead of \"PR\"",
                            err);
        if (node.kind == NODE_NINE && f->v) {
            f->multiply++;
            break;
        }
        if (node.kind == NODE_ZERO && f->zero_from < 0 && !f->point) f->zero_from = f->before;
        if (f->point)
            f->behind++;
        else
            f->before++;
        if (node.kind == NODE_ZERO) f->zero_to = f->before + f->behind;
        break;
    case NODE_POINT:
        if (f->point) return conflict("multiple decimal points", err);
        if (f->v) return conflict("cannot use \"V\" and decimal point together", err);
        f->point = true;
        break;
    case NODE_SIGN:
        if (f->sign) return conflict("cannot use \"S\" twice", err);
        if (other_sign) return conflict("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together", err);
        f->sign = true;
        f->sign_at = f->point ? INT32_MAX : f->before;
        break;
    case NODE_MINUS:
        if (f->sign) return conflict("cannot use \"S\" and \"MI\" together", err);
        f->minus = true;
        break;
    case NODE_PLUS:
        if (f->sign) return conflict("cannot use \"S\" and \"PL\" together", err);
        f->plus = true;
        break;
    case NODE_BOTH:
        if (f->sign) return conflict("cannot use \"S\" and \"SG\" together", err);
        f->minus = f->plus = true;
        break;
    case NODE_BRACKET:
        if (f->sign || f->plus || f->minus)
            return conflict("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together", err);
        f->bracket = true;
        break;
    case NODE_MULTIPLY:
        if (f->point) return conflict("cannot use \"V\" and decimal point together", err);
        f->v = true;
        break;
    case NODE_EXPONENT:
        if (f->fill || other_sign || f->sign || f->roman || f->v) {
            tcudb_status status = conflict("\"EEEE\" is incompatible with other formats", err);
            error_detail(err, "\"EEEE\" may only be used together with digit and decimal point patterns.");
            return status;
        }
        f->exponent = true;
        break;
    case NODE_FILL: f->fill = true; break;
    case NODE_ROMAN: f->roman = true; break;
    default: break;
    }
    f->nodes[f->n++] = node;
    return TCUDB_OK;
}

static tcudb_status compile(Arena *arena, Str s, NumFormat *f, Error *err)
{
    *f = (NumFormat){.nodes = ARENA_ARRAY(arena, Node, s.len + 1, err), .zero_from = -1};
    TRY_PTR(f->nodes);
    for (uint32_t i = 0; i < s.len;) {
        if (s.ptr[i] == '"') {
            for (i++; i < s.len && s.ptr[i] != '"'; i++) {
                if (s.ptr[i] == '\\' && i + 1 < s.len) i++;
                TRY(add_node(f, (Node){NODE_LITERAL, s.ptr[i]}, err));
            }
            i++;
            continue;
        }
        if (s.ptr[i] == '\\' && i + 1 < s.len && s.ptr[i + 1] == '"') i++;
        const Word *w = find_word((Str){s.ptr + i, s.len - i});
        TRY(add_node(f, (Node){w == NULL ? NODE_LITERAL : w->kind, s.ptr[i]}, err));
        i += w == NULL ? 1 : (uint32_t)strlen(w->text);
    }
    return TCUDB_OK;
}

/* ---- layout ------------------------------------------------------------------------------------ */

typedef struct Layout {
    const NumFormat *f;
    char digits[NUM_TEXT_MAX + 64]; /* the number's size: "12.50" */
    int len;
    char sign; /* '+' or '-' */
    int pad;   /* empty slots in front */
    int slot;
    int behind;            /* digits behind the point that the number has */
    int last;              /* FM: the last index of digits that matters; -1: all do */
    bool sign_done, shown; /* shown: a digit has been put out */
    SignPlace place;
} Layout;

static void prepare(Layout *l)
{
    const NumFormat *f = l->f;
    int integer = (int)strcspn(l->digits, ".");
    l->len = (int)strlen(l->digits);
    if (integer > f->before + f->multiply) { /* does not fit */
        int n = f->before + f->multiply;
        memset(l->digits, '#', (size_t)n);
        l->digits[n++] = '.';
        memset(l->digits + n, '#', (size_t)l->behind);
        n += l->behind;
        l->digits[n] = '\0';
        l->len = n;
        integer = f->before + f->multiply;
    }
    l->pad = f->before + f->multiply - integer;
    l->last = -1;
    if (f->fill && f->point && strchr(l->digits, '.') != NULL) {
        l->last = l->len - 1;
        while (l->digits[l->last] == '0') l->last--;
        int zeros = f->zero_to - l->pad;
        if (zeros > l->len - 1) zeros = l->len - 1;
        if (l->last < zeros && f->zero_to > l->pad) l->last = zeros;
    }
    l->place = SIGN_FLOATS;
    if (f->sign) l->place = f->sign_at >= f->before ? SIGN_AFTER : SIGN_BEFORE;
    if (f->plus || f->minus)
        l->sign_done = !(f->plus && !f->minus);
    else
        l->sign_done = l->sign == '+' && f->fill && !f->sign;
    if (f->plus && !f->minus) l->sign_done = false;
}

/* "0.1" in 9.9 shows no zero: a blank, or nothing under FM. */
static bool hides_zero(const Layout *l)
{
    return l->f->zero_from < 0 && l->slot == l->pad && l->digits[0] == '0' && l->f->behind > 0;
}

static tcudb_status put_sign(Layout *l, Buf *buf, Error *err)
{
    bool filled = l->slot >= l->pad || (l->f->zero_from >= 0 && l->slot >= l->f->zero_from);
    bool keeps_zero = l->last >= 0 && l->digits[l->last] == '.';
    if (l->sign_done || !filled || (hides_zero(l) && !keeps_zero)) return TCUDB_OK;
    if (l->place == SIGN_AFTER) return TCUDB_OK;
    l->sign_done = true;
    if (l->place == SIGN_BEFORE) return buf_char(buf, l->sign, err);
    if (l->f->bracket)
        return l->sign == '+' ? (l->f->fill ? TCUDB_OK : buf_char(buf, ' ', err)) : buf_char(buf, '<', err);
    if (l->sign == '-') return buf_char(buf, '-', err);
    return l->f->fill ? TCUDB_OK : buf_char(buf, ' ', err);
}

static tcudb_status put_slot(Layout *l, NodeKind kind, Buf *buf, Error *err)
{
    const NumFormat *f = l->f;
    l->shown = false;
    TRY(put_sign(l, buf, err));
    if (l->slot < l->pad) {
        bool zero = f->zero_from >= 0 && l->slot >= f->zero_from;
        if (zero) TRY(buf_char(buf, '0', err));
        if (!zero && !f->fill) TRY(buf_char(buf, ' ', err));
        l->shown = zero;
    } else if (l->slot - l->pad < l->len) {
        int at = l->slot - l->pad;
        char c = l->digits[at];
        bool beyond = l->last >= 0 && at > l->last && kind != NODE_ZERO;
        if (c == '.') {
            TRY(buf_char(buf, c, err));
        } else if (!beyond && hides_zero(l)) {
            if (!f->fill)
                TRY(buf_char(buf, ' ', err));
            else if (l->last >= 0 && l->digits[l->last] == '.')
                TRY(buf_char(buf, '0', err));
        } else if (!beyond) {
            TRY(buf_char(buf, c, err));
            l->shown = true;
        }
    }
    l->slot++;
    return TCUDB_OK;
}

/* Behind the last slot: a closing bracket or the sign of 999S. */
static tcudb_status put_end(const Layout *l, Buf *buf, Error *err)
{
    if (l->f->bracket) {
        if (l->sign == '-') return buf_char(buf, '>', err);
        return l->f->fill ? TCUDB_OK : buf_char(buf, ' ', err);
    }
    return l->place == SIGN_AFTER ? buf_char(buf, l->sign, err) : TCUDB_OK;
}

static tcudb_status put_ordinal(const Layout *l, char c, Buf *buf, Error *err)
{
    static const char *const upper[] = {"TH", "ST", "ND", "RD"};
    static const char *const lower[] = {"th", "st", "nd", "rd"};
    if (l->digits[0] == '#' || l->sign == '-' || l->f->point) return TCUDB_OK;
    if (l->digits[l->len - 1] < '0' || l->digits[l->len - 1] > '9')
        return error_set(err, SQLSTATE_INVALID_TEXT_REPRESENTATION, "\"%s\" is not a number", l->digits);
    int last = l->digits[l->len - 1] - '0', tens = l->len > 1 ? l->digits[l->len - 2] - '0' : 0;
    int k = tens == 1 || last > 3 ? 0 : last;
    return buf_text(buf, (c == 'T' ? upper : lower)[k], err);
}

static tcudb_status put_other(Layout *l, Node node, Buf *buf, Error *err)
{
    bool fill = l->f->fill;
    switch (node.kind) {
    case NODE_LITERAL: return buf_char(buf, node.c, err);
    case NODE_GROUP:
        if (l->shown) return buf_char(buf, ',', err);
        return fill ? TCUDB_OK : buf_char(buf, ' ', err);
    case NODE_CURRENCY: return buf_char(buf, ' ', err);
    case NODE_MINUS:
        if (l->sign == '-') return buf_char(buf, '-', err);
        return fill ? TCUDB_OK : buf_char(buf, ' ', err);
    case NODE_PLUS:
        if (l->sign == '+') return buf_char(buf, '+', err);
        return fill ? TCUDB_OK : buf_char(buf, ' ', err);
    case NODE_BOTH: return buf_char(buf, l->sign, err);
    case NODE_ORDINAL: return put_ordinal(l, node.c, buf, err);
    default: return TCUDB_OK;
    }
}

static tcudb_status put_number(Layout *l, Buf *buf, Error *err)
{
    const NumFormat *f = l->f;
    prepare(l);
    int slots = f->before + f->behind + f->multiply + (f->point ? 1 : 0);
    for (uint32_t i = 0; i < f->n; i++) {
        Node node = f->nodes[i];
        if (node.kind == NODE_NINE || node.kind == NODE_ZERO || node.kind == NODE_POINT) {
            TRY(put_slot(l, node.kind, buf, err));
            if (l->slot == slots) TRY(put_end(l, buf, err));
        } else {
            TRY(put_other(l, node, buf, err));
        }
    }
    return TCUDB_OK;
}

/* ---- roman numerals and scientific notation -------------------------------------------------------- */

static tcudb_status put_roman(const NumFormat *f, int64_t v, bool lower, Buf *buf, Error *err)
{
    static const struct {
        int value;
        const char *text;
    } steps[] = {{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"},
                 {40, "XL"},  {10, "X"},   {9, "IX"},  {5, "V"},    {4, "IV"},  {1, "I"}};
    char text[32] = "###############";
    if (v >= 1 && v <= 3999) {
        size_t len = 0;
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
            for (; v >= steps[k].value; v -= steps[k].value) {
                size_t part = strlen(steps[k].text); /* 3888, the longest, has 15 letters */
                memcpy(text + len, steps[k].text, part);
                len += part;
            }
        text[len] = '\0';
    }
    for (char *p = text; lower && *p != '\0'; p++) *p = (char)tolower((unsigned char)*p);
    return buf_printf(buf, err, f->fill ? "%s" : "%15s", text);
}

/* Digits and signs of the template show nothing. */
static tcudb_status put_roman_nodes(Layout *l, int64_t v, Buf *buf, Error *err)
{
    l->sign = ' ';
    for (uint32_t i = 0; i < l->f->n; i++) {
        Node node = l->f->nodes[i];
        if (node.kind == NODE_ROMAN)
            TRY(put_roman(l->f, v, node.c == 'r', buf, err));
        else if (node.kind != NODE_NINE && node.kind != NODE_ZERO && node.kind != NODE_POINT &&
                 node.kind != NODE_ORDINAL)
            TRY(put_other(l, node, buf, err));
    }
    return TCUDB_OK;
}

/* d.ddde+xx with `behind` digits, from a decimal's exact digits. The exponent is taken before rounding, as
 * PostgreSQL 15 does: 9999.999 is 10.00e+03. */
static tcudb_status put_scientific(const NumFormat *f, Num v, Buf *buf, Error *err)
{
    if (v.kind != NUM_FINITE) {
        for (int i = 0; i < f->before + f->behind + 6; i++)
            TRY(buf_char(buf, i == 0 ? ' ' : i == f->before + 1 ? '.' : '#', err));
        return TCUDB_OK;
    }
    int exponent = v.value == 0 ? 0 : num_digits(v.value) - 1 - v.scale;
    Num shifted = {.value = v.value, .scale = v.scale + exponent}, rounded;
    if (shifted.scale < 0) {
        if (!num_rescale(v.value, shifted.scale, 0, &shifted.value)) return num_overflow(err);
        shifted.scale = 0;
    }
    TRY(num_round(shifted, f->behind, &rounded, err));
    char text[NUM_TEXT_MAX];
    num_print(rounded, text);
    return buf_printf(buf, err, "%s%se%c%02d", v.value < 0 ? "" : " ", text, exponent < 0 ? '-' : '+', abs(exponent));
}

/* ---- the kernels ------------------------------------------------------------------------------------- */

/* Fills in the number's size as text with the digits behind the point that the template has. */
static tcudb_status lay_num(Layout *l, Num v, Error *err)
{
    char text[NUM_TEXT_MAX];
    Num rounded = v;
    if (v.kind == NUM_FINITE) {
        if (l->f->multiply > 0)
            TRY(num_mul(v, (Num){.value = num_pow10(l->f->multiply > 38 ? 38 : l->f->multiply)}, &rounded, err));
        TRY(num_round(rounded, l->f->behind, &rounded, err));
    }
    l->behind = l->f->behind;
    num_print(rounded, text);
    l->sign = text[0] == '-' ? '-' : '+';
    snprintf(l->digits, sizeof l->digits, "%s", text + (text[0] == '-'));
    return TCUDB_OK;
}

/* At most 15 digits are meaningful. */
static void lay_float(Layout *l, double v, int most)
{
    char whole[512], text[512];
    if (l->f->multiply > 0) v *= pow(10, l->f->multiply);
    snprintf(whole, sizeof whole, "%.0f", fabs(v));
    int before = isinf(v) ? (int)strlen("Infinity") : (int)strlen(whole), behind = l->f->behind;
    if (before >= most)
        behind = 0;
    else if (before + behind > most)
        behind = most - before;
    l->behind = behind;
    snprintf(text, sizeof text, "%.*f", behind, v);
    if (isnan(v) || isinf(v)) snprintf(text, sizeof text, isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity");
    l->sign = text[0] == '-' ? '-' : '+';
    size_t len = strlen(text + (text[0] == '-'));
    if (len >= sizeof l->digits) len = sizeof l->digits - 2;
    memcpy(l->digits, text + (text[0] == '-'), len);
    l->digits[len] = '\0';
}

static tcudb_status number_of(const Value *v, Num *out, Error *err)
{
    switch ((TypeId)v->type.id) {
    case TYPE_INT4: *out = NUM_INT(v->i32); return TCUDB_OK;
    case TYPE_INT8: *out = NUM_INT(v->i64); return TCUDB_OK;
    case TYPE_NUMERIC: *out = value_num(v); return TCUDB_OK;
    default: return error_set(err, SQLSTATE_INTERNAL_ERROR, "to_char of type %s", type_base_name(v->type));
    }
}

static double float_of(const Value *v)
{
    return v->type.id == TYPE_FLOAT4 ? (double)v->f32 : v->f64;
}

static tcudb_status float_scientific(const NumFormat *f, double v, Buf *buf, Error *err)
{
    if (v - v != 0) return put_scientific(f, (Num){.kind = NUM_NAN}, buf, err);
    return buf_printf(buf, err, "%s%.*e", v < 0 ? "" : " ", f->behind, v);
}

static tcudb_status print_value(const NumFormat *f, const Value *v, Buf *buf, Error *err)
{
    Layout l = {.f = f};
    bool is_float = v->type.id == TYPE_FLOAT4 || v->type.id == TYPE_FLOAT8;
    Num num = NUM_INT(0);
    if (!is_float) TRY(number_of(v, &num, err));
    if (f->exponent && is_float) return float_scientific(f, float_of(v), buf, err);
    if (f->exponent) return put_scientific(f, num, buf, err);
    if (f->roman) {
        int64_t whole;
        if (is_float) TRY(num_from_float8(rint(float_of(v)), &num, err));
        TRY(num_to_int8(num, "integer", INT32_MIN, INT32_MAX, &whole, err));
        return put_roman_nodes(&l, whole, buf, err);
    }
    if (is_float)
        lay_float(&l, float_of(v), v->type.id == TYPE_FLOAT4 ? 6 : 15);
    else
        TRY(lay_num(&l, num, err));
    return put_number(&l, buf, err);
}

KERNEL(number_to_char)
{
    const Str *templates = args[1].data;
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    NumFormat format = {0};
    Buf buf;
    buf_init(&buf, NULL);
    EACH_ROW(i, row)
    {
        Value v = vec_value(&args[0], row);
        Str text = templates[row * STRIDE(args[1])];
        if (i == 0 || args[1].form != VEC_CONST) TRY_GOTO(compile(ctx->arena, text, &format, err));
        buf.len = 0;
        if (text.len > 0) TRY_GOTO(print_value(&format, &v, &buf, err));
        TRY_GOTO(text_keep(ctx, &buf, &to[row], err));
    }
done:
    buf_free(&buf);
    return status;
}

/* ---- to_number --------------------------------------------------------------------------------------- */

/* Reads along the template as PostgreSQL 15 does. Digits and points are taken where the template has either: what the
 * template says there only bounds how many. A sign is taken before the first digit, and behind the last one as far
 * as the template has one; other characters are stepped over, one for one of the template. */
typedef struct Reader {
    const NumFormat *f;
    Str s;
    uint32_t at;
    char text[256]; /* the sign's place, digits, a point */
    uint32_t n;
    int digits, behind; /* taken */
    bool point;
} Reader;

static bool at_end(const Reader *r)
{
    return r->at >= r->s.len;
}

static char here(const Reader *r)
{
    return r->s.ptr[r->at];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void step_char(Reader *r)
{
    do r->at++;
    while (!at_end(r) && ((unsigned char)here(r) & 0xc0) == 0x80);
}

static void step_over(Reader *r, int chars)
{
    for (; chars > 0 && !at_end(r) && strchr("0123456789.,+-", here(r)) == NULL; chars--) step_char(r);
}

static void take_sign_before(Reader *r)
{
    char c = here(r);
    bool negative = c == '-' || (r->f->bracket && c == '<');
    if (!negative && c != '+') return;
    r->text[0] = negative ? '-' : '+';
    r->at++;
}

/* Behind what was just taken (S), or where nothing was (MI, PL, SG). */
static void take_sign_behind(Reader *r, bool taken)
{
    if (r->f->sign && taken) {
        if (r->at + 1 >= r->s.len) return;
        char c = r->s.ptr[r->at + 1];
        if (c != '-' && c != '+') return;
        r->text[0] = c;
        r->at++;
    } else if (!taken && (r->f->plus || r->f->minus) && (here(r) == '-' || here(r) == '+')) {
        r->text[0] = here(r);
    }
}

/* Leaves r->at on the last character taken: the caller steps on. */
static tcudb_status take_digit(Reader *r, NodeKind kind, Error *err)
{
    bool taken = false;
    if (here(r) == ' ') r->at++;
    if (at_end(r)) return TCUDB_OK;
    if (r->text[0] == ' ' && kind != NODE_POINT && r->digits == 0) take_sign_before(r);
    if (at_end(r)) return TCUDB_OK;
    if (is_digit(here(r))) {
        if (r->point && r->behind == r->f->behind) return TCUDB_OK;
        r->digits++;
        if (r->point) r->behind++;
        taken = true;
    } else if (r->f->point && !r->point && here(r) == '.') {
        r->point = taken = true;
    }
    if (taken) {
        if (r->n == sizeof r->text) return num_overflow(err);
        r->text[r->n++] = here(r);
    }
    if (r->text[0] == ' ' && r->digits > 0) take_sign_behind(r, taken);
    return TCUDB_OK;
}

static tcudb_status read_node(Reader *r, const Node *node, Error *err)
{
    char c = here(r);
    switch (node->kind) {
    case NODE_NINE:
    case NODE_ZERO:
    case NODE_POINT: TRY(take_digit(r, node->kind, err)); break;
    case NODE_GROUP:
        if (r->f->fill || c != ',') return TCUDB_OK;
        break;
    case NODE_MINUS:
    case NODE_PLUS:
    case NODE_BOTH:
        if (!(c == '-' && node->kind != NODE_PLUS) && !(c == '+' && node->kind != NODE_MINUS)) {
            step_over(r, 1);
            return TCUDB_OK;
        }
        r->text[0] = c;
        break;
    case NODE_CURRENCY: step_over(r, 1); return TCUDB_OK;
    case NODE_ORDINAL:
        if (!r->f->point) step_over(r, 2);
        return TCUDB_OK;
    case NODE_LITERAL: step_char(r); return TCUDB_OK;
    default: return TCUDB_OK;
    }
    r->at++;
    return TCUDB_OK;
}

/* Digits before the point, taken where the template has the point only. */
static tcudb_status no_slots(const NumFormat *f, const Reader *r, Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow");
    error_detail(err, "A field with precision %d, scale %d must round to an absolute value less than 1.",
                 f->before + f->multiply + r->behind, r->behind);
    return status;
}

static tcudb_status read_number(const NumFormat *f, Str s, Num *out, Error *err)
{
    Reader r = {.f = f, .s = s, .text = " ", .n = 1};
    for (uint32_t i = 0; i < f->n && !at_end(&r); i++) TRY(read_node(&r, &f->nodes[i], err));
    if (r.text[r.n - 1] == '.') r.n--;
    if (r.digits == 0)
        return error_set(err, SQLSTATE_INVALID_TEXT_REPRESENTATION, "invalid input syntax for type numeric: \"%.*s\"",
                         (int)r.n, r.text);
    TRY(num_parse((Str){r.text, r.n}, out, err));
    if (out->value != 0 && num_digits(out->value) - out->scale > f->before + f->multiply) return no_slots(f, &r, err);
    if (!f->v) return TCUDB_OK;
    Num shift;
    TRY(num_power(NUM_INT(10), NUM_INT(-f->multiply), &shift, err));
    return num_mul(*out, shift, out, err);
}

KERNEL(text_to_number)
{
    const Str *templates = args[1].data, *texts = args[0].data;
    Num *to = out->data;
    NumFormat format = {0};
    EACH_ROW(i, row)
    {
        Str text = templates[row * STRIDE(args[1])];
        if (i == 0 || args[1].form != VEC_CONST) TRY(compile(ctx->arena, text, &format, err));
        if (format.exponent || format.roman) return error_unsupported(err, 0, "to_number with \"EEEE\" or \"RN\"");
        if (text.len == 0) {
            TRY(vec_need_valid(ctx->arena, out, live_rows(sel, n), err));
            bit_clear(out->valid, row);
            continue;
        }
        TRY(read_number(&format, texts[row * STRIDE(args[0])], &to[row], err));
    }
    return TCUDB_OK;
}
