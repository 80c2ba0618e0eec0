/* The ordinary cases of call.py, compiled: one traced array with plain options, and two operands. See there what each step is for.
   Whatever else there is leaves for the same Python function. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include "traced.h"

/* ---- what call.py knows too */

static PyTypeObject *Rule;
static PyObject *otherwise, *python_alike, *python_looks_at, *keep;
static PyObject *str_call, *str_dtype, *str_last, *str_variant;
static Py_ssize_t rule_elementwise, rule_inputs, rule_name, rule_outputs, rule_pair, rule_positions, rule_run, rule_variants, rule_view;
static Py_ssize_t view_value, view_tape, view_index, view_root, view_seen, view_views;

enum { MOST_ARGUMENTS = 14 };
enum { KEEP, CODE, SAVES, SLOTS, KEPT }; /* the fields of a Variant */

/* The variant of a rule for the differentiated inputs `active`. */
static PyObject *variant_of(PyObject *rule, PyObject *active, int fitted)
{
    PyObject *key = PyTuple_Pack(2, active, fitted ? Py_True : Py_False);
    if (key == NULL)
        return NULL;
    PyObject *found = Py_XNewRef(PyDict_GetItemWithError(AT(rule, rule_variants), key));
    if (found == NULL && !PyErr_Occurred())
        found = PyObject_CallMethodOneArg(rule, str_variant, key);
    Py_DECREF(key);
    return found;
}

/* Run a rule on what its arguments are one level down, in the sight of the recorder if there is one. `savable` are bits of the
   operands that its pullbacks may keep. */
static PyObject *compute(PyObject *tape, PyObject *rule, PyObject *active, PyObject *values, long savable)
{
    PyObject *recorder = AT(tape, tape_recorder);
    if (recorder == Py_None || PyObject_TypeCheck(PyTuple_GET_ITEM(values, 0), Array)) /* of an enclosing derivative, which records it */
        return PyObject_Vectorcall(AT(rule, rule_run), &PyTuple_GET_ITEM(values, 0), PyTuple_GET_SIZE(values), NULL);
    PyObject *variant = variant_of(rule, active, 0), *saves = NULL, *flags = NULL, *out = NULL;
    if (variant != NULL && (flags = PyLong_FromLong(0)) != NULL)
        saves = PyLong_FromLong(PyLong_AsLong(PyTuple_GET_ITEM(variant, SAVES)) & savable);
    if (saves != NULL) {
        PyObject *args[] = {recorder, AT(rule, rule_name), AT(rule, rule_run), values, flags, saves};
        Py_INCREF(recorder);
        out = PyObject_VectorcallMethod(str_call, args, 6, NULL);
        Py_DECREF(recorder);
    }
    Py_XDECREF(saves);
    Py_XDECREF(flags);
    Py_XDECREF(variant);
    return out;
}

/* Write the record of a call that has run; the number of the variable it made. Takes over `parents`. */
static PyObject *remember(PyObject *tape, PyObject *variant, PyObject *parents, PyObject *out, PyObject *values)
{
    PyObject *log = AT(tape, tape_log), *args[2 + MOST_ARGUMENTS] = {parents, out}, *record = NULL, *number = NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(values);
    if (parents == NULL)
        return NULL;
    if (!PyList_CheckExact(log)) { /* another thread has closed it meanwhile */
        PyErr_SetString(PyExc_RuntimeError, "the gradient was taken while one of its calls still ran");
    } else {
        memcpy(args + 2, &PyTuple_GET_ITEM(values, 0), count * sizeof *args);
        record = PyObject_Vectorcall(PyTuple_GET_ITEM(variant, KEEP), args, 2 + count, NULL);
        if (record != NULL && (number = PyLong_FromSsize_t(PyList_GET_SIZE(log))) != NULL && PyList_Append(log, record) < 0)
            Py_CLEAR(number);
    }
    Py_DECREF(parents);
    Py_XDECREF(record);
    if (number != NULL && AT(tape, tape_recorder) != Py_None) {
        PyObject *last = PyObject_GetAttr(AT(tape, tape_recorder), str_last);
        if (last == NULL || PyDict_SetItem(AT(tape, tape_calls), number, last) < 0)
            Py_CLEAR(number);
        Py_XDECREF(last);
    }
    return number;
}

