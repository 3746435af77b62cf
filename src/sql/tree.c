/*
 * tree.c: the grammar's tree, copied into an arena.
 *
 * libpg_query hands its tree out packed as protobuf, from messages that it builds in its own memory; packing (twice
 * over every node: for the size, then for the bytes) and unpacking took a third of a long statement's time, in calls
 * that nothing can stop. So the archive's copy packs through sql_pg_tree_pack (pg_call.c), which get the
 * messages themselves, and this file copies them, looking at the cancel flag at every one.
 *
 * A message is copied whole, then its pointers field by field, as its descriptor lists them. A Node is a union of 200
 * kinds of which one is set: it is found by its number. Cost: one pass, the copied bytes.
 */
#include "sql/sql_int.h"

#include <assert.h>
#include <string.h>

static tcudb_status copy_string(const SqlCopy *copy, char **text, Error *err)
{
    if (*text == NULL) return TCUDB_OK;
    if ((*text)[0] == '\0') {
        *text = (char *)(uintptr_t)protobuf_c_empty_string; /* never written to */
        return TCUDB_OK;
    }
    return sql_restore(copy, *text, text, err);
}

static tcudb_status copy_child(const SqlCopy *copy, ProtobufCMessage **child, Error *err)
{
    return *child == NULL ? TCUDB_OK : sql_copy_tree(copy, *child, child, err);
}

static size_t element_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_MESSAGE:
    case PROTOBUF_C_TYPE_STRING: return sizeof(void *);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_DOUBLE: return sizeof(int64_t);
    default: return sizeof(int32_t); /* integers, enumerations; pg_query.proto has no other lists */
    }
}

static tcudb_status copy_pointer(const SqlCopy *copy, ProtobufCType type, void *at, Error *err)
{
    if (type == PROTOBUF_C_TYPE_MESSAGE) return copy_child(copy, at, err);
    return type == PROTOBUF_C_TYPE_STRING ? copy_string(copy, at, err) : TCUDB_OK;
}

static tcudb_status copy_list(const SqlCopy *copy, ProtobufCType type, size_t n, void **list, Error *err)
{
    size_t size = element_size(type);
    const void *from = *list;
    *list = NULL;
    if (n == 0) return TCUDB_OK;
    char *to = arena_alloc_raw(copy->arena, n * size, err);
    TRY_PTR(to);
    memcpy(to, from, n * size);
    for (size_t i = 0; i < n; i++) TRY(copy_pointer(copy, type, to + i * size, err));
    *list = to;
    return TCUDB_OK;
}

static tcudb_status copy_field(const SqlCopy *copy, char *message, const ProtobufCFieldDescriptor *field, Error *err)
{
    void *at = message + field->offset;
    size_t n = 0;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) return copy_pointer(copy, field->type, at, err);
    memcpy(&n, message + field->quantifier_offset, sizeof n);
    return copy_list(copy, field->type, n, at, err);
}

static tcudb_status copy_fields(const SqlCopy *copy, char *message, const ProtobufCMessageDescriptor *type, Error *err)
{
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        uint32_t set = field->id;
        if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
            memcpy(&set, message + field->quantifier_offset, sizeof set);
        if (set == field->id) TRY(copy_field(copy, message, field, err));
    }
    return TCUDB_OK;
}

tcudb_status sql_copy_tree(const SqlCopy *copy, const ProtobufCMessage *from, ProtobufCMessage **out, Error *err)
{
    const ProtobufCMessageDescriptor *type = from->descriptor;
    TRY(cancel_poll(copy->cancel, err));
    char *message = arena_alloc_raw(copy->arena, type->sizeof_message, err);
    TRY_PTR(message);
    memcpy(message, from, type->sizeof_message);
    *out = (ProtobufCMessage *)(void *)message;
    if (type != &pg_query__node__descriptor) return copy_fields(copy, message, type, err);
    uint32_t kind = (uint32_t)((const PgQuery__Node *)(const void *)message)->node_case;
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(type, kind);
    return field == NULL ? TCUDB_OK : copy_field(copy, message, field, err);
}
