/* SPDX-License-Identifier: MIT */
#include "ask.h"
#include "commands.h"
#include "resolve.h"
#include "values.h"
#include "waiter.h"

/* cffi makes the module.  This file calls cffi's initialization, which the build renames, and
 * adds functions that take and return the interpreter's own objects. */

PyObject *shoalpy_init_glue(void);

static PyObject *value_of(PyObject *module, PyObject *stream)
{
    char *data;
    Py_ssize_t bytes;

    (void)module;
    if (PyBytes_AsStringAndSize(stream, &data, &bytes) < 0)
        return NULL;
    return shoalpy_value_of(data, (size_t)bytes);
}

static PyObject *read_value(PyObject *address, PyObject *count)
{
    const char *const *data = PyLong_AsVoidPtr(address);
    size_t bytes = PyLong_AsSize_t(count);

    return PyErr_Occurred() ? NULL : shoalpy_value_of(*data, bytes);
}

/* A function that makes the value of the stream of so many bytes that a pointer points to,
 * whose address is given here, and which outlives the function. */
static PyObject *new_reader(PyObject *module, PyObject *address)
{
    static PyMethodDef reader = {"reader", read_value, METH_O, NULL};

    (void)module;
    if (!PyLong_AsVoidPtr(address) && PyErr_Occurred())
        return NULL;
    return PyCFunction_NewEx(&reader, address, NULL);
}

static PyObject *take_commands(PyObject *address, PyObject *commands)
{
    int taken = shoalpy_commands_take(PyLong_AsVoidPtr(address), commands);

    return taken < 0 ? NULL : PyBool_FromLong(taken);
}

/* A function that puts a list of commands, or one, into a shoalpy_requests_t, whose address is
 * given here, and which outlives the function.  It returns whether it could. */
static PyObject *new_packer(PyObject *module, PyObject *address)
{
    static PyMethodDef packer = {"packer", take_commands, METH_O, NULL};

    (void)module;
    if (!PyLong_AsVoidPtr(address) && PyErr_Occurred())
        return NULL;
    return PyCFunction_NewEx(&packer, address, NULL);
}

static PyMethodDef functions[] = {
    {"value_of", value_of, METH_O, NULL},
    {"new_reader", new_reader, METH_O, NULL},
    {"new_packer", new_packer, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC PyInit__native(void); /* found by its name */

PyMODINIT_FUNC PyInit__native(void)
{
    PyObject *module = shoalpy_init_glue();

    if (module && (PyModule_AddFunctions(module, functions) < 0 ||
                   shoalpy_waiter_init(module) < 0 ||
                   shoalpy_resolve_init(module) < 0 || shoalpy_ask_init(module) < 0))
        Py_CLEAR(module);
#ifdef Py_GIL_DISABLED
    if (module && PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED) < 0)
        Py_CLEAR(module);
#endif
    return module;
}
