/* The straight paths of straight.py, compiled: see there what they are for, and in its templates what each of them does.

   A `Path` is what one filled-in template is in Python: one operator or ufunc with its rule's record. An `Answer` is
   `__array_ufunc__`, which knows the paths by their ufuncs. Whatever is not ordinary leaves for the same Python functions. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include "traced.h"

/* ---- what straight.py knows too */

static PyObject *SCALARS, *REALS, *CONSTANTS, *constant_array, *like;
static PyArray_Descr *float64;
static PyObject *str_clock, *str_quick, *str_shape, *str_dtype, *str_call;

static inline int in_set(PyObject *set, PyTypeObject *type) { return PySet_Contains(set, (PyObject *)type); }

/* ---- paths */

enum Slot { X, Y, OUT, LIKE_X, LIKE_Y, MOST_SLOTS };

typedef struct {
    PyObject *code;
    PyObject *saves;
    int count;
    unsigned char slots[MOST_SLOTS];
} Variant;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *ufunc, *otherwise, *name, *keep_fitted;
    binaryfunc operate; /* NULL where the ufunc itself is called */
    int reflected, steady, squares;
    Variant one, both;
} Path;

static PyObject *power(PyObject *x, PyObject *y) { return PyNumber_Power(x, y, Py_None); }

/* What a record keeps for a slot of its rule. */
static PyObject *kept(unsigned char slot, PyObject *x, PyObject *y, PyObject *out)
{
    switch (slot) {
    case X:
        return Py_NewRef(x);
    case Y:
        return Py_NewRef(y);
    case OUT:
        return Py_NewRef(out);
    default:
        return PyObject_CallOneArg(like, slot == LIKE_X ? x : y);
    }
}

/* The record of a call; without a variant it is that of two operands whose cotangents must be fitted. Takes over `parents`. */
static PyObject *record_of(const Path *path, const Variant *variant, PyObject *parents, PyObject *x, PyObject *y, PyObject *out)
{
    if (variant == NULL) {
        PyObject *args[] = {parents, out, x, y};
        PyObject *record = PyObject_Vectorcall(path->keep_fitted, args, 4, NULL);
        Py_DECREF(parents);
        return record;
    }
    PyObject *record = PyTuple_New(2 + variant->count);
    if (record == NULL) {
        Py_DECREF(parents);
        return NULL;
    }
    PyTuple_SET_ITEM(record, 0, Py_NewRef(variant->code));
    PyTuple_SET_ITEM(record, 1, parents);
    for (int k = 0; k < variant->count; k++) {
        PyObject *value = kept(variant->slots[k], x, y, out);
        if (value == NULL) {
            Py_DECREF(record);
            return NULL;
        }
        PyTuple_SET_ITEM(record, 2 + k, value);
    }
    return record;
}

/* Append a record, and give the array it stands for. Takes over `record`. */
static PyObject *remember(PyObject *tape, PyObject *record, PyObject *out)
{
    PyObject *log = AT(tape, tape_log), *array = NULL, *number;
    if (record == NULL)
        return NULL;
    number = PyLong_FromSsize_t(PyList_GET_SIZE(log));
    if (number != NULL && PyList_Append(log, record) == 0)
        array = new_array(out, tape, number);
    Py_XDECREF(number);
    Py_DECREF(record);
    return array;
}

static inline int quick(PyObject *tape) { return Py_IS_TYPE(tape, Tape) && AT(tape, tape_quick) == Py_True; }

static PyObject *now(PyObject *recorder)
{
    PyObject *clock = PyObject_GetAttr(recorder, str_clock);
    PyObject *time = clock == NULL ? NULL : PyObject_CallNoArgs(clock);
    Py_XDECREF(clock);
    return time;
}

static PyObject *compute(const Path *path, PyObject *x, PyObject *y)
{
    return path->operate == NULL ? PyObject_CallOneArg(path->ufunc, x) : path->operate(x, y);
}

