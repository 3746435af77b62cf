/*
 * gen_ssb.c: the Star Schema Benchmark's five tables (O'Neil, O'Neil and Chen, "The Star Schema Benchmark and
 * Augmented Fact Table Indexing", 2009), with TPC-H's value lists and rules where that paper refers to them.
 *
 * Sizes at scale s: lineorder 1,500,000 s orders of 1 to 7 lines, customer 30,000 s, supplier 2,000 s, part
 * 200,000 (1 + floor(log2 s)) from scale 1 on and 200,000 s below, date 2,557 days. As in the public dbgen:
 * order keys use 8 of every 32 numbers, a third of the customers has no orders, order dates are uniform from
 * 1992-01-01 to 1998-08-02 and commit dates 30 to 90 days later, prices follow from the part's key, brands
 * are MFGR#mcb with b from 1 to 40, cities are the nation's first nine characters and a digit. Other than in
 * dbgen, days of the week are those of the calendar. Ranges, distributions and so the queries' selectivities
 * agree with dbgen; the bytes do not, since random values come from hashing.
 */
#include "files/gen.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#define TEXT(s)                                                                                                        \
    {                                                                                                                  \
        (s), sizeof(s) - 1                                                                                             \
    }
#define COUNT(a)   ((uint32_t)(sizeof(a) / sizeof((a)[0])))
#define INT4       ((Type){.id = TYPE_INT4})
#define VARCHAR(n) ((Type){.id = TYPE_VARCHAR, .length = (n)})

enum { DAYS = 2557, ORDER_DAYS = 2406, MAX_SCALE = 300 };

/* One number per independent random choice. */
enum {
    SALT_LINES,
    SALT_CUSTKEY,
    SALT_ORDERDATE,
    SALT_PRIORITY,
    SALT_PARTKEY,
    SALT_SUPPKEY,
    SALT_QUANTITY,
    SALT_DISCOUNT,
    SALT_TAX,
    SALT_COMMIT,
    SALT_SHIPMODE,
    SALT_CUSTOMER = 100,
    SALT_SUPPLIER = 200,
    SALT_PART = 300
};

static const Str priorities[] = {TEXT("1-URGENT"), TEXT("2-HIGH"), TEXT("3-MEDIUM"), TEXT("4-NOT SPECIFIED"),
                                 TEXT("5-LOW")};
static const Str ship_modes[] = {TEXT("REG AIR"), TEXT("AIR"),  TEXT("RAIL"), TEXT("SHIP"),
                                 TEXT("TRUCK"),   TEXT("MAIL"), TEXT("FOB")};
static const Str zero[] = {TEXT("0")};
static const Str flags[] = {TEXT("0"), TEXT("1")};
static const Str segments[] = {TEXT("AUTOMOBILE"), TEXT("BUILDING"), TEXT("FURNITURE"), TEXT("MACHINERY"),
                               TEXT("HOUSEHOLD")};
static const Str regions[] = {TEXT("AFRICA"), TEXT("AMERICA"), TEXT("ASIA"), TEXT("EUROPE"), TEXT("MIDDLE EAST")};
static const Str nations[] = {
    TEXT("ALGERIA"),      TEXT("ARGENTINA"),  TEXT("BRAZIL"),  TEXT("CANADA"),         TEXT("EGYPT"),
    TEXT("ETHIOPIA"),     TEXT("FRANCE"),     TEXT("GERMANY"), TEXT("INDIA"),          TEXT("INDONESIA"),
    TEXT("IRAN"),         TEXT("IRAQ"),       TEXT("JAPAN"),   TEXT("JORDAN"),         TEXT("KENYA"),
    TEXT("MOROCCO"),      TEXT("MOZAMBIQUE"), TEXT("PERU"),    TEXT("CHINA"),          TEXT("ROMANIA"),
    TEXT("SAUDI ARABIA"), TEXT("VIETNAM"),    TEXT("RUSSIA"),  TEXT("UNITED KINGDOM"), TEXT("UNITED STATES")};
