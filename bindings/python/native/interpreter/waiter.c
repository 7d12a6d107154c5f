/* SPDX-License-Identifier: MIT */
#include "waiter.h"

#include "exclusive.h"
#include "wakeup.h"
#include <stdatomic.h>
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
    PyObject *value;      /* or the exception, or what cancel() was told, or NULL: it
                             stays once the state is another one than pending */
    PyObject *references; /* weak ones */
    char is_blocking;     /* asyncio's mark: it was awaited just now */
    _Atomic shoalpy_waiter_state_t state;
} waiter_t;

/* Of this process, for ever. */
static PyTypeObject *waiter_type;
PyObject *shoalpy_invalid_state;
static PyObject *cancelled_error, *copy_context, *future_type;

static waiter_t *of(PyObject *object)
{
    return (waiter_t *)object;
}

static shoalpy_waiter_state_t state_of(PyObject *self)
{
    return atomic_load_explicit(&of(self)->state, memory_order_acquire);
}

/* ---- its end ---- */

/* Let its task go on: here and now, or soon.  Where memory lacks before its step, the task
 * waits for ever, and the loop's exception handler is told: a second try might run a step
 * twice. */
static int wake(PyObject *self, bool is_now)
{
    waiter_t *waiter = of(self);
    PyObject *callback, *context;
    int rc;

    SHOALPY_BEGIN_EXCLUSIVE(self);
    callback = waiter->callback;
    context = waiter->context;
    waiter->callback = waiter->context = NULL;
    SHOALPY_END_EXCLUSIVE();
    if (!callback)
        return 0;
    rc = is_now ? shoalpy_wakeup_run(self, callback, context)
                : shoalpy_wakeup_soon(PyCFunction_GetSelf(waiter->get_loop), self,
                                      callback, context);
    Py_DECREF(callback);
    Py_DECREF(context);
    return rc;
}

/* False: it was done before. */
static bool settle(PyObject *self, shoalpy_waiter_state_t state, PyObject *value)
{
    waiter_t *waiter = of(self);
    bool was_pending;

    SHOALPY_BEGIN_EXCLUSIVE(self);
    was_pending = state_of(self) == SHOALPY_WAITER_PENDING;
    if (was_pending) {
        Py_XINCREF(value);
        waiter->value = value;
        atomic_store_explicit(&waiter->state, state, memory_order_release);
    }
    SHOALPY_END_EXCLUSIVE();
    return was_pending;
}

int shoalpy_waiter_end(PyObject *object, shoalpy_waiter_state_t state, PyObject *value,
                       bool is_now)
{
    return settle(object, state, value) ? wake(object, is_now) : 1;
}

bool shoalpy_is_waiter(PyObject *object)
{
    return Py_IS_TYPE(object, waiter_type);
}

bool shoalpy_waiter_is_pending(PyObject *object)
{
    return state_of(object) == SHOALPY_WAITER_PENDING;
}

static PyObject *end_once(PyObject *self, shoalpy_waiter_state_t state, PyObject *value)
{
    int rc = shoalpy_waiter_end(self, state, value, false);

    if (rc > 0)
        PyErr_SetString(shoalpy_invalid_state, "invalid state");
    if (rc != 0)
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
    int rc;

    if (named < 0 || given > 1) {
        PyErr_SetString(PyExc_TypeError, "cancel() takes a message");
        return NULL;
    }
    rc = shoalpy_waiter_end(self, SHOALPY_WAITER_CANCELLED, message, false);
    return rc < 0 ? NULL : PyBool_FromLong(rc == 0);
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
    shoalpy_waiter_state_t state = state_of(self);

    (void)nothing;
    if (state == SHOALPY_WAITER_CANCELLED)
        raise_cancelled(waiter);
    else if (state == SHOALPY_WAITER_PENDING || !waiter->value) /* garbage has none */
        PyErr_SetString(shoalpy_invalid_state, "Result is not ready.");
    else if (state == SHOALPY_WAITER_HAS_VALUE)
        return new_reference(waiter->value);
    else
        PyErr_SetObject((PyObject *)Py_TYPE(waiter->value), waiter->value);
    return NULL;
}

static PyObject *exception(PyObject *self, PyObject *nothing)
{
    const waiter_t *waiter = of(self);
    shoalpy_waiter_state_t state = state_of(self);

    if (state == SHOALPY_WAITER_HAS_ERROR && waiter->value)
        return new_reference(waiter->value);
    if (state == SHOALPY_WAITER_HAS_VALUE)
        Py_RETURN_NONE;
    return result(self, nothing);
}

static PyObject *done(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return PyBool_FromLong(state_of(self) != SHOALPY_WAITER_PENDING);
}

static PyObject *cancelled(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return PyBool_FromLong(state_of(self) == SHOALPY_WAITER_CANCELLED);
}

/* ---- its task ---- */

/* add_done_callback(callback, *, context=None) */
static PyObject *add_done_callback(PyObject *self, PyObject *const *arguments,
                                   Py_ssize_t count, PyObject *names)
{
    waiter_t *waiter = of(self);
    Py_ssize_t named = count_named(names, "context");
    PyObject *context;
    bool is_first;

    if (count != 1 || named < 0) {
        PyErr_SetString(PyExc_TypeError, "add_done_callback() takes a callback");
        return NULL;
    }
    context = named ? arguments[1] : Py_None;
    if (context == Py_None)
        context = PyObject_CallNoArgs(copy_context);
    else
        Py_INCREF(context);
    if (!context)
        return NULL;
    SHOALPY_BEGIN_EXCLUSIVE(self);
    is_first = !waiter->callback;
    if (is_first) {
        waiter->callback = new_reference(arguments[0]);
        waiter->context = context;
    }
    SHOALPY_END_EXCLUSIVE();
    if (!is_first) {
        Py_DECREF(context);
        PyErr_SetString(PyExc_RuntimeError, "another task awaits this already");
        return NULL;
    }
    if (state_of(self) != SHOALPY_WAITER_PENDING && wake(self, false) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *remove_done_callback(PyObject *self, PyObject *callback)
{
    waiter_t *waiter = of(self);
    PyObject *present, *context = NULL;
    int is_it;

    SHOALPY_BEGIN_EXCLUSIVE(self);
    present = waiter->callback;
    Py_XINCREF(present);
    SHOALPY_END_EXCLUSIVE();
    is_it = present ? PyObject_RichCompareBool(present, callback, Py_EQ) : 0;
    SHOALPY_BEGIN_EXCLUSIVE(self);
    if (is_it > 0 && waiter->callback == present) {
        context = waiter->context;
        waiter->callback = waiter->context = NULL;
    }
    SHOALPY_END_EXCLUSIVE();
    if (context)
        Py_DECREF(present); /* the waiter's */
    Py_XDECREF(context);
    Py_XDECREF(present);
    return is_it < 0 ? NULL : PyLong_FromLong(is_it);
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
    if (state_of(self) == SHOALPY_WAITER_PENDING) {
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

    return PyUnicode_FromFormat("<Waiter %s>", names[state_of(self)]);
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
        if (shoalpy_wakeup_begin(arguments[4]))
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