/* ---- one array and plain options */

/* As `plain_options`: no argument but the first can be or contain a traced array. */
static int plain_options(PyObject *arguments)
{
    for (Py_ssize_t k = 1; k < PyTuple_GET_SIZE(arguments); k++) {
        PyObject *argument = PyTuple_GET_ITEM(arguments, k);
        if (PyTuple_CheckExact(argument)) {
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(argument); i++)
                if (!PyLong_CheckExact(PyTuple_GET_ITEM(argument, i)))
                    return 0;
        } else if (PyList_CheckExact(argument) || PyArray_CheckExact(argument) || PyObject_TypeCheck(argument, Array)) {
            return 0;
        }
    }
    return 1;
}

/* The answer of a Python function of call.py; -1 is an error. Takes over `answer`. */
static int truth(PyObject *answer)
{
    int yes = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return yes;
}

static int alike(PyObject *rule, PyObject *value, PyObject *out)
{
    if (PyArray_CheckExact(value) && PyArray_CheckExact(out)) {
        PyArrayObject *a = (PyArrayObject *)value, *b = (PyArrayObject *)out;
        if (PyArray_DESCR(a) == PyArray_DESCR(b))
            return AT(rule, rule_elementwise) == Py_False || PyArray_SAMESHAPE(a, b);
    }
    PyObject *args[] = {rule, value, out};
    return truth(PyObject_Vectorcall(python_alike, args, 3, NULL));
}

static int looks_at(PyObject *out, PyObject *value)
{
    if (PyArray_CheckExact(out) && PyArray_CheckExact(value)) {
        PyObject *base = PyArray_BASE((PyArrayObject *)out), *other = PyArray_BASE((PyArrayObject *)value);
        if (base == NULL && other == NULL)
            return out == value;
        if (base == value || (base == other && PyArray_CheckExact(base)))
            return 1;
    }
    PyObject *args[] = {out, value};
    return truth(PyObject_Vectorcall(python_looks_at, args, 2, NULL));
}

/* As `View(out, tape, number, source, (rule, options))`, for a source that is an `Array` or a `View`. */
static PyObject *new_view(PyObject *out, PyObject *tape, PyObject *number, PyObject *source, PyObject *rule, PyObject *options)
{
    PyObject *view = options == NULL ? NULL : PyTuple_Pack(2, rule, options), *views = view == NULL ? NULL : PyTuple_Pack(1, view);
    PyObject *root = source, *seen = NULL, *made = NULL;
    if (views != NULL && Py_IS_TYPE(source, View)) {
        root = AT(source, view_root);
        Py_SETREF(views, PySequence_Concat(AT(source, view_views), views));
    }
    if (views != NULL && (seen = field(root, array_index, str_index)) != NULL && (made = View->tp_alloc(View, 0)) != NULL) {
        AT(made, view_value) = Py_NewRef(out);
        AT(made, view_tape) = Py_NewRef(tape);
        AT(made, view_index) = Py_NewRef(number);
        AT(made, view_root) = Py_NewRef(root);
        AT(made, view_views) = Py_NewRef(views);
        AT(made, view_seen) = Py_NewRef(seen);
    }
    Py_XDECREF(seen);
    Py_XDECREF(views);
    Py_XDECREF(view);
    return made;
}

