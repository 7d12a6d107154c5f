/* SPDX-License-Identifier: MIT */
#include "values.h"

#include "opcodes.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VALUES_FIRST 64
#define MARKS_FIRST 16

/* Where in the values those of an aggregate begin. */
typedef struct mark {
    size_t from;
    bool
        is_list; /* which is made when its items are there; others stand before `from` */
} mark_t;

/* Values that are no part of another one yet; the first ones need no memory of their own. */
typedef struct loader {
    const unsigned char *at, *end;
    PyObject **values;
    size_t count, capacity;
    mark_t *marks;
    size_t marks_count, marks_capacity;
    PyObject *values_first[VALUES_FIRST];
    mark_t marks_first[MARKS_FIRST];
} loader_t;

/* ---- reading ---- */

static bool refuse(void)
{
    PyErr_SetString(PyExc_ValueError, "no stream of replies");
    return false;
}

static bool has(const loader_t *loader, size_t bytes)
{
    return (size_t)(loader->end - loader->at) >= bytes || refuse();
}

static uint64_t number(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* The data of a string whose length takes `width` bytes; NULL: there is none. */
static const char *take_string(loader_t *loader, size_t width, Py_ssize_t *ret_bytes)
{
    const unsigned char *data;
    uint64_t bytes;

    if (!has(loader, width))
        return NULL;
    bytes = number(loader->at, width);
    data = loader->at + width;
    if (bytes > (size_t)(loader->end - data)) {
        refuse();
        return NULL;
    }
    loader->at = data + bytes;
    *ret_bytes = (Py_ssize_t)bytes;
    return (const char *)data;
}

static PyObject *take_integer(loader_t *loader, size_t width)
{
    const unsigned char *at = loader->at;

    if (!has(loader, width))
        return NULL;
    loader->at += width;
    if (width == 4)
        return PyLong_FromLongLong((int32_t)(uint32_t)number(at, 4));
    return PyLong_FromLongLong((int64_t)number(at, width));
}

static PyObject *take_float(loader_t *loader)
{
    uint64_t bits = 0;
    double value;

    if (!has(loader, 8))
        return NULL;
    for (int i = 0; i < 8; i++) /* big end first */
        bits = bits << 8 | *loader->at++;
    memcpy(&value, &bits, sizeof value);
    return PyFloat_FromDouble(value);
}

/* ---- the values that are open ---- */

static void *more_room(void *items, bool is_first, size_t count, size_t item_bytes)
{
    void *grown = PyMem_Realloc(is_first ? NULL : items, 2 * count * item_bytes);

    if (!grown) {
        PyErr_NoMemory();
        return NULL;
    }
    if (is_first)
        memcpy(grown, items, count * item_bytes);
    return grown;
}

/* Room for one more. */
static bool grow(loader_t *loader)
{
    PyObject **grown = more_room(loader->values, loader->values == loader->values_first,
                                 loader->count, sizeof(PyObject *));

    if (!grown)
        return false;
    loader->values = grown;
    loader->capacity *= 2;
    return true;
}

static inline bool put(loader_t *loader, PyObject *value)
{
    if (loader->count == loader->capacity && !grow(loader)) {
        Py_DECREF(value);
        return false;
    }
    loader->values[loader->count++] = value;
    return true;
}

/* A constructor's value, which is NULL if it failed. */
static bool put_new(loader_t *loader, PyObject *value)
{
    return value && put(loader, value);
}

static bool put_constant(loader_t *loader, PyObject *value)
{
    Py_INCREF(value);
    return put(loader, value);
}

static bool put_mark(loader_t *loader, bool is_list)
{
    if (loader->marks_count == loader->marks_capacity) {
        mark_t *grown = more_room(loader->marks, loader->marks == loader->marks_first,
                                  loader->marks_count, sizeof(mark_t));
        if (!grown)
            return false;
        loader->marks = grown;
        loader->marks_capacity *= 2;
    }
    loader->marks[loader->marks_count++] = (mark_t){loader->count, is_list};
    return true;
}

/* Take the last mark off; `under`: values that must stand before it. */
static bool take_mark(loader_t *loader, bool is_list, size_t under, size_t *ret_from)
{
    mark_t mark;

    if (loader->marks_count == 0)
        return refuse();
    mark = loader->marks[--loader->marks_count];
    *ret_from = mark.from;
    return (mark.is_list == is_list && mark.from >= under &&
            mark.from <= loader->count) ||
           refuse();
}

/* Drop the values from there on. */
static void drop(loader_t *loader, size_t from)
{
    while (loader->count > from)
        Py_DECREF(loader->values[--loader->count]);
}

/* ---- values with children ---- */

static bool open_list(loader_t *loader)
{
    if (!has(loader, 1))
        return false;
    if (*loader->at != OP_MARK)
        return put_new(loader, PyList_New(0));
    loader->at++;
    return put_mark(loader, true);
}

static bool close_list(loader_t *loader)
{
    size_t from, count;
    PyObject *list;

    if (!take_mark(loader, true, 0, &from))
        return false;
    count = loader->count - from;
    list = PyList_New((Py_ssize_t)count);
    if (!list)
        return false;
    for (size_t i = 0; i < count; i++)
        (void)PyList_SetItem(list, (Py_ssize_t)i, loader->values[from + i]);
    loader->count = from;
    return put(loader, list);
}

static bool close_tuple(loader_t *loader, size_t from)
{
    size_t count = loader->count - from;
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);

    if (!tuple)
        return false;
    for (size_t i = 0; i < count; i++)
        (void)PyTuple_SetItem(tuple, (Py_ssize_t)i, loader->values[from + i]);
    loader->count = from;
    return put(loader, tuple);
}