static const uint8_t nation_region[] = {0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1};
static const Str type_words[3][6] = {
    {TEXT("STANDARD"), TEXT("SMALL"), TEXT("MEDIUM"), TEXT("LARGE"), TEXT("ECONOMY"), TEXT("PROMO")},
    {TEXT("ANODIZED"), TEXT("BURNISHED"), TEXT("PLATED"), TEXT("POLISHED"), TEXT("BRUSHED")},
    {TEXT("TIN"), TEXT("NICKEL"), TEXT("BRASS"), TEXT("STEEL"), TEXT("COPPER")}};
static const Str container_sizes[] = {TEXT("SM"), TEXT("LG"), TEXT("MED"), TEXT("JUMBO"), TEXT("WRAP")};
static const Str container_kinds[] = {TEXT("CASE"), TEXT("BOX"),  TEXT("BAG"), TEXT("JAR"),
                                      TEXT("PKG"),  TEXT("PACK"), TEXT("CAN"), TEXT("DRUM")};
static const Str colors[] = {
    TEXT("almond"),    TEXT("antique"),    TEXT("aquamarine"), TEXT("azure"),     TEXT("beige"),    TEXT("bisque"),
    TEXT("black"),     TEXT("blanched"),   TEXT("blue"),       TEXT("blush"),     TEXT("brown"),    TEXT("burlywood"),
    TEXT("burnished"), TEXT("chartreuse"), TEXT("chiffon"),    TEXT("chocolate"), TEXT("coral"),    TEXT("cornflower"),
    TEXT("cornsilk"),  TEXT("cream"),      TEXT("cyan"),       TEXT("dark"),      TEXT("deep"),     TEXT("dim"),
    TEXT("dodger"),    TEXT("drab"),       TEXT("firebrick"),  TEXT("floral"),    TEXT("forest"),   TEXT("frosted"),
    TEXT("gainsboro"), TEXT("ghost"),      TEXT("goldenrod"),  TEXT("green"),     TEXT("grey"),     TEXT("honeydew"),
    TEXT("hot"),       TEXT("indian"),     TEXT("ivory"),      TEXT("khaki"),     TEXT("lace"),     TEXT("lavender"),
    TEXT("lawn"),      TEXT("lemon"),      TEXT("light"),      TEXT("lime"),      TEXT("linen"),    TEXT("magenta"),
    TEXT("maroon"),    TEXT("medium"),     TEXT("metallic"),   TEXT("midnight"),  TEXT("mint"),     TEXT("misty"),
    TEXT("moccasin"),  TEXT("navajo"),     TEXT("navy"),       TEXT("olive"),     TEXT("orange"),   TEXT("orchid"),
    TEXT("pale"),      TEXT("papaya"),     TEXT("peach"),      TEXT("peru"),      TEXT("pink"),     TEXT("plum"),
    TEXT("powder"),    TEXT("puff"),       TEXT("purple"),     TEXT("red"),       TEXT("rose"),     TEXT("rosy"),
    TEXT("royal"),     TEXT("saddle"),     TEXT("salmon"),     TEXT("sandy"),     TEXT("seashell"), TEXT("sienna"),
    TEXT("sky"),       TEXT("slate"),      TEXT("smoke"),      TEXT("snow"),      TEXT("spring"),   TEXT("steel"),
    TEXT("tan"),       TEXT("thistle"),    TEXT("tomato"),     TEXT("turquoise"), TEXT("violet"),   TEXT("wheat"),
    TEXT("white"),     TEXT("yellow"),
};
static const Str months[] = {TEXT("January"),   TEXT("February"), TEXT("March"),    TEXT("April"),
                             TEXT("May"),       TEXT("June"),     TEXT("July"),     TEXT("August"),
                             TEXT("September"), TEXT("October"),  TEXT("November"), TEXT("December")};
static const Str weekdays[] = {TEXT("Sunday"),   TEXT("Monday"), TEXT("Tuesday"), TEXT("Wednesday"),
                               TEXT("Thursday"), TEXT("Friday"), TEXT("Saturday")};
static const Str seasons[] = {TEXT("Winter"), TEXT("Spring"), TEXT("Summer"), TEXT("Fall"), TEXT("Christmas")};
static const uint8_t month_season[] = {0, 0, 0, 1, 2, 2, 2, 2, 3, 3, 4, 4};