static PyObject *call_one(PyObject *tape, PyObject *rule, PyObject *first, PyObject *arguments)
{
    PyObject *made = NULL, *values = NULL, *out = NULL, *variant = NULL, *number = NULL, *inputs = AT(rule, rule_inputs);
    PyObject *value = field(first, array_value, str_value);
    if (value == NULL || (values = PyTuple_New(PyTuple_GET_SIZE(arguments))) == NULL)
        goto end;
    PyTuple_SET_ITEM(values, 0, Py_NewRef(value));
    for (Py_ssize_t k = 1; k < PyTuple_GET_SIZE(arguments); k++)
        PyTuple_SET_ITEM(values, k, Py_NewRef(PyTuple_GET_ITEM(arguments, k)));
    if ((out = compute(tape, rule, inputs, values, ~2L)) == NULL) /* the second argument is an option */
        goto end;
    int same = alike(rule, value, out);
    if (same < 0 || (variant = variant_of(rule, inputs, !same)) == NULL ||
        (number = remember(tape, variant, field(first, array_index, str_index), out, values)) == NULL)
        goto end;
    int view = AT(rule, rule_view) == Py_True ? looks_at(out, value) : 0;
    if (view == 1) {
        PyObject *options = PyTuple_GetSlice(values, 1, PyTuple_GET_SIZE(values));
        made = new_view(out, tape, number, first, rule, options);
        Py_XDECREF(options);
    } else if (view == 0) {
        made = new_array(out, tape, number);
    }
end:
    Py_XDECREF(number);
    Py_XDECREF(variant);
    Py_XDECREF(out);
    Py_XDECREF(values);
    Py_XDECREF(value);
    return made;
}

/* ---- two operands */

/* Whether a plain array has another dtype than a result; -1 is an error. */
static int differs(PyObject *array, PyObject *out)
{
    PyArray_Descr *mine = PyArray_DESCR((PyArrayObject *)array);
    if (PyArray_CheckExact(out) && PyArray_DESCR((PyArrayObject *)out) == mine)
        return 0;
    PyObject *other = PyObject_GetAttr(out, str_dtype);
    if (other == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 1;
    }
    int differ = PyObject_RichCompareBool((PyObject *)mine, other, Py_NE);
    Py_DECREF(other);
    return differ;
}

/* Let `values` hold what a record may hold of an operand that is the program's own, if the record does hold it. */
static int keep_plain(PyObject *tape, PyObject *variant, PyObject *values, Py_ssize_t position)
{
    PyObject *kept = PyTuple_GET_ITEM(variant, KEPT);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kept); k++) {
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(kept, k)) != position)
            continue;
        PyObject *value = PyTuple_GET_ITEM(values, position), *args[] = {tape, value, value};
        PyObject *safe = PyObject_Vectorcall(keep, args, 3, NULL);
        if (safe == NULL)
            return -1;
        PyTuple_SET_ITEM(values, position, safe);
        Py_DECREF(value);
    }
    return 0;
}

/* The call if it is an ordinary one; NULL without an exception if it is not. */
static PyObject *call_two(PyObject *rule, PyObject *x, PyObject *y)
{
    int x_traced = is_array(x), y_traced = is_array(y);
    if (!x_traced && !y_traced)
        return NULL;
    PyObject *tape = field(x_traced ? x : y, array_tape, str_tape), *made = NULL, *theirs = NULL, *inputs = AT(rule, rule_inputs);
    PyObject *a = NULL, *b = NULL, *values = NULL, *active = NULL, *out = NULL, *variant = NULL, *parents = NULL, *number = NULL;
    if (tape == NULL || !is_open(tape) || (a = x_traced ? field(x, array_value, str_value) : Py_NewRef(x)) == NULL ||
        (b = y_traced ? field(y, array_value, str_value) : Py_NewRef(y)) == NULL || !PyArray_CheckExact(a) || !PyArray_CheckExact(b))
        goto end;
    if (x_traced && y_traced && (theirs = field(y, array_tape, str_tape)) != tape)
        goto end;
    if ((values = PyTuple_Pack(2, a, b)) == NULL || (active = PyTuple_GetSlice(inputs, !x_traced, 1 + y_traced)) == NULL ||
        (out = compute(tape, rule, active, values, ~0L)) == NULL)
        goto end;
    int fitted = x_traced ? differs(a, out) : 0;
    if (fitted == 0 && y_traced)
        fitted = differs(b, out);
    if (fitted < 0 || (variant = variant_of(rule, active, fitted)) == NULL)
        goto end;
    if (!(x_traced && y_traced) && keep_plain(tape, variant, values, x_traced) < 0)
        goto end;
    PyObject *mine = x_traced ? field(x, array_index, str_index) : NULL, *its = y_traced ? field(y, array_index, str_index) : NULL;
    if (x_traced && y_traced)
        parents = mine == NULL || its == NULL ? NULL : PyTuple_Pack(2, mine, its);
    else
        parents = Py_XNewRef(x_traced ? mine : its);
    Py_XDECREF(mine);
    Py_XDECREF(its);
    if ((number = remember(tape, variant, parents, out, values)) != NULL)
        made = new_array(out, tape, number);
end:
    Py_XDECREF(number);
    Py_XDECREF(variant);
    Py_XDECREF(out);
    Py_XDECREF(active);
    Py_XDECREF(values);
    Py_XDECREF(theirs);
    Py_XDECREF(b);
    Py_XDECREF(a);
    Py_XDECREF(tape);
    return made;
}