/* Compute and remember with the recorder listening. Takes over `parents`. */
static PyObject *tell(const Path *path, PyObject *tape, const Variant *variant, PyObject *parents, PyObject *x, PyObject *y, int constant)
{
    PyObject *recorder = Py_NewRef(AT(tape, tape_recorder)), *array = NULL, *out = NULL, *end = NULL, *told = NULL;
    PyObject *start = now(recorder);
    if (start != NULL && (out = compute(path, x, y)) != NULL && (end = now(recorder)) != NULL)
        array = remember(tape, record_of(path, variant, Py_NewRef(parents), x, y, out), out);
    if (array != NULL) {
        PyObject *operand = constant ? Py_None : y, *saves = variant == NULL ? path->both.saves : variant->saves;
        PyObject *args[] = {recorder, tape, AT(array, array_index), path->name, start, end, x, operand, out, saves};
        told = PyObject_VectorcallMethod(str_quick, args, 10 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        if (told == NULL)
            Py_CLEAR(array);
        Py_XDECREF(told);
    }
    Py_XDECREF(end);
    Py_XDECREF(out);
    Py_XDECREF(start);
    Py_DECREF(parents);
    Py_DECREF(recorder);
    return array;
}

/* Compute and remember. Takes over `parents`. */
static PyObject *run(const Path *path, PyObject *tape, const Variant *variant, PyObject *parents, PyObject *x, PyObject *y)
{
    PyObject *out = compute(path, x, y);
    if (out == NULL) {
        Py_DECREF(parents);
        return NULL;
    }
    PyObject *array = remember(tape, record_of(path, variant, parents, x, y, out), out);
    Py_DECREF(out);
    return array;
}

static PyObject *unary(const Path *path, PyObject *self)
{
    PyObject *made = NULL, *index, *x = NULL;
    PyObject *tape = field(self, array_tape, str_tape);
    if (tape == NULL || (x = field(self, array_value, str_value)) == NULL)
        goto end;
    int host = PyArray_CheckExact(x);
    if (!quick(tape) && (!is_open(tape) || !(host || in_set(SCALARS, Py_TYPE(x)))))
        made = PyObject_CallOneArg(path->otherwise, self);
    else if ((index = field(self, array_index, str_index)) != NULL)
        made = quick(tape) ? run(path, tape, &path->one, index, x, NULL)
                           : tell(path, tape, &path->one, index, x, NULL, 1);
end:
    Py_XDECREF(x);
    Py_XDECREF(tape);
    return made;
}

/* A Python number as the operand it becomes: beside float64 arrays a 0-d array, which NumPy takes faster. */
static PyObject *operand(const Path *path, PyObject *x, PyObject *number)
{
    if (!path->steady || !PyArray_CheckExact(x) || PyArray_DESCR((PyArrayObject *)x) != float64)
        return Py_NewRef(number);
    PyObject *found = PyDict_GetItemWithError(CONSTANTS, number);
    if (found != NULL || PyErr_Occurred())
        return Py_XNewRef(found);
    return PyObject_CallOneArg(constant_array, number);
}

/* Whether the cotangents of both operands need no fitting; -1 is an error. */
static int alike(PyObject *x, PyObject *y)
{
    if (PyArray_CheckExact(x) && PyArray_CheckExact(y)) {
        PyArrayObject *a = (PyArrayObject *)x, *b = (PyArrayObject *)y;
        return PyArray_DESCR(a) == PyArray_DESCR(b) && PyArray_SAMESHAPE(a, b);
    }
    if (!Py_IS_TYPE(x, Py_TYPE(y)))
        return in_set(REALS, Py_TYPE(x)) && in_set(REALS, Py_TYPE(y));
    if (in_set(SCALARS, Py_TYPE(x)))
        return 1;
    int same = -1;
    PyObject *ours = PyObject_GetAttr(x, str_shape), *theirs = PyObject_GetAttr(y, str_shape);
    if (ours != NULL && theirs != NULL && (same = PyObject_RichCompareBool(ours, theirs, Py_EQ)) == 1) {
        PyObject *dtype = PyObject_GetAttr(x, str_dtype), *other = PyObject_GetAttr(y, str_dtype);
        same = dtype == NULL || other == NULL ? -1 : dtype == other;
        Py_XDECREF(dtype);
        Py_XDECREF(other);
    }
    Py_XDECREF(ours);
    Py_XDECREF(theirs);
    return same;
}

static PyObject *binary(const Path *path, PyObject *self, PyObject *other)
{
    PyObject *made = NULL, *x = NULL, *y = NULL, *index = NULL, *theirs = NULL;
    PyObject *tape = field(self, array_tape, str_tape);
    if (tape == NULL || (x = field(self, array_value, str_value)) == NULL)
        goto end;
    int fast = quick(tape);
    if (!fast && (path->reflected || !is_open(tape) || !(PyArray_CheckExact(x) || in_set(SCALARS, Py_TYPE(x)))))
        goto otherwise;
    if (PyFloat_CheckExact(other) || PyLong_CheckExact(other)) {
        if ((index = field(self, array_index, str_index)) == NULL)
            goto end;
        if (path->reflected)
            made = run(path, tape, &path->one, Py_NewRef(index), other, x);
        else if ((y = operand(path, x, other)) != NULL)
            made = fast ? run(path, tape, &path->one, Py_NewRef(index), x, y)
                        : tell(path, tape, &path->one, Py_NewRef(index), x, y, 1);
        goto end;
    }
    if (path->reflected || !is_array(other) || (path->squares && other == self))
        goto otherwise;
    if ((theirs = field(other, array_tape, str_tape)) == NULL)
        goto end;
    if (theirs != tape)
        goto otherwise;
    Py_DECREF(theirs);
    theirs = NULL;
    if ((y = field(other, array_value, str_value)) == NULL)
        goto end;
    int same = alike(x, y);
    if (same < 0)
        goto end;
    if (!fast && !same && !(in_set(SCALARS, Py_TYPE(x)) && in_set(SCALARS, Py_TYPE(y))))
        goto otherwise;
    if ((index = field(self, array_index, str_index)) == NULL || (theirs = field(other, array_index, str_index)) == NULL)
        goto end;
    PyObject *parents = PyTuple_Pack(2, index, theirs);
    const Variant *variant = same ? &path->both : NULL;
    if (parents != NULL)
        made = fast ? run(path, tape, variant, parents, x, y) : tell(path, tape, variant, parents, x, y, 0);
    goto end;
otherwise:;
    PyObject *args[] = {self, other};
    made = PyObject_Vectorcall(path->otherwise, args, 2, NULL);
end:
    Py_XDECREF(theirs);
    Py_XDECREF(index);
    Py_XDECREF(y);
    Py_XDECREF(x);
    Py_XDECREF(tape);
    return made;
}

static PyObject *path_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Path *path = (Path *)callable;
    Py_ssize_t count = path->operate == NULL ? 1 : 2;
    if (PyVectorcall_NARGS(nargsf) != count || (names != NULL && PyTuple_GET_SIZE(names)))
        return PyErr_Format(PyExc_TypeError, "%S takes %zd arrays", path->name, count);
    if (!PyObject_TypeCheck(args[0], Array))
        return PyErr_Format(PyExc_TypeError, "%S: not a traced array", path->name);
    return count == 1 ? unary(path, args[0]) : binary(path, args[0], args[1]);
}