static uint64_t below(const Gen *gen, uint32_t salt, uint64_t number, uint64_t n)
{
    return gen_below(gen_hash(gen->seed, salt, number), n);
}

static uint64_t scaled(double scale, double size)
{
    double n = floor(scale * size + 0.5);
    return n < 1 ? 1 : (uint64_t)n;
}

static uint64_t part_count(double scale)
{
    return scale >= 1 ? 200000 * (uint64_t)(1 + floor(log2(scale))) : scaled(scale, 200000);
}

/* A column of texts picked from a list. */
#define FILL_DICT(list, index)                                                                                         \
    do {                                                                                                               \
        uint32_t *codes;                                                                                               \
        TRY(gen_dict(rows, out->type, (list), COUNT(list), out, &codes, err));                                         \
        for (uint32_t i = 0; i < rows->n; i++) codes[i] = (uint32_t)(index);                                           \
        return TCUDB_OK;                                                                                               \
    } while (0)

#define FILL_INT(value)                                                                                                \
    do {                                                                                                               \
        int32_t *ints = out->data;                                                                                     \
        for (uint32_t i = 0; i < rows->n; i++) ints[i] = (int32_t)(value);                                             \
        return TCUDB_OK;                                                                                               \
    } while (0)

/* A column of texts of up to `size` bytes, each written at `at` by an expression that gives its length. */
#define FILL_TEXT(size, length)                                                                                        \
    do {                                                                                                               \
        char *at;                                                                                                      \
        Str *texts = out->data;                                                                                        \
        TRY(gen_texts(rows, (size), &at, err));                                                                        \
        for (uint32_t i = 0; i < rows->n; i++, at += (size)) texts[i] = (Str){at, (length)};                           \
        return TCUDB_OK;                                                                                               \
    } while (0)

/* ---- days --------------------------------------------------------------------------------- */

typedef struct Day {
    uint32_t year, month, day; /* month, day from 1 */
    uint32_t of_year;          /* from 1 */
} Day;

static bool leap(uint32_t year)
{
    return year % 4 == 0; /* 1992 to 1998 */
}

static Day day_at(uint64_t number)
{
    static const uint16_t month_starts[13] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    assert(number < DAYS);
    uint32_t year = 1992, rest = (uint32_t)number;
    for (; rest >= 365U + leap(year); year++) rest -= 365U + leap(year);
    uint32_t month = rest / 32, extra = 0;
    for (;; month++) {
        extra = leap(year) && month >= 1; /* months after the current one begin a day later */
        if (rest < month_starts[month + 1] + extra) break;
    }
    uint32_t start = month_starts[month] + (leap(year) && month >= 2);
    return (Day){year, month + 1, rest - start + 1, rest + 1};
}

static int32_t day_key(uint64_t number)
{
    Day d = day_at(number);
    return (int32_t)(d.year * 10000 + d.month * 100 + d.day);
}

/* ---- lineorder ---------------------------------------------------------------------------- */

enum { LO_SCALE_CUSTOMERS, LO_SCALE_SUPPLIERS, LO_SCALE_PARTS }; /* Gen.params */

static uint64_t line_number(uint64_t unit, uint32_t line)
{
    return unit * 8 + line;
}

static uint32_t order_lines(const Gen *g, uint64_t unit)
{
    return 1 + (uint32_t)below(g, SALT_LINES, unit, 7);
}

static int64_t order_key(uint64_t unit)
{
    uint64_t n = unit + 1;
    return (int64_t)((n >> 3) << 5 | (n & 7));
}

static int64_t customer_of(const Gen *g, uint64_t unit)
{
    int64_t n = g->params[LO_SCALE_CUSTOMERS];
    int64_t key = 1 + (int64_t)below(g, SALT_CUSTKEY, unit, (uint64_t)n);
    if (key % 3 != 0) return key;
    return key < n ? key + 1 : key - 1;
}