/* ---- call */

static int is_first(PyObject *positions)
{
    return PyTuple_GET_SIZE(positions) == 1 && PyLong_AsSsize_t(PyTuple_GET_ITEM(positions, 0)) == 0;
}

static PyObject *call(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2 || !PyObject_TypeCheck(args[0], Rule) || !PyTuple_CheckExact(args[1]))
        return PyErr_Format(PyExc_TypeError, "call(rule, arguments)");
    PyObject *rule = args[0], *arguments = args[1], *made;
    Py_ssize_t size = PyTuple_GET_SIZE(arguments);
    if (AT(rule, rule_pair) == Py_True && size == 2) {
        if ((made = call_two(rule, PyTuple_GET_ITEM(arguments, 0), PyTuple_GET_ITEM(arguments, 1))) != NULL || PyErr_Occurred())
            return made;
    } else if (size && size <= MOST_ARGUMENTS && is_array(PyTuple_GET_ITEM(arguments, 0)) && is_first(AT(rule, rule_positions)) &&
               AT(rule, rule_outputs) == Py_False && plain_options(arguments)) {
        PyObject *first = PyTuple_GET_ITEM(arguments, 0), *tape = field(first, array_tape, str_tape);
        if (tape == NULL)
            return NULL;
        if (is_open(tape)) {
            made = call_one(tape, rule, first, arguments);
            Py_DECREF(tape);
            return made;
        }
        Py_DECREF(tape);
    }
    return PyObject_Vectorcall(otherwise, args, 2, NULL);
}

/* ---- the module */

static PyObject *know(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *array, *view, *tape;
    if (!PyArg_ParseTuple(args, "OOOOOOOO", &array, &view, &tape, &Rule, &otherwise, &python_alike, &python_looks_at, &keep))
        return NULL;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); k++)
        Py_INCREF(PyTuple_GET_ITEM(args, k));
    if (know_traced(array, view, tape) < 0 || (view_value = place_of(View, "_value")) < 0 || (view_tape = place_of(View, "_tape")) < 0 ||
        (view_index = place_of(View, "_index")) < 0 || (view_root = place_of(View, "root")) < 0 ||
        (view_seen = place_of(View, "seen")) < 0 || (view_views = place_of(View, "views")) < 0 ||
        (rule_elementwise = place_of(Rule, "elementwise")) < 0 || (rule_inputs = place_of(Rule, "inputs")) < 0 ||
        (rule_name = place_of(Rule, "name")) < 0 || (rule_outputs = place_of(Rule, "outputs")) < 0 ||
        (rule_pair = place_of(Rule, "pair")) < 0 || (rule_positions = place_of(Rule, "positions")) < 0 ||
        (rule_run = place_of(Rule, "run")) < 0 || (rule_variants = place_of(Rule, "variants")) < 0 ||
        (rule_view = place_of(Rule, "view")) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"know", know, METH_VARARGS, "know(Array, View, Tape, Rule, call, alike, looks_at, keep): what call.py has."},
    {"call", (PyCFunction)(void (*)(void))call, METH_FASTCALL, "call(rule, arguments): as in call.py."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_call", "The ordinary cases of call.py, compiled.", -1, functions,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__call(void)
{
    import_array();
    if ((str_call = PyUnicode_InternFromString("call")) == NULL || (str_dtype = PyUnicode_InternFromString("dtype")) == NULL ||
        (str_last = PyUnicode_InternFromString("last")) == NULL || (str_variant = PyUnicode_InternFromString("variant")) == NULL)
        return NULL;
    return PyModule_Create(&definition);
}