static int take_variant(PyObject *given, Variant *variant)
{
    PyObject *slots;
    if (!PyArg_ParseTuple(given, "OOO!", &variant->code, &variant->saves, &PyTuple_Type, &slots))
        return 0;
    Py_INCREF(variant->code);
    Py_INCREF(variant->saves);
    Py_ssize_t count = PyTuple_GET_SIZE(slots);
    if (count > MOST_SLOTS) {
        PyErr_SetString(PyExc_ValueError, "a record of too many values");
        return 0;
    }
    variant->count = (int)count;
    for (Py_ssize_t k = 0; k < count && k < MOST_SLOTS; k++) {
        long slot = PyLong_AsLong(PyTuple_GET_ITEM(slots, k));
        if (slot == -1 && PyErr_Occurred())
            return 0;
        variant->slots[k] = (unsigned char)slot;
    }
    return 1;
}

static void path_dealloc(PyObject *self)
{
    Path *path = (Path *)self;
    PyObject *held[] = {path->ufunc, path->otherwise, path->name, path->keep_fitted,
                        path->one.code, path->one.saves, path->both.code, path->both.saves};
    for (size_t k = 0; k < sizeof held / sizeof *held; k++)
        Py_XDECREF(held[k]);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *bind(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

static PyTypeObject PathType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gradviz.engine._straight.Path",
    .tp_doc = "One operator or ufunc of traced arrays.",
    .tp_basicsize = sizeof(Path),
    .tp_dealloc = path_dealloc,
    .tp_vectorcall_offset = offsetof(Path, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = bind,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
};

static PyObject *new_path(PyObject *module, PyObject *args, PyObject *options)
{
    (void)module;
    static char *names[] = {"ufunc", "otherwise", "name", "one", "symbol", "both", "keep_fitted", "steady", "squares", "reflected", NULL};
    PyObject *ufunc, *otherwise, *name, *one, *both = NULL, *keep_fitted = Py_None;
    const char *symbol = "";
    int reflected = 0, steady = 0, squares = 0;
    if (!PyArg_ParseTupleAndKeywords(args, options, "OOOO!|$sO!Oppp", names, &ufunc, &otherwise, &name, &PyTuple_Type, &one, &symbol,
                                     &PyTuple_Type, &both, &keep_fitted, &steady, &squares, &reflected))
        return NULL;
    Path *path = (Path *)PathType.tp_alloc(&PathType, 0);
    if (path == NULL)
        return NULL;
    path->vectorcall = path_call;
    path->ufunc = Py_NewRef(ufunc);
    path->otherwise = Py_NewRef(otherwise);
    path->name = Py_NewRef(name);
    path->keep_fitted = Py_NewRef(keep_fitted);
    path->reflected = reflected, path->steady = steady, path->squares = squares;
    path->operate = !strcmp(symbol, "+")    ? PyNumber_Add
                    : !strcmp(symbol, "-")  ? PyNumber_Subtract
                    : !strcmp(symbol, "*")  ? PyNumber_Multiply
                    : !strcmp(symbol, "/")  ? PyNumber_TrueDivide
                    : !strcmp(symbol, "**") ? power
                                            : NULL;
    if (!take_variant(one, &path->one) || (both != NULL && !take_variant(both, &path->both)))
        Py_CLEAR(path);
    return (PyObject *)path;
}

/* ---- __array_ufunc__ */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *unary, *binary, *otherwise;
} Answer;

static PyObject *answer_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Answer *answer = (Answer *)callable;
    Py_ssize_t inputs = PyVectorcall_NARGS(nargsf) - 3;
    if ((names == NULL || !PyTuple_GET_SIZE(names)) && (inputs == 1 || inputs == 2) && is_array(args[3]) &&
        PyUnicode_Check(args[2]) && PyUnicode_Compare(args[2], str_call) == 0) {
        PyObject *path = PyDict_GetItemWithError(inputs == 1 ? answer->unary : answer->binary, args[1]);
        if (path != NULL && Py_IS_TYPE(path, &PathType))
            return inputs == 1 ? unary((Path *)path, args[3]) : binary((Path *)path, args[3], args[4]);
        if (path == NULL && PyErr_Occurred())
            return NULL;
    }
    return PyObject_Vectorcall(answer->otherwise, args, nargsf, names);
}