static int64_t part_of(const Gen *g, uint64_t number)
{
    return 1 + (int64_t)below(g, SALT_PARTKEY, number, (uint64_t)g->params[LO_SCALE_PARTS]);
}

static int64_t price_of(int64_t part)
{
    return 90000 + part / 10 % 20001 + part % 1000 * 100;
}

static int64_t quantity_of(const Gen *g, uint64_t number)
{
    return 1 + (int64_t)below(g, SALT_QUANTITY, number, 50);
}

static int64_t discount_of(const Gen *g, uint64_t number)
{
    return (int64_t)below(g, SALT_DISCOUNT, number, 11);
}

static int64_t tax_of(const Gen *g, uint64_t number)
{
    return (int64_t)below(g, SALT_TAX, number, 9);
}

static int64_t extended_price(const Gen *g, uint64_t number)
{
    return quantity_of(g, number) * price_of(part_of(g, number));
}

static int64_t revenue_of(const Gen *g, uint64_t number)
{
    return extended_price(g, number) * (100 - discount_of(g, number)) / 100;
}

static int64_t total_price(const Gen *g, uint64_t unit)
{
    int64_t total = 0;
    for (uint32_t l = 0, n = order_lines(g, unit); l < n; l++) {
        uint64_t number = line_number(unit, l);
        total += revenue_of(g, number) * (100 + tax_of(g, number)) / 100;
    }
    return total;
}

static int32_t commit_date(const Gen *g, uint64_t unit, uint64_t number)
{
    return day_key(below(g, SALT_ORDERDATE, unit, ORDER_DAYS) + 30 + below(g, SALT_COMMIT, number, 61));
}

static const GenColumn lineorder_columns[] = {
    {"lo_orderkey", INT4},
    {"lo_linenumber", INT4},
    {"lo_custkey", INT4},
    {"lo_partkey", INT4},
    {"lo_suppkey", INT4},
    {"lo_orderdate", INT4},
    {"lo_orderpriority", VARCHAR(15)},
    {"lo_shippriority", VARCHAR(1)},
    {"lo_quantity", INT4},
    {"lo_extendedprice", INT4},
    {"lo_ordertotalprice", INT4},
    {"lo_discount", INT4},
    {"lo_revenue", INT4},
    {"lo_supplycost", INT4},
    {"lo_tax", INT4},
    {"lo_commitdate", INT4},
    {"lo_shipmode", VARCHAR(10)},
};

#define UNIT   rows->unit[i]
#define NUMBER line_number(rows->unit[i], rows->line[i])

static tcudb_status lineorder_fill(const GenRows *rows, uint32_t col, Vector *out, Error *err)
{
    const Gen *g = rows->gen;
    switch (col) {
    case 0: FILL_INT(order_key(UNIT));
    case 1: FILL_INT(rows->line[i] + 1);
    case 2: FILL_INT(customer_of(g, UNIT));
    case 3: FILL_INT(part_of(g, NUMBER));
    case 4: FILL_INT(1 + below(g, SALT_SUPPKEY, NUMBER, (uint64_t)g->params[LO_SCALE_SUPPLIERS]));
    case 5: FILL_INT(day_key(below(g, SALT_ORDERDATE, UNIT, ORDER_DAYS)));
    case 6: FILL_DICT(priorities, below(g, SALT_PRIORITY, UNIT, COUNT(priorities)));
    case 7: FILL_DICT(zero, 0);
    case 8: FILL_INT(quantity_of(g, NUMBER));
    case 9: FILL_INT(extended_price(g, NUMBER));
    case 10: FILL_INT(total_price(g, UNIT));
    case 11: FILL_INT(discount_of(g, NUMBER));
    case 12: FILL_INT(revenue_of(g, NUMBER));
    case 13: FILL_INT(6 * price_of(part_of(g, NUMBER)) / 10);
    case 14: FILL_INT(tax_of(g, NUMBER));
    case 15: FILL_INT(commit_date(g, UNIT, NUMBER));
    default: FILL_DICT(ship_modes, below(g, SALT_SHIPMODE, NUMBER, COUNT(ship_modes)));
    }
}

/* ---- customer and supplier ---------------------------------------------------------------- */

