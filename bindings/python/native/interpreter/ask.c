/* SPDX-License-Identifier: MIT */
#include "ask.h"

#include "waiter.h"
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

typedef struct asker {
    /* clang-format off */
    PyObject_HEAD
        /* clang-format on */
        PyObject *loop;
    PyObject *queued; /* a list: a command, its future, a command ... */
    PyObject *create_waiter;
    Py_ssize_t early;  /* at this length of the queue flush_early() is called */
    char is_scheduled; /* flush() will be called */
} asker_t;

/* Of this process, for ever. */
static PyTypeObject *asker_type;
static PyObject *get_running_loop, *begin_name, *flush_early_name;

static asker_t *of(PyObject *object)
{
    return (asker_t *)object;
}

/* Does its event loop run in this thread?  -1: an exception is set. */
static int is_here(const asker_t *asker)
{
    PyObject *running = PyObject_CallNoArgs(get_running_loop);

    Py_XDECREF(running); /* the thread has it, too */
    return running ? running == asker->loop : -1;
}

/* Both or none.  Python code must not run between the two: a finalizer that submits a command
 * would give its caller another's reply. */
static int enqueue(PyObject *queued, PyObject *command, PyObject *future)
{
    if (PyList_Append(queued, command) < 0)
        return -1;
    if (PyList_Append(queued, future) == 0)
        return 0;
    /* A list that could not grow is shortened by one without another allocation. */
    (void)PyList_SetSlice(queued, PyList_Size(queued) - 1, PyList_Size(queued), NULL);
    return -1;
}

/* Schedule the flush of the queue, or flush early. */
static int hurry(PyObject *self)
{
    const asker_t *asker = of(self);
    PyObject *done;

    if (asker->is_scheduled && PyList_Size(asker->queued) != asker->early)
        return 0;
    done = PyObject_CallMethodObjArgs(
        self, asker->is_scheduled ? flush_early_name : begin_name, NULL);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* ask(command): queue what the caller awaits next, and return its future; None: another event
 * loop runs here, or none.  Then the queue is another thread's, and is not looked at. */
static PyObject *ask(PyObject *self, PyObject *command)
{
    const asker_t *asker = of(self);
    PyObject *future;
    int rc;

    rc = asker->loop ? is_here(asker) : 1;
    if (rc < 0)
        return NULL;
    if (rc == 0)
        Py_RETURN_NONE;
    if (!asker->loop || !asker->create_waiter || !asker->queued ||
        !PyList_Check(asker->queued)) {
        PyErr_SetString(PyExc_TypeError, "loop, create_waiter and queued are not set");
        return NULL;
    }
    future = shoalpy_waiter_new(asker->create_waiter);
    if (future && (enqueue(asker->queued, command, future) < 0 || hurry(self) < 0))
        Py_CLEAR(future);
    return future;
}

/* ---- the type ---- */

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    const asker_t *asker = of(self);

    Py_VISIT(Py_TYPE(self));
    Py_VISIT(asker->loop);
    Py_VISIT(asker->queued);
    Py_VISIT(asker->create_waiter);
    return 0;
}

/* The loop stays until the end, for finalizers. */
static int clear(PyObject *self)
{
    Py_CLEAR(of(self)->create_waiter);
    return 0;
}

static void deallocate(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc give_back = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);

    PyObject_GC_UnTrack(self);
    clear(self);
    Py_CLEAR(of(self)->queued);
    Py_CLEAR(of(self)->loop);
    give_back(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"ask", ask, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"loop", T_OBJECT_EX, offsetof(asker_t, loop), 0, NULL},
    {"queued", T_OBJECT_EX, offsetof(asker_t, queued), 0, NULL},
    {"create_waiter", T_OBJECT_EX, offsetof(asker_t, create_waiter), 0, NULL},
    {"early", T_PYSSIZET, offsetof(asker_t, early), 0, NULL},
    {"is_scheduled", T_BOOL, offsetof(asker_t, is_scheduled), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* ISO C has no way from a function to `void *` but over a number. */
#define SLOT(function) (void *)(uintptr_t)(function)

static PyType_Slot slots[] = {
    {Py_tp_dealloc, SLOT(deallocate)}, {Py_tp_traverse, SLOT(traverse)},
    {Py_tp_clear, SLOT(clear)},        {Py_tp_methods, methods},
    {Py_tp_members, members},          {0, NULL},
};

static PyType_Spec spec = {
    .name = "shoal._native.Asker",
    .basicsize = sizeof(asker_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

/* new_asker_type(_get_running_loop): the type, which is made once. */
static PyObject *new_asker_type(PyObject *module, PyObject *function)
{
    (void)module;
    if (!asker_type) {
        Py_INCREF(function);
        get_running_loop = function;
        begin_name = PyUnicode_InternFromString("begin");
        flush_early_name = PyUnicode_InternFromString("flush_early");
        if (begin_name && flush_early_name)
            asker_type = (PyTypeObject *)PyType_FromSpec(&spec);
    }
    Py_XINCREF((PyObject *)asker_type);
    return (PyObject *)asker_type;
}

static PyMethodDef functions[] = {
    {"new_asker_type", new_asker_type, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int shoalpy_ask_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
