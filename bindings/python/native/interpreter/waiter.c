/* SPDX-License-Identifier: MIT */
#include "waiter.h"

#include "wakeup.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

typedef struct waiter {
    /* clang-format off */
    PyObject_HEAD
        /* clang-format on */
        PyObject *get_loop; /* of its loop; see new_waiter_maker() */
    PyObject *callback,
        *context;         /* of the task that waits; NULL: none, or it was told */
    PyObject *value;      /* or the exception, or what cancel() was told, or NULL */
    PyObject *references; /* weak ones */
    char is_blocking;     /* asyncio's mark: it was awaited just now */
    shoalpy_waiter_state_t state;
} waiter_t;

/* Of this process, for ever. */
static PyTypeObject *waiter_type;
PyObject *shoalpy_invalid_state;
static PyObject *cancelled_error, *copy_context, *future_type;
static PyObject *call_soon_name, *context_names; /* ("context",) */

static waiter_t *of(PyObject *object)
{
    return (waiter_t *)object;
}

static PyObject *loop_of(PyObject *self)
{
    return PyCFunction_GetSelf(of(self)->get_loop);
}

/* ---- its end ---- */

/* In a turn of the loop of its own. */
static int call_soon(PyObject *self, PyObject *callback, PyObject *context)
{
    PyObject *scheduler = PyObject_GetAttr(loop_of(self), call_soon_name);
    PyObject *arguments = PyTuple_Pack(2, callback, self);
    PyObject *options = PyDict_New();
    PyObject *handle = NULL;

    if (scheduler && arguments && options &&
        PyDict_SetItem(options, PyTuple_GetItem(context_names, 0), context) == 0)
        handle = PyObject_Call(scheduler, arguments, options);
    Py_XDECREF(scheduler);
    Py_XDECREF(arguments);
    Py_XDECREF(options);
    Py_XDECREF(handle);
    return handle ? 0 : -1;
}

/* Let its task go on: here and now, or soon.  Where memory lacks before its step, the task
 * waits for ever, and the loop's exception handler is told: a second try might run a step
 * twice. */
static int wake(PyObject *self, bool is_now)
{
    waiter_t *waiter = of(self);
    PyObject *callback = waiter->callback, *context = waiter->context;
    int rc;

    if (!callback)
        return 0;
    waiter->callback = waiter->context = NULL;
    rc = (is_now ? shoalpy_wakeup_run : call_soon)(self, callback, context);
    Py_DECREF(callback);
    Py_DECREF(context);
    return rc;
}

static int end(PyObject *self, shoalpy_waiter_state_t state, PyObject *value,
               bool is_now)
{
    waiter_t *waiter = of(self);

    Py_XINCREF(value);
    waiter->value = value;
    waiter->state = state;
    return wake(self, is_now);
}

int shoalpy_waiter_end(PyObject *object, shoalpy_waiter_state_t state, PyObject *value,
                       bool is_now)
{
    return of(object)->state == SHOALPY_WAITER_PENDING
               ? end(object, state, value, is_now)
               : 1;
}

bool shoalpy_is_waiter(PyObject *object)
{
    return Py_IS_TYPE(object, waiter_type);
}

bool shoalpy_waiter_is_pending(PyObject *object)
{
    return of(object)->state == SHOALPY_WAITER_PENDING;
}

static PyObject *end_once(PyObject *self, shoalpy_waiter_state_t state, PyObject *value)
{
    if (of(self)->state != SHOALPY_WAITER_PENDING) {
        PyErr_SetString(shoalpy_invalid_state, "invalid state");
        return NULL;
    }
    if (end(self, state, value, false) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *set_result(PyObject *self, PyObject *value)
{
    return end_once(self, SHOALPY_WAITER_HAS_VALUE, value);
}

static PyObject *set_exception(PyObject *self, PyObject *error)
{
    if (!PyObject_TypeCheck(error, (PyTypeObject *)PyExc_BaseException)) {
        PyErr_SetString(PyExc_TypeError, "an exception is what it takes");
        return NULL;
    }
    return end_once(self, SHOALPY_WAITER_HAS_ERROR, error);
}

/* The number of arguments that were given by name; -1: not this name, or more than it. */
static Py_ssize_t count_named(PyObject *names, const char *name)
{
    Py_ssize_t count = names ? PyTuple_Size(names) : 0;

    if (count == 0)
        return 0;
    if (count > 1 ||
        PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), name) != 0)
        return -1;
    return 1;
}

/* cancel(msg=None) */
static PyObject *cancel(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names)
{
    Py_ssize_t named = count_named(names, "msg");
    Py_ssize_t given = count + named;
    PyObject *message = given == 1 && arguments[0] != Py_None ? arguments[0] : NULL;

    if (named < 0 || given > 1) {
        PyErr_SetString(PyExc_TypeError, "cancel() takes a message");
        return NULL;
    }
    if (of(self)->state != SHOALPY_WAITER_PENDING)
        Py_RETURN_FALSE;
    if (end(self, SHOALPY_WAITER_CANCELLED, message, false) < 0)
        return NULL;
    Py_RETURN_TRUE;
}