static uint32_t print_key(char *at, uint32_t size, const char *what, uint64_t key)
{
    return (uint32_t)snprintf(at, size, "%s#%09llu", what, (unsigned long long)key);
}

/* 6 to 24 characters of TPC-H's alphabet for addresses. */
static uint32_t random_address(const Gen *g, uint32_t salt, uint64_t unit, char *at)
{
    static const char alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    uint32_t n = 6 + (uint32_t)below(g, salt, unit, 19);
    for (uint32_t i = 0; i < n; i++) at[i] = alphabet[gen_hash(g->seed, salt + 1, unit * 32 + i) >> 58];
    return n;
}

static uint32_t nation_of(const Gen *g, uint32_t salt, uint64_t unit)
{
    return (uint32_t)below(g, salt + 2, unit, COUNT(nations));
}

static uint32_t print_city(const Gen *g, uint32_t salt, uint64_t unit, char *at)
{
    Str nation = nations[nation_of(g, salt, unit)];
    memset(at, ' ', 9);
    memcpy(at, nation.ptr, nation.len < 9 ? nation.len : 9);
    at[9] = (char)('0' + below(g, salt + 3, unit, 10));
    return 10;
}

static uint32_t print_phone(const Gen *g, uint32_t salt, uint64_t unit, char *at)
{
    uint32_t country = 10 + nation_of(g, salt, unit);
    uint32_t a = 100 + (uint32_t)below(g, salt + 4, unit, 900);
    uint32_t b = 100 + (uint32_t)below(g, salt + 5, unit, 900);
    uint32_t c = 1000 + (uint32_t)below(g, salt + 6, unit, 9000);
    return (uint32_t)snprintf(at, 16, "%u-%u-%u-%u", country % 100, a % 1000, b % 1000, c % 10000);
}

static const GenColumn customer_columns[] = {
    {"c_custkey", INT4},       {"c_name", VARCHAR(25)},   {"c_address", VARCHAR(25)}, {"c_city", VARCHAR(10)},
    {"c_nation", VARCHAR(15)}, {"c_region", VARCHAR(12)}, {"c_phone", VARCHAR(15)},   {"c_mktsegment", VARCHAR(10)},
};

static const GenColumn supplier_columns[] = {
    {"s_suppkey", INT4},       {"s_name", VARCHAR(25)},   {"s_address", VARCHAR(25)}, {"s_city", VARCHAR(10)},
    {"s_nation", VARCHAR(15)}, {"s_region", VARCHAR(12)}, {"s_phone", VARCHAR(15)},
};

static tcudb_status place_fill(const GenRows *rows, uint32_t col, uint32_t salt, const char *what, Vector *out,
                               Error *err)
{
    const Gen *g = rows->gen;
    switch (col) {
    case 0: FILL_INT(UNIT + 1);
    case 1: FILL_TEXT(25, print_key(at, 25, what, UNIT + 1));
    case 2: FILL_TEXT(25, random_address(g, salt, UNIT, at));
    case 3: FILL_TEXT(10, print_city(g, salt, UNIT, at));
    case 4: FILL_DICT(nations, nation_of(g, salt, UNIT));
    case 5: FILL_DICT(regions, nation_region[nation_of(g, salt, UNIT)]);
    case 6: FILL_TEXT(16, print_phone(g, salt, UNIT, at));
    default: FILL_DICT(segments, below(g, salt + 7, UNIT, COUNT(segments)));
    }
}

static tcudb_status customer_fill(const GenRows *rows, uint32_t col, Vector *out, Error *err)
{
    return place_fill(rows, col, SALT_CUSTOMER, "Customer", out, err);
}

static tcudb_status supplier_fill(const GenRows *rows, uint32_t col, Vector *out, Error *err)
{
    return place_fill(rows, col, SALT_SUPPLIER, "Supplier", out, err);
}

/* ---- part --------------------------------------------------------------------------------- */

static uint32_t put_words(char *at, const Str *words, uint32_t n)
{
    char *p = at;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) *p++ = ' ';
        memcpy(p, words[i].ptr, words[i].len);
        p += words[i].len;
    }
    return (uint32_t)(p - at);
}