static bool close_small_tuple(loader_t *loader, size_t count)
{
    return (loader->count >= count || refuse()) &&
           close_tuple(loader, loader->count - count);
}

static bool close_dict(loader_t *loader)
{
    size_t from;

    if (!take_mark(loader, false, 1, &from))
        return false;
    if ((loader->count - from) % 2 != 0)
        return refuse();
    for (size_t i = from; i < loader->count; i += 2)
        if (PyDict_SetItem(loader->values[from - 1], loader->values[i],
                           loader->values[i + 1]) < 0)
            return false;
    drop(loader, from);
    return true;
}

static bool add_members(loader_t *loader, PyObject *set, size_t from)
{
    for (size_t i = from; i < loader->count; i++)
        if (PySet_Add(set, loader->values[i]) < 0)
            return false;
    drop(loader, from);
    return true;
}

static bool close_set(loader_t *loader)
{
    size_t from;

    return take_mark(loader, false, 1, &from) &&
           add_members(loader, loader->values[from - 1], from);
}

static bool close_frozenset(loader_t *loader)
{
    size_t from;
    PyObject *set;

    if (!take_mark(loader, false, 0, &from))
        return false;
    set = PyFrozenSet_New(NULL);
    if (!set)
        return false;
    if (!add_members(loader, set, from)) {
        Py_DECREF(set);
        return false;
    }
    return put(loader, set);
}

/* ---- the stream ---- */

static bool put_bytes(loader_t *loader, size_t width)
{
    Py_ssize_t bytes;
    const char *data = take_string(loader, width, &bytes);

    return data && put_new(loader, PyBytes_FromStringAndSize(data, bytes));
}

/* Short strings of one kind, behind the opcode of the first: most replies are made of them.
 */
static inline bool put_short(loader_t *loader, unsigned char opcode,
                             PyObject *(*make)(const char *, Py_ssize_t))
{
    const unsigned char *at = loader->at, *end = loader->end;
    PyObject *value;

    for (;;) {
        if (end - at < 1 || end - at <= at[0])
            return refuse();
        value = make((const char *)at + 1, at[0]);
        if (!value || !put(loader, value))
            return false;
        at += 1 + at[0];
        if (at == end || *at != opcode)
            break;
        at++;
    }
    loader->at = at;
    return true;
}

static bool put_text(loader_t *loader, size_t width)
{
    Py_ssize_t bytes;
    const char *data = take_string(loader, width, &bytes);

    return data && put_new(loader, PyUnicode_FromStringAndSize(data, bytes));
}

