/* The reverse walk of backward.py, compiled: the same loop, which leaves for the same Python functions wherever a cotangent
   is more than one array or number on its way to a variable that has none yet.

   No reference to a cotangent may be held here while another is added to it: whether it can be written to is decided by who
   refers to it (cotangent.py). So those travel in a list, out of which the Python function takes them. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include "../slots.h"

static PyObject *STEPS, *pass_on, *own, *hand_out, *reverse_single, *reverse_record, *pulled_other, *accumulate, *dense, *str_pull;
static PyTypeObject *Step, *Tape, *Owned, *Indexed;
static Py_ssize_t step_active, step_back, step_direct, step_owns, step_plain, step_single, step_view, step_each, tape_log, tape_calls, tape_leaves, tape_recorder;

/* What a step makes of a cotangent: one for its parent, or one for each. */
static PyObject *pull(PyObject *step, PyObject *ct, PyObject *record)
{
    PyObject *direct = AT(step, step_direct);
    if (direct == Py_None) {
        PyObject *args[] = {ct, record};
        return PyObject_Vectorcall(AT(step, step_back), args, 2, NULL);
    }
    PyObject *args[6];
    Py_ssize_t count = PyTuple_GET_SIZE(direct) - 1;
    for (Py_ssize_t k = 0; k < count; k++) {
        Py_ssize_t slot = PyLong_AsSsize_t(PyTuple_GET_ITEM(direct, k + 1));
        args[k] = slot ? PyTuple_GET_ITEM(record, slot) : ct;
    }
    return PyObject_Vectorcall(PyTuple_GET_ITEM(direct, 0), args, count, NULL);
}

static inline int ordinary(PyObject *ct) { return PyArray_CheckExact(ct) || PyArray_IsScalar(ct, Double); }

/* Add cotangents to variables, the last first. Takes over `made`, a list. */
static int hand(PyObject *cts, PyObject *parents, PyObject *made)
{
    while (PyList_GET_SIZE(made)) {
        Py_ssize_t last = PyList_GET_SIZE(made) - 1;
        PyObject *new = PyList_GET_ITEM(made, last);
        Py_ssize_t parent = PyLong_AsSsize_t(PyTuple_GET_ITEM(parents, last));
        PyObject *old = PyList_GET_ITEM(cts, parent);
        if (old == Py_None && (ordinary(new) || new == Py_None)) {
            PyList_SetItem(cts, parent, Py_NewRef(new));
        } else if (PyArray_IsScalar(new, Double) && PyArray_IsScalar(old, Double)) {
            PyObject *sum = PyNumber_Add(old, new);
            if (sum == NULL)
                goto failed;
            PyList_SetItem(cts, parent, sum);
        } else {
            PyObject *args[] = {cts, parents, made};
            PyObject *done = PyObject_Vectorcall(hand_out, args, 3, NULL);
            if (done == NULL)
                goto failed;
            Py_DECREF(done);
            break;
        }
        PyList_SetSlice(made, last, last + 1, NULL);
    }
    Py_DECREF(made);
    return 0;
failed:
    Py_DECREF(made);
    return -1;
}

/* Reverse one record. Takes over `ct`. */
static int reverse(PyObject *cts, PyObject *step, PyObject *ct, PyObject *record)
{
    PyObject *made = NULL, *parent = PyTuple_GET_ITEM(record, 1), *parents = NULL;
    int failed = -1;
    if (Py_IS_TYPE(ct, Indexed) || Py_IS_TYPE(ct, Owned)) {
        if (Py_IS_TYPE(ct, Indexed)) {
            PyObject *args[] = {step, record, ct, cts};
            PyObject *passed = PyObject_Vectorcall(pass_on, args, 4, NULL);
            if (passed == NULL || passed == Py_True) {
                Py_XDECREF(passed);
                Py_DECREF(ct);
                return passed == NULL ? -1 : 0;
            }
            Py_DECREF(passed);
        }
        Py_SETREF(ct, PyObject_CallMethodNoArgs(ct, dense));
        if (ct == NULL)
            return -1;
    }
    if (AT(step, step_owns) == Py_True) {
        Py_SETREF(ct, PyObject_CallOneArg(own, ct));
        if (ct == NULL)
            return -1;
    }
    if (AT(step, step_plain) == Py_True &&
        (AT(step, step_view) != Py_True || PyList_GET_ITEM(cts, PyLong_AsSsize_t(parent)) == Py_None)) {
        PyObject *new = pull(step, ct, record);
        if (new == NULL)
            goto end;
        Py_ssize_t variable = PyLong_AsSsize_t(parent);
        if (PyList_GET_ITEM(cts, variable) == Py_None) {
            failed = PyList_SetItem(cts, variable, new);
            goto end;
        }
        if ((made = PyList_New(1)) == NULL) {
            Py_DECREF(new);
            goto end;
        }
        PyList_SET_ITEM(made, 0, new);
        parents = PyTuple_Pack(1, parent);
    } else if (AT(step, step_single) == Py_True) {
        PyObject *args[] = {step, ct, record, cts};
        PyObject *done = PyObject_Vectorcall(reverse_single, args, 4, NULL);
        failed = done == NULL ? -1 : 0;
        Py_XDECREF(done);
        goto end;
    } else {
        int active = PyObject_IsTrue(AT(step, step_active));
        if (active <= 0) {
            failed = active;
            goto end;
        }
        PyObject *all = pull(step, ct, record);
        if (all != NULL)
            made = PySequence_List(all);
        Py_XDECREF(all);
        parents = Py_NewRef(parent);
    }
    Py_CLEAR(ct);
    if (made != NULL && parents != NULL) {
        failed = hand(cts, parents, made);
        made = NULL;
    }
end:
    Py_XDECREF(parents);
    Py_XDECREF(made);
    Py_XDECREF(ct);
    return failed;
}

