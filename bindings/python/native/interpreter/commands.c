/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include <stdbool.h>

/* The text stays with the object: the interpreter keeps the UTF-8 of what is not ASCII. */
static const char *text_of(PyObject *argument, Py_ssize_t *ret_bytes)
{
    const char *text = PyUnicode_AsUTF8AndSize(argument, ret_bytes);

    if (!text)
        PyErr_Clear(); /* surrogates, or no memory */
    return text;
}

static bool take_integer(shoalpy_requests_t *requests, PyObject *argument)
{
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(argument, &overflow);

    return !overflow && shoalpy_requests_add_integer(requests, value) == 0;
}

/* Of that very type: an object of a subclass may stand for something else.  A bytearray may
 * change while the call is under way. */
static bool take_argument(shoalpy_requests_t *requests, PyObject *argument)
{
    const char *data;
    Py_ssize_t bytes;

    if (Py_IS_TYPE(argument, &PyUnicode_Type)) {
        data = text_of(argument, &bytes);
    } else if (Py_IS_TYPE(argument, &PyBytes_Type)) {
        data = PyBytes_AsString(argument);
        bytes = PyBytes_Size(argument);
    } else if (Py_IS_TYPE(argument, &PyLong_Type)) {
        return take_integer(requests, argument);
    } else if (Py_IS_TYPE(argument, &PyFloat_Type)) {
        return shoalpy_requests_add_float(requests, PyFloat_AsDouble(argument)) == 0;
    } else {
        return false;
    }
    return data && bytes < SHOAL_REFERENCE_BYTES_MIN &&
           shoalpy_requests_add(requests, data, (size_t)bytes) == 0;
}

static bool take_command(shoalpy_requests_t *requests, PyObject *command)
{
    Py_ssize_t count;

    if (!Py_IS_TYPE(command, &PyTuple_Type))
        return false;
    count = PyTuple_Size(command);
    for (Py_ssize_t i = 0; i < count; i++)
        if (!take_argument(requests, PyTuple_GetItem(command, i)))
            return false;
    return shoalpy_requests_end_command(requests, (size_t)count) == 0;
}

static bool take_list(shoalpy_requests_t *requests, PyObject *commands)
{
    Py_ssize_t count = PyList_Size(commands);

    for (Py_ssize_t i = 0; i < count; i++)
        if (!take_command(requests, PyList_GetItem(commands, i)))
            return false;
    return true;
}

int shoalpy_commands_take(shoalpy_requests_t *requests, PyObject *commands)
{
    bool is_list = Py_IS_TYPE(commands, &PyList_Type);

    if (!is_list && !Py_IS_TYPE(commands, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "commands are a list, or one tuple");
        return -1;
    }
    shoalpy_requests_begin(requests);
    if (!(is_list ? take_list : take_command)(requests, commands))
        return 0;
    shoalpy_requests_finish(requests);
    return 1;
}
