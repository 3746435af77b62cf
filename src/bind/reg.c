/*
 * reg.c: casts to the types that name what is in the catalogue: regclass, regtype, regnamespace, regrole, and to oid
 * and name.
 *
 * 't'::regclass is the oid of t, a number: it is looked up while binding. Where it is shown (a column of the result, a
 * cast to text) it is its name. An oid::regclass is the name at once, found by a subquery of system.def. oid is bigint,
 * name is text.
 */
#include "bind/bind_int.h"

#include <stdlib.h>

typedef enum RegKind { REG_CLASS, REG_TYPE, REG_NAMESPACE, REG_ROLE } RegKind;

typedef struct RegType {
    const char *name;
    RegKind kind;
    const char *by_name; /* the function of system.def that finds the oid of a name */
    const char *by_oid;  /* and the name of an oid */
} RegType;

static const RegType reg_types[] = {
    {"regclass", REG_CLASS, " class oid", " class name"},
    {"regtype", REG_TYPE, " type oid", " type name"},
    {"regnamespace", REG_NAMESPACE, " namespace oid", " namespace name"},
    {"regrole", REG_ROLE, " role oid", " role name"},
};

static const RegType *find_reg(const PgQuery__TypeName *name)
{
    const char *last = sql_last_name(name->names, name->n_names);
    for (size_t i = 0; i < sizeof reg_types / sizeof reg_types[0] && name->n_array_bounds == 0; i++)
        if (strcmp(reg_types[i].name, last) == 0) return &reg_types[i];
    return NULL;
}

static const char *literal_text(const Node *node)
{
    bool is =
        NODE_IS(node, A_CONST) && !node->a_const->isnull && node->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL;
    return is ? node->a_const->sval->sval : NULL;
}

/* "public.t", "\"T\"": the last name, as it would be folded. */
tcudb_status bind_plain_name(Binder *b, const char *text, int position, const char **out, Error *err)
{
    size_t n = strlen(text), to = 0;
    char *name = arena_strndup(b->arena, text, n, err);
    TRY_PTR(name);
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c == '"') {
            bool doubled = quoted && text[i + 1] == '"';
            if (doubled)
                name[to++] = text[i++];
            else
                quoted = !quoted;
        } else if (c == '.' && !quoted) {
            name[to] = '\0';
            if (!bind_is_schema(name) && strcmp(name, "pg_temp") != 0) return bind_no_schema(name, position, err);
            to = 0;
        } else {
            name[to++] = !quoted && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
    }
    name[to] = '\0';
    *out = name;
    return TCUDB_OK;
}

/* An oid that is written as digits, or that of a relation. */
static tcudb_status find_class(Binder *b, const char *text, int position, int64_t *oid, Error *err)
{
    const char *name = "";
    TRY(bind_plain_name(b, text, position, &name, err));
    *oid = bind_relation_oid(b, str_of(name));
    if (*oid != 0) return TCUDB_OK;
    return error_at(err, SQLSTATE_UNDEFINED_TABLE, position, "relation \"%s\" does not exist", text);
}

/* The grammar reads the name. */
static tcudb_status find_type(Binder *b, const char *text, int position, Type *type, Error *err)
{
    Ast *ast = NULL;
    uint32_t n = 0;
    Error local = {0};
    char *sql = arena_printf(b->arena, err, "SELECT NULL::%s", text);
    TRY_PTR(sql);
    tcudb_status status = sql_parse(b->arena, str_of(sql), b->env->cancel, &ast, &n, &local);
    const PgQuery__SelectStmt *select = status == TCUDB_OK && n == 1 ? ((const Node *)ast->node)->select_stmt : NULL;
    const Node *cast = select == NULL || select->n_target_list != 1 ? NULL : select->target_list[0]->res_target->val;
    if (NODE_IS(cast, TYPE_CAST)) status = bind_typename(b, cast->type_cast->type_name, type, &local);
    if (status == TCUDB_OK && NODE_IS(cast, TYPE_CAST)) return status;
    if (status == TCUDB_OK || strcmp(local.sqlstate, SQLSTATE_SYNTAX_ERROR) == 0)
        return error_at(err, SQLSTATE_UNDEFINED_OBJECT, position, "type \"%s\" does not exist", text);
    if (err != NULL) *err = local;
    if (err != NULL) err->position = position;
    return status;
}

/* Of the few schemas and the one role. */
static int64_t find_fixed(RegKind kind, const char *name)
{
    static const struct {
        RegKind kind;
        const char *name;
        int64_t oid;
    } known[] = {
        {REG_NAMESPACE, "pg_catalog", 11},
        {REG_NAMESPACE, "public", 2200},
        {REG_NAMESPACE, "information_schema", 13000},
        {REG_ROLE, "tcudb", 10},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].kind == kind && strcmp(known[i].name, name) == 0) return known[i].oid;
    return 0;
}

static tcudb_status find_oid(Binder *b, RegKind kind, const char *text, int position, int64_t *oid, const char **shown,
                             Error *err)
{
    Type type = {0};
    *shown = text;
    if (text[0] != '\0' && strspn(text, "0123456789") == strlen(text)) {
        *oid = strtoll(text, NULL, 10);
        return TCUDB_OK;
    }
    if (kind == REG_CLASS) {
        TRY(bind_plain_name(b, text, position, shown, err));
        return find_class(b, text, position, oid, err);
    }
    if (kind == REG_TYPE) {
        TRY(find_type(b, text, position, &type, err));
        *oid = type_oid(type);
        *shown = type_base_name(type);
        return TCUDB_OK;
    }
    *oid = find_fixed(kind, text);
    if (*oid != 0) return TCUDB_OK;
    return error_at(err, kind == REG_ROLE ? SQLSTATE_UNDEFINED_OBJECT : SQLSTATE_INVALID_SCHEMA_NAME, position,
                    "%s \"%s\" does not exist", kind == REG_ROLE ? "role" : "schema", text);
}

static tcudb_status of_literal(Binder *b, RegKind kind, const char *literal, int position, bool text, Expr **out,
                               Error *err)
{
    int64_t oid = 0;
    const char *shown = NULL;
    TRY(find_oid(b, kind, literal, position, &oid, &shown, err));
    Value value = {.type = TYPE(TYPE_INT8), .i64 = oid};
    if (text) value = (Value){.type = TYPE(TYPE_TEXT), .str = str_of(shown)};
    *out = expr_const(b->arena, &value, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

tcudb_status bind_reg_cast(Binder *b, Block *block, const PgQuery__TypeCast *node, bool text, Expr **out, Error *err)
{
    const RegType *reg = find_reg(node->type_name);
    Expr *arg = NULL;
    *out = NULL;
    if (reg == NULL) return TCUDB_OK;
    const char *literal = literal_text(node->arg);
    int position = bind_node_position(b, node->arg);
    if (literal != NULL) return of_literal(b, reg->kind, literal, position, text, out, err);
    TRY(bind_expr(b, block, node->arg, &arg, err));
    if (type_is_text(arg->type) && !text) return bind_system_macro(b, block, reg->by_name, &arg, 1, out, err);
    if (!type_is_text(arg->type)) return bind_system_macro(b, block, reg->by_oid, &arg, 1, out, err);
    *out = arg;
    return TCUDB_OK;
}

bool bind_is_reg_cast(const Node *node)
{
    return NODE_IS(node, TYPE_CAST) && find_reg(node->type_cast->type_name) != NULL;
}