static PyObject *walk(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4 || !PyList_Check(args[0]) || !PyList_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "walk(log, cts, leaves, free)");
    PyObject *log = args[0], *cts = args[1];
    Py_ssize_t leaves = PyLong_AsSsize_t(args[2]), length = PyList_GET_SIZE(cts);
    int free = args[3] == Py_True;
    if ((leaves == -1 && PyErr_Occurred()) || length > PyList_GET_SIZE(log) || leaves > length)
        return PyErr_Format(PyExc_ValueError, "walk: more cotangents than records, or fewer than leaves");
    if (free && PyList_SetSlice(log, length, PyList_GET_SIZE(log), NULL) < 0)
        return NULL;
    for (Py_ssize_t k = length - 1; k >= leaves; k--) {
        PyObject *record = PyList_GET_ITEM(log, k), *ct = PyList_GET_ITEM(cts, k);
        if (free)
            PyList_SET_ITEM(log, k, Py_NewRef(Py_None));
        else
            Py_INCREF(record);
        if (ct == Py_None) {
            Py_DECREF(record);
            continue;
        }
        PyList_SET_ITEM(cts, k, Py_NewRef(Py_None));
        PyObject *step = PyList_GET_ITEM(STEPS, PyLong_AsSsize_t(PyTuple_GET_ITEM(record, 0)));
        int failed = reverse(cts, step, ct, record);
        Py_DECREF(record);
        if (failed)
            return NULL;
    }
    if (PyList_SetSlice(cts, leaves, length, NULL) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* The variable a cotangent belongs to, as traces count: that of the call that made it, or -2 - k for the k-th input. */
static PyObject *variable_of(PyObject *calls, PyObject *parent, Py_ssize_t leaves)
{
    Py_ssize_t k = PyLong_AsSsize_t(parent);
    if (k < leaves)
        return PyLong_FromSsize_t(-2 - k);
    PyObject *found = PyDict_GetItemWithError(calls, parent);
    return found != NULL ? Py_NewRef(found) : PyErr_Occurred() ? NULL : PyLong_FromLong(-1);
}

/* Run the pullback of the k-th input in the sight of the recorder. */
static PyObject *pulled(PyObject *tape, PyObject *pulling, PyObject *step, Py_ssize_t k, PyObject *parent, PyObject *call, PyObject *ct,
                        PyObject *record, Py_ssize_t leaves)
{
    PyObject *each = PyList_GET_ITEM(AT(step, step_each), k), *title = PyTuple_GET_ITEM(each, 0), *new = NULL;
    PyObject *variable = variable_of(AT(tape, tape_calls), parent, leaves);
    if (variable != NULL) {
        PyObject *args[] = {PyTuple_GET_ITEM(each, 1), ct, record, call, title, variable};
        new = PyObject_Vectorcall(pulling, args, 6, NULL);
    }
    if (new != NULL && !PyArray_CheckExact(new) && !PyFloat_Check(new)) {
        PyObject *args[] = {tape, step, call, title, variable, new, ct};
        PyObject *done = PyObject_Vectorcall(pulled_other, args, 7, NULL);
        if (done == NULL)
            Py_CLEAR(new);
        Py_XDECREF(done);
    }
    Py_XDECREF(variable);
    return new;
}

/* Add what the pullbacks of a step gave to their variables, the last first; only the list holds it. */
static int hand_watched(PyObject *tape, PyObject *cts, PyObject *parents, PyObject *call, PyObject *made)
{
    Py_ssize_t last;
    while ((last = PyList_GET_SIZE(made) - 1) >= 0) {
        PyObject *parent = PyTuple_GET_ITEM(parents, last);
        Py_ssize_t variable = PyLong_AsSsize_t(parent);
        if (PyList_GET_ITEM(cts, variable) != Py_None && PyList_GET_ITEM(made, last) != Py_None) {
            PyObject *args[] = {tape, cts, parent, call, made};
            PyObject *done = PyObject_Vectorcall(accumulate, args, 5, NULL);
            if (done == NULL)
                return -1;
            Py_DECREF(done);
            continue;
        }
        if (PyList_GET_ITEM(cts, variable) == Py_None)
            PyList_SetItem(cts, variable, Py_NewRef(PyList_GET_ITEM(made, last)));
        if (PyList_SetSlice(made, last, last + 1, NULL) < 0)
            return -1;
    }
    return 0;
}

/* The short way of watched.py, for pullbacks that stand by themselves. Takes over `ct`. */
static int reverse_watched(PyObject *tape, PyObject *pulling, PyObject *cts, PyObject *step, PyObject *ct, PyObject *record, PyObject *number,
                           Py_ssize_t leaves)
{
    PyObject *parent = PyTuple_GET_ITEM(record, 1), *call = variable_of(AT(tape, tape_calls), number, 0);
    PyObject *parents = PyTuple_Check(parent) ? Py_NewRef(parent) : PyTuple_Pack(1, parent);
    Py_ssize_t count = PyList_GET_SIZE(AT(step, step_each));
    PyObject *made = PyList_New(count);
    int failed = parents == NULL || call == NULL || made == NULL;
    for (Py_ssize_t k = 0; k < count && !failed; k++) {
        PyObject *new = pulled(tape, pulling, step, k, PyTuple_GET_ITEM(parents, k), call, ct, record, leaves);
        failed = new == NULL || PyList_SetItem(made, k, new) < 0;
    }
    if (!failed)
        failed = hand_watched(tape, cts, parents, call, made) < 0;
    Py_XDECREF(made);
    Py_XDECREF(parents);
    Py_XDECREF(call);
    Py_DECREF(ct);
    return failed;
}

static PyObject *watched_walk(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3 || !Py_IS_TYPE(args[0], Tape) || !PyList_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "watched_walk(tape, cts, free)");
    PyObject *tape = args[0], *cts = args[1], *log = AT(tape, tape_log);
    PyObject *pulling = PyObject_GetAttr(AT(tape, tape_recorder), str_pull);
    Py_ssize_t leaves = PyLong_AsSsize_t(AT(tape, tape_leaves));
    int free = args[2] == Py_True, failed = pulling == NULL;
    for (Py_ssize_t k = PyList_GET_SIZE(cts) - 1; k >= leaves && !failed; k--) {
        PyObject *record = Py_NewRef(PyList_GET_ITEM(log, k)), *ct = PyList_GET_ITEM(cts, k);
        if (free)
            PyList_SetItem(log, k, Py_NewRef(Py_None));
        if (ct == Py_None) {
            Py_DECREF(record);
            continue;
        }
        PyObject *step = PyList_GET_ITEM(STEPS, PyLong_AsSsize_t(PyTuple_GET_ITEM(record, 0)));
        PyObject *number = PyLong_FromSsize_t(k);
        if (number == NULL) {
            failed = 1;
        } else if (PyList_GET_SIZE(AT(step, step_each)) && !Py_IS_TYPE(ct, Owned) && !Py_IS_TYPE(ct, Indexed)) {
            PyList_SET_ITEM(cts, k, Py_NewRef(Py_None));
            failed = reverse_watched(tape, pulling, cts, step, ct, record, number, leaves);
        } else {
            PyObject *all[] = {tape, cts, number, record};
            PyObject *done = PyObject_Vectorcall(reverse_record, all, 4, NULL);
            failed = done == NULL;
            Py_XDECREF(done);
        }
        Py_XDECREF(number);
        Py_DECREF(record);
    }
    Py_XDECREF(pulling);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *know(PyObject *module, PyObject *args)
{
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOO", &STEPS, &Step, &Tape, &Owned, &Indexed, &pass_on, &own, &hand_out, &reverse_single,
                          &reverse_record, &pulled_other, &accumulate))
        return NULL;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); k++)
        Py_INCREF(PyTuple_GET_ITEM(args, k));
    if ((step_active = place_of(Step, "active")) < 0 || (step_back = place_of(Step, "back")) < 0 ||
        (step_direct = place_of(Step, "direct")) < 0 || (step_owns = place_of(Step, "owns")) < 0 ||
        (step_plain = place_of(Step, "plain")) < 0 || (step_single = place_of(Step, "single")) < 0 ||
        (step_view = place_of(Step, "view")) < 0 || (step_each = place_of(Step, "each")) < 0 || (tape_log = place_of(Tape, "log")) < 0 ||
        (tape_calls = place_of(Tape, "calls")) < 0 || (tape_leaves = place_of(Tape, "leaves")) < 0 ||
        (tape_recorder = place_of(Tape, "recorder")) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"know", know, METH_VARARGS, "know(STEPS, Step, Tape, Owned, Indexed, pass_on, own, hand_out, reverse_single, reverse_record, pulled_other,\n"
     "accumulate): what backward.py has."},
    {"walk", (PyCFunction)(void (*)(void))walk, METH_FASTCALL, "walk(log, cts, leaves, free): as in backward.py."},
    {"watched_walk", (PyCFunction)(void (*)(void))watched_walk, METH_FASTCALL, "watched_walk(tape, cts, free): as in watched.py."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_backward", "The walk of backward.py, compiled.", -1, functions,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__backward(void)
{
    import_array();
    if ((dense = PyUnicode_InternFromString("dense")) == NULL || (str_pull = PyUnicode_InternFromString("pull")) == NULL)
        return NULL;
    return PyModule_Create(&definition);
}