/* ---- what became of it ---- */

static void raise_cancelled(const waiter_t *waiter)
{
    PyObject *error =
        PyObject_CallFunctionObjArgs(cancelled_error, waiter->value, NULL);

    if (error)
        PyErr_SetObject(cancelled_error, error);
    Py_XDECREF(error);
}

static PyObject *new_reference(PyObject *object)
{
    Py_INCREF(object);
    return object;
}

static PyObject *result(PyObject *self, PyObject *nothing)
{
    const waiter_t *waiter = of(self);

    (void)nothing;
    if (waiter->state == SHOALPY_WAITER_CANCELLED)
        raise_cancelled(waiter);
    else if (!waiter->value) /* or a garbage collection took it */
        PyErr_SetString(shoalpy_invalid_state, "Result is not ready.");
    else if (waiter->state == SHOALPY_WAITER_HAS_VALUE)
        return new_reference(waiter->value);
    else
        PyErr_SetObject((PyObject *)Py_TYPE(waiter->value), waiter->value);
    return NULL;
}

static PyObject *exception(PyObject *self, PyObject *nothing)
{
    const waiter_t *waiter = of(self);

    if (waiter->state == SHOALPY_WAITER_HAS_ERROR && waiter->value)
        return new_reference(waiter->value);
    if (waiter->state == SHOALPY_WAITER_HAS_VALUE)
        Py_RETURN_NONE;
    return result(self, nothing);
}

static PyObject *done(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return PyBool_FromLong(of(self)->state != SHOALPY_WAITER_PENDING);
}

static PyObject *cancelled(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return PyBool_FromLong(of(self)->state == SHOALPY_WAITER_CANCELLED);
}

/* ---- its task ---- */