static void answer_dealloc(PyObject *self)
{
    Answer *answer = (Answer *)self;
    Py_XDECREF(answer->unary);
    Py_XDECREF(answer->binary);
    Py_XDECREF(answer->otherwise);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject AnswerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gradviz.engine._straight.Answer",
    .tp_doc = "__array_ufunc__ of traced arrays.",
    .tp_basicsize = sizeof(Answer),
    .tp_dealloc = answer_dealloc,
    .tp_vectorcall_offset = offsetof(Answer, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = bind,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
};

static PyObject *new_answer(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *unary_paths, *binary_paths, *otherwise;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyDict_Type, &unary_paths, &PyDict_Type, &binary_paths, &otherwise))
        return NULL;
    Answer *answer = (Answer *)AnswerType.tp_alloc(&AnswerType, 0);
    if (answer == NULL)
        return NULL;
    answer->vectorcall = answer_call;
    answer->unary = Py_NewRef(unary_paths);
    answer->binary = Py_NewRef(binary_paths);
    answer->otherwise = Py_NewRef(otherwise);
    return (PyObject *)answer;
}

/* ---- the module */

static PyObject *know(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *array, *view, *tape;
    if (!PyArg_ParseTuple(args, "OOOOOOOO", &array, &view, &tape, &SCALARS, &REALS, &CONSTANTS, &constant_array, &like))
        return NULL;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); k++)
        Py_INCREF(PyTuple_GET_ITEM(args, k));
    if (know_traced(array, view, tape) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"know", know, METH_VARARGS, "know(Array, View, Tape, SCALARS, REALS, CONSTANTS, constant_array, like): what straight.py has."},
    {"Path", (PyCFunction)(void (*)(void))new_path, METH_VARARGS | METH_KEYWORDS,
     "Path(ufunc, otherwise, name, one, *, symbol, both, keep_fitted, steady, squares, reflected)\n\n"
     "`one` and `both` are (step, saves, slots) of a record with one and with two parents."},
    {"Answer", new_answer, METH_VARARGS, "Answer(unary, binary, otherwise)"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_straight", "The paths of straight.py, compiled.", -1, functions,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__straight(void)
{
    import_array();
    float64 = PyArray_DescrFromType(NPY_DOUBLE);
    str_clock = PyUnicode_InternFromString("clock");
    str_quick = PyUnicode_InternFromString("quick");
    str_shape = PyUnicode_InternFromString("shape");
    str_dtype = PyUnicode_InternFromString("dtype");
    str_call = PyUnicode_InternFromString("__call__");
    if (PyType_Ready(&PathType) < 0 || PyType_Ready(&AnswerType) < 0)
        return NULL;
    return PyModule_Create(&definition);
}