static bool put_bytearray(loader_t *loader)
{
    Py_ssize_t bytes;
    const char *data = take_string(loader, 8, &bytes);

    return data && put_new(loader, PyByteArray_FromStringAndSize(data, bytes));
}

static bool put_long(loader_t *loader)
{
    if (!has(loader, 1))
        return false;
    return *loader->at++ == 8 ? put_new(loader, take_integer(loader, 8)) : refuse();
}

static bool load_string(loader_t *loader, unsigned char opcode)
{
    switch (opcode) {
    case OP_BINBYTES:
        return put_bytes(loader, 4);
    case OP_BINBYTES8:
        return put_bytes(loader, 8);
    case OP_SHORT_BINUNICODE:
        return put_short(loader, opcode, PyUnicode_FromStringAndSize);
    case OP_BINUNICODE:
        return put_text(loader, 4);
    case OP_BINUNICODE8:
        return put_text(loader, 8);
    case OP_BYTEARRAY8:
        return put_bytearray(loader);
    default:
        return refuse();
    }
}

static bool load_aggregate(loader_t *loader, unsigned char opcode)
{
    size_t from;

    switch (opcode) {
    case OP_EMPTY_DICT:
        return put_new(loader, PyDict_New());
    case OP_SETITEMS:
        return close_dict(loader);
    case OP_EMPTY_SET:
        return put_new(loader, PySet_New(NULL));
    case OP_ADDITEMS:
        return close_set(loader);
    case OP_FROZENSET:
        return close_frozenset(loader);
    case OP_TUPLE:
        return take_mark(loader, false, 0, &from) && close_tuple(loader, from);
    case OP_TUPLE1:
        return close_small_tuple(loader, 1);
    case OP_TUPLE2:
        return close_small_tuple(loader, 2);
    case OP_TUPLE3:
        return close_small_tuple(loader, 3);
    default:
        return load_string(loader, opcode);
    }
}

static bool load(loader_t *loader, unsigned char opcode)
{
    switch (opcode) {
    case OP_SHORT_BINBYTES: /* nearly always */
        return put_short(loader, opcode, PyBytes_FromStringAndSize);
    case OP_NONE:
        return put_constant(loader, Py_None);
    case OP_NEWTRUE:
        return put_constant(loader, Py_True);
    case OP_NEWFALSE:
        return put_constant(loader, Py_False);
    case OP_BININT1:
        return put_new(loader, take_integer(loader, 1));
    case OP_BININT:
        return put_new(loader, take_integer(loader, 4));
    case OP_LONG1:
        return put_long(loader);
    case OP_BINFLOAT:
        return put_new(loader, take_float(loader));
    case OP_MARK:
        return put_mark(loader, false);
    case OP_EMPTY_LIST:
        return open_list(loader);
    case OP_APPENDS:
        return close_list(loader);
    default:
        return load_aggregate(loader, opcode);
    }
}

/* The one value that is left at the end. */
static PyObject *result(const loader_t *loader)
{
    if (loader->count != 1) {
        refuse();
        return NULL;
    }
    Py_INCREF(loader->values[0]);
    return loader->values[0];
}

static PyObject *load_all(loader_t *loader)
{
    unsigned char opcode;

    if (!has(loader, 2))
        return NULL;
    loader->at += 2; /* behind the protocol */
    while (has(loader, 1)) {
        opcode = *loader->at++;
        if (opcode == OP_STOP)
            return result(loader);
        if (!load(loader, opcode))
            return NULL;
    }
    return NULL;
}

PyObject *shoalpy_value_of(const char *stream, size_t bytes)
{
    loader_t loader;
    PyObject *value;

    loader.at = (const unsigned char *)stream;
    loader.end = loader.at + bytes;
    loader.values = loader.values_first;
    loader.marks = loader.marks_first;
    loader.capacity = VALUES_FIRST;
    loader.marks_capacity = MARKS_FIRST;
    loader.count = loader.marks_count = 0;
    value = load_all(&loader);
    drop(&loader, 0);
    if (loader.values != loader.values_first)
        PyMem_Free(loader.values);
    if (loader.marks != loader.marks_first)
        PyMem_Free(loader.marks);
    return value;
}