/* add_done_callback(callback, *, context=None) */
static PyObject *add_done_callback(PyObject *self, PyObject *const *arguments,
                                   Py_ssize_t count, PyObject *names)
{
    waiter_t *waiter = of(self);
    Py_ssize_t named = count_named(names, "context");
    PyObject *context;

    if (count != 1 || named < 0) {
        PyErr_SetString(PyExc_TypeError, "add_done_callback() takes a callback");
        return NULL;
    }
    if (waiter->callback) {
        PyErr_SetString(PyExc_RuntimeError, "another task awaits this already");
        return NULL;
    }
    context = named ? arguments[1] : Py_None;
    if (context == Py_None)
        context = PyObject_CallNoArgs(copy_context);
    else
        Py_INCREF(context);
    if (!context)
        return NULL;
    waiter->callback = new_reference(arguments[0]);
    waiter->context = context;
    if (waiter->state != SHOALPY_WAITER_PENDING && wake(self, false) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *remove_done_callback(PyObject *self, PyObject *callback)
{
    waiter_t *waiter = of(self);
    int is_it = waiter->callback
                    ? PyObject_RichCompareBool(waiter->callback, callback, Py_EQ)
                    : 0;

    if (is_it < 0)
        return NULL;
    if (is_it) {
        Py_CLEAR(waiter->callback);
        Py_CLEAR(waiter->context);
    }
    return PyLong_FromLong(is_it);
}

/* It is its own iterator, as nobody else awaits it. */
static PyObject *await(PyObject *self)
{
    return new_reference(self);
}

static PySendResult send(PyObject *self, PyObject *sent, PyObject **ret_value)
{
    waiter_t *waiter = of(self);

    (void)sent;
    if (waiter->state == SHOALPY_WAITER_PENDING) {
        if (waiter->is_blocking) {
            PyErr_SetString(PyExc_RuntimeError, "await wasn't used with future");
            return PYGEN_ERROR;
        }
        waiter->is_blocking = true;
        *ret_value = new_reference(self);
        return PYGEN_NEXT;
    }
    *ret_value = result(self, NULL);
    return *ret_value ? PYGEN_RETURN : PYGEN_ERROR;
}

static PyObject *next(PyObject *self)
{
    PyObject *value, *stop;

    if (send(self, NULL, &value) != PYGEN_RETURN)
        return value;
    stop = PyObject_CallFunctionObjArgs(PyExc_StopIteration, value, NULL);
    if (stop)
        PyErr_SetObject(PyExc_StopIteration, stop);
    Py_XDECREF(stop);
    Py_DECREF(value);
    return NULL;
}

/* ---- the type ---- */

static PyObject *represent(PyObject *self)
{
    static const char *const names[] = {
        [SHOALPY_WAITER_PENDING] = "pending",
        [SHOALPY_WAITER_HAS_VALUE] = "finished",
        [SHOALPY_WAITER_HAS_ERROR] = "finished",
        [SHOALPY_WAITER_CANCELLED] = "cancelled",
    };

    return PyUnicode_FromFormat("<Waiter %s>", names[of(self)->state]);
}

/* asyncio.Future, for isinstance(): anyio asks so whether a task's reply has come, and then
 * leaves the task alone.  asyncio's own C code looks at the true type. */
static PyObject *get_class(PyObject *self, void *nothing)
{
    (void)self;
    (void)nothing;
    return new_reference(future_type);
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    const waiter_t *waiter = of(self);

    Py_VISIT(Py_TYPE(self));
    Py_VISIT(waiter->get_loop);
    Py_VISIT(waiter->callback);
    Py_VISIT(waiter->context);
    Py_VISIT(waiter->value);
    return 0;
}

/* The loop stays until the end: methods use it. */
static int clear(PyObject *self)
{
    waiter_t *waiter = of(self);

    Py_CLEAR(waiter->callback);
    Py_CLEAR(waiter->context);
    Py_CLEAR(waiter->value);
    return 0;
}

static void deallocate(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    if (of(self)->references)
        PyObject_ClearWeakRefs(self);
    clear(self);
    Py_XDECREF(of(self)->get_loop);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"set_result", set_result, METH_O, NULL},
    {"set_exception", set_exception, METH_O, NULL},
    {"cancel", (PyCFunction)(void (*)(void))cancel, METH_FASTCALL | METH_KEYWORDS,
     NULL},
    {"result", result, METH_NOARGS, NULL},
    {"exception", exception, METH_NOARGS, NULL},
    {"done", done, METH_NOARGS, NULL},
    {"cancelled", cancelled, METH_NOARGS, NULL},
    {"add_done_callback", (PyCFunction)(void (*)(void))add_done_callback,
     METH_FASTCALL | METH_KEYWORDS, NULL},
    {"remove_done_callback", remove_done_callback, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"get_loop", T_OBJECT_EX, offsetof(waiter_t, get_loop), READONLY, NULL},
    {"_asyncio_future_blocking", T_BOOL, offsetof(waiter_t, is_blocking), 0, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(waiter_t, references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"__class__", get_class, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ISO C has no way from a function to `void *` but over a number. */
#define SLOT(function) (void *)(uintptr_t)(function)

static PyType_Slot slots[] = {
    {Py_tp_dealloc, SLOT(deallocate)}, {Py_tp_traverse, SLOT(traverse)},
    {Py_tp_clear, SLOT(clear)},        {Py_tp_repr, SLOT(represent)},
    {Py_tp_methods, methods},          {Py_tp_members, members},
    {Py_tp_getset, properties},        {Py_tp_iter, SLOT(await)},
    {Py_tp_iternext, SLOT(next)},      {Py_am_await, SLOT(await)},
    {Py_am_send, SLOT(send)},          {0, NULL},
};

static PyType_Spec spec = {
    .name = "shoal._native.Waiter",
    .basicsize = sizeof(waiter_t),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

static PyObject *make_waiter(PyObject *get_loop, PyObject *nothing)
{
    PyObject *self = PyType_GenericAlloc(waiter_type, 0);

    (void)nothing;
    if (self)
        of(self)->get_loop = new_reference(get_loop);
    return self;
}

PyObject *shoalpy_waiter_new(PyObject *maker)
{
    if (Py_IS_TYPE(maker, &PyCFunction_Type) &&
        PyCFunction_GetFunction(maker) == make_waiter)
        return make_waiter(PyCFunction_GetSelf(maker), NULL);
    return PyObject_CallNoArgs(maker);
}

static PyObject *get_loop(PyObject *loop, PyObject *nothing)
{
    (void)nothing;
    return new_reference(loop);
}

/* A function that makes waiters of that loop.  They share the function which tells the loop:
 * as a method it would be made anew each time that a task asks. */
static PyObject *new_waiter_maker(PyObject *module, PyObject *loop)
{
    static PyMethodDef getter = {"get_loop", get_loop, METH_NOARGS, NULL};
    static PyMethodDef maker = {"maker", make_waiter, METH_NOARGS, NULL};
    PyObject *function, *made;

    (void)module;
    if (!waiter_type) {
        PyErr_SetString(PyExc_RuntimeError, "init_waiters() comes first");
        return NULL;
    }
    function = PyCFunction_NewEx(&getter, loop, NULL);
    made = function ? PyCFunction_NewEx(&maker, function, NULL) : NULL;
    Py_XDECREF(function);
    return made;
}

/* ---- the module ---- */

/* init_waiters(InvalidStateError, CancelledError, copy_context, Future, ready): what this needs
 * of modules that a program without event loops does not import, and one of those futures that
 * is done. */
static PyObject *init_waiters(PyObject *module, PyObject *const *arguments,
                              Py_ssize_t count)
{
    (void)module;
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "init_waiters() takes five objects");
        return NULL;
    }
    if (!waiter_type) {
        shoalpy_invalid_state = new_reference(arguments[0]);
        cancelled_error = new_reference(arguments[1]);
        copy_context = new_reference(arguments[2]);
        future_type = new_reference(arguments[3]);
        call_soon_name = PyUnicode_InternFromString("call_soon");
        context_names = Py_BuildValue("(s)", "context");
        if (call_soon_name && context_names && shoalpy_wakeup_begin(arguments[4]))
            waiter_type = (PyTypeObject *)PyType_FromSpec(&spec);
    }
    if (!waiter_type)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"init_waiters", (PyCFunction)(void (*)(void))init_waiters, METH_FASTCALL, NULL},
    {"new_waiter_maker", new_waiter_maker, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int shoalpy_waiter_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