/* Two different colours. */
static uint32_t part_name(const Gen *g, uint64_t unit, char *at)
{
    uint32_t a = (uint32_t)below(g, SALT_PART, unit, COUNT(colors));
    uint32_t b = (a + 1 + (uint32_t)below(g, SALT_PART + 1, unit, COUNT(colors) - 1)) % COUNT(colors);
    const Str words[] = {colors[a], colors[b]};
    return put_words(at, words, 2);
}

static uint32_t part_type(const Gen *g, uint64_t unit, char *at)
{
    const Str words[] = {type_words[0][below(g, SALT_PART + 2, unit, 6)],
                         type_words[1][below(g, SALT_PART + 3, unit, 5)],
                         type_words[2][below(g, SALT_PART + 4, unit, 5)]};
    return put_words(at, words, 3);
}

static uint32_t part_container(const Gen *g, uint64_t unit, char *at)
{
    const Str words[] = {container_sizes[below(g, SALT_PART + 5, unit, COUNT(container_sizes))],
                         container_kinds[below(g, SALT_PART + 6, unit, COUNT(container_kinds))]};
    return put_words(at, words, 2);
}

/* MFGR#m, MFGR#mc or MFGR#mcb: levels 1 to 3 of the hierarchy. */
static uint32_t part_brand(const Gen *g, uint64_t unit, int levels, char *at)
{
    uint32_t m = 1 + (uint32_t)below(g, SALT_PART + 7, unit, 5);
    uint32_t c = 1 + (uint32_t)below(g, SALT_PART + 8, unit, 5);
    uint32_t b = 1 + (uint32_t)below(g, SALT_PART + 9, unit, 40);
    char text[32];
    int n = levels == 1 ? 6 : levels == 2 ? 7 : snprintf(text, sizeof text, "MFGR#%u%u%u", m, c, b);
    snprintf(text, sizeof text, "MFGR#%u%u%u", m, c, b);
    memcpy(at, text, (size_t)n);
    return (uint32_t)n;
}

static const GenColumn part_columns[] = {
    {"p_partkey", INT4},        {"p_name", VARCHAR(22)},  {"p_mfgr", VARCHAR(6)},
    {"p_category", VARCHAR(7)}, {"p_brand1", VARCHAR(9)}, {"p_color", VARCHAR(11)},
    {"p_type", VARCHAR(25)},    {"p_size", INT4},         {"p_container", VARCHAR(10)},
};

static tcudb_status part_fill(const GenRows *rows, uint32_t col, Vector *out, Error *err)
{
    const Gen *g = rows->gen;
    switch (col) {
    case 0: FILL_INT(UNIT + 1);
    case 1: FILL_TEXT(22, part_name(g, UNIT, at));
    case 2: FILL_TEXT(9, part_brand(g, UNIT, 1, at));
    case 3: FILL_TEXT(9, part_brand(g, UNIT, 2, at));
    case 4: FILL_TEXT(9, part_brand(g, UNIT, 3, at));
    case 5: FILL_DICT(colors, below(g, SALT_PART + 10, UNIT, COUNT(colors)));
    case 6: FILL_TEXT(26, part_type(g, UNIT, at));
    case 7: FILL_INT(1 + below(g, SALT_PART + 11, UNIT, 50));
    default: FILL_TEXT(10, part_container(g, UNIT, at));
    }
}

/* ---- date --------------------------------------------------------------------------------- */

/* 1992-01-01 was a Wednesday; 0 is Sunday. */
static uint32_t weekday(uint64_t day)
{
    return (uint32_t)((day + 3) % 7);
}

static bool last_of_month(uint64_t day)
{
    return day + 1 == DAYS || day_at(day + 1).day == 1;
}

static bool holiday(uint64_t day)
{
    static const uint16_t dates[] = {101, 220, 420, 520, 720, 820, 920, 1020, 1120, 1224};
    Day d = day_at(day);
    for (uint32_t i = 0; i < COUNT(dates); i++)
        if (d.month * 100 + d.day == dates[i]) return true;
    return false;
}

static uint32_t print_date(uint64_t day, char *at)
{
    Day d = day_at(day);
    return (uint32_t)snprintf(at, 24, "%s %u, %u", months[d.month - 1].ptr, d.day % 100, d.year % 10000);
}

static uint32_t print_year_month(uint64_t day, char *at)
{
    Day d = day_at(day);
    return (uint32_t)snprintf(at, 8, "%.3s%u", months[d.month - 1].ptr, d.year % 10000);
}

static const GenColumn date_columns[] = {
    {"d_datekey", INT4},
    {"d_date", VARCHAR(19)},
    {"d_dayofweek", VARCHAR(10)},
    {"d_month", VARCHAR(10)},
    {"d_year", INT4},
    {"d_yearmonthnum", INT4},
    {"d_yearmonth", VARCHAR(8)},
    {"d_daynuminweek", INT4},
    {"d_daynuminmonth", INT4},
    {"d_daynuminyear", INT4},
    {"d_monthnuminyear", INT4},
    {"d_weeknuminyear", INT4},
    {"d_sellingseason", VARCHAR(13)},
    {"d_lastdayinweekfl", VARCHAR(1)},
    {"d_lastdayinmonthfl", VARCHAR(1)},
    {"d_holidayfl", VARCHAR(1)},
    {"d_weekdayfl", VARCHAR(1)},
};

static tcudb_status date_fill(const GenRows *rows, uint32_t col, Vector *out, Error *err)
{
    switch (col) {
    case 0: FILL_INT(day_key(UNIT));
    case 1: FILL_TEXT(24, print_date(UNIT, at));
    case 2: FILL_DICT(weekdays, weekday(UNIT));
    case 3: FILL_DICT(months, day_at(UNIT).month - 1);
    case 4: FILL_INT(day_at(UNIT).year);
    case 5: FILL_INT(day_at(UNIT).year * 100 + day_at(UNIT).month);
    case 6: FILL_TEXT(8, print_year_month(UNIT, at));
    case 7: FILL_INT(weekday(UNIT) + 1);
    case 8: FILL_INT(day_at(UNIT).day);
    case 9: FILL_INT(day_at(UNIT).of_year);
    case 10: FILL_INT(day_at(UNIT).month);
    case 11: FILL_INT(day_at(UNIT).of_year / 7 + 1);
    case 12: FILL_DICT(seasons, month_season[day_at(UNIT).month - 1]);
    case 13: FILL_DICT(flags, weekday(UNIT) == 6);
    case 14: FILL_DICT(flags, last_of_month(UNIT));
    case 15: FILL_DICT(flags, holiday(UNIT));
    default: FILL_DICT(flags, weekday(UNIT) >= 1 && weekday(UNIT) <= 5);
    }
}

/* ---- the tables --------------------------------------------------------------------------- */

/* 32,400 orders have 129,600 lines, give or take 360: one segment, but for one time in 20,000. */
static const GenTable lineorder_table = {
    .name = "lineorder",
    .ncols = COUNT(lineorder_columns),
    .cols = lineorder_columns,
    .unit_rows = 4,
    .task_units = 32400,
    .lines = order_lines,
    .fill = lineorder_fill,
};

#define PLAIN_TABLE(table)                                                                                             \
    static const GenTable table##_table = {                                                                            \
        .name = #table,                                                                                                \
        .ncols = COUNT(table##_columns),                                                                               \
        .cols = table##_columns,                                                                                       \
        .unit_rows = 1,                                                                                                \
        .task_units = SEGMENT_ROWS,                                                                                    \
        .fill = table##_fill,                                                                                          \
    };
PLAIN_TABLE(customer)
PLAIN_TABLE(supplier)
PLAIN_TABLE(part)
PLAIN_TABLE(date)

static Gen ssb_gen(const GenTable *table, double scale, double seed)
{
    Gen gen = {.table = table, .seed = (uint64_t)seed, .scale = scale};
    gen.params[LO_SCALE_CUSTOMERS] = (int64_t)scaled(scale, 30000);
    gen.params[LO_SCALE_SUPPLIERS] = (int64_t)scaled(scale, 2000);
    gen.params[LO_SCALE_PARTS] = (int64_t)part_count(scale);
    gen.units = table == &lineorder_table  ? scaled(scale, 1500000)
                : table == &customer_table ? (uint64_t)gen.params[LO_SCALE_CUSTOMERS]
                : table == &supplier_table ? (uint64_t)gen.params[LO_SCALE_SUPPLIERS]
                : table == &part_table     ? (uint64_t)gen.params[LO_SCALE_PARTS]
                                           : DAYS;
    return gen;
}

#define SSB_USAGE "(scale => 1, seed => 1): the star schema benchmark's "

static tcudb_status ssb_args(const TableFuncArg *args, uint32_t nargs, const char *what, const char *usage,
                             double *scale, double *seed, Error *err)
{
    GenArg known[] = {{"scale", 1, 1e-6, MAX_SCALE, false}, {"seed", 1, 0, 1e15, true}};
    TRY(gen_args(args, nargs, what, usage, known, COUNT(known), err));
    *scale = known[0].value;
    *seed = known[1].value;
    return TCUDB_OK;
}

static tcudb_status ssb_bind(const GenTable *table, const char *usage, Arena *arena, const TableFuncArg *args,
                             uint32_t nargs, TableFuncBound *out, Error *err)
{
    double scale, seed;
    TRY(ssb_args(args, nargs, "function ssb_*", usage, &scale, &seed, err));
    Gen gen = ssb_gen(table, scale, seed);
    return gen_bind(arena, &gen, out, err);
}

#define SSB_FUNCTION(table)                                                                                            \
    static tcudb_status bind_##table(const EvalCtx *ctx, const TableFuncArg *args, uint32_t nargs,                     \
                                     TableFuncBound *out, Error *err)                                                  \
    {                                                                                                                  \
        return ssb_bind(&table##_table, "ssb_" #table SSB_USAGE #table, ctx->arena, args, nargs, out, err);            \
    }                                                                                                                  \
    const TableFunc ssb_##table##_func = {                                                                             \
        .name = "ssb_" #table,                                                                                         \
        .usage = "ssb_" #table SSB_USAGE #table,                                                                       \
        .bind = bind_##table,                                                                                          \
        .open = gen_open,                                                                                              \
        .next = gen_next,                                                                                              \
        .end_task = gen_end_task,                                                                                      \
        .close = gen_close,                                                                                            \
    };
SSB_FUNCTION(lineorder)
SSB_FUNCTION(customer)
SSB_FUNCTION(supplier)
SSB_FUNCTION(part)
SSB_FUNCTION(date)

/* ---- CALL ssb ----------------------------------------------------------------------------- */

static tcudb_status date_view(const ProcEnv *env, const char *name, Error *err)
{
    Str names[COUNT(date_columns)];
    for (uint32_t c = 0; c < COUNT(date_columns); c++) names[c] = str_of(date_columns[c].name);
    const ViewDef view = {
        .name = str_of(name), .sql = STR_LIT("SELECT * FROM date"), .ncols = COUNT(date_columns), .cols = names};
    return txn_create_view(env->txn, &view, false, err);
}

#define CALL_USAGE "CALL ssb(scale => 1, seed => 1): makes lineorder, customer, supplier, part, date"

static tcudb_status ssb_run(const ProcEnv *env, const TableFuncArg *args, uint32_t nargs, uint64_t *rows, Error *err)
{
    static const GenTable *const tables[] = {&part_table, &supplier_table, &customer_table, &date_table,
                                             &lineorder_table};
    double scale, seed;
    TRY(ssb_args(args, nargs, "procedure ssb", CALL_USAGE, &scale, &seed, err));
    *rows = 0;
    for (uint32_t i = 0; i < COUNT(tables); i++) {
        Gen gen = ssb_gen(tables[i], scale, seed);
        TRY(gen_load(env, &gen, rows, err));
    }
    TRY(date_view(env, "dates", err));
    return date_view(env, "ddate", err);
}

const Proc ssb_proc = {.name = "ssb", .usage = CALL_USAGE, .run = ssb_run};
