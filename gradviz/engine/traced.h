/* Traced arrays and their tapes, as the compiled paths read and make them. */

#include "../slots.h"

static PyTypeObject *Array, *View, *Tape;
static Py_ssize_t array_value, array_tape, array_index, tape_log, tape_calls, tape_open, tape_quick, tape_recorder;
static PyObject *str_value, *str_tape, *str_index;

/* Learn the three classes; the caller holds them. */
static int know_traced(PyObject *array, PyObject *view, PyObject *tape)
{
    Array = (PyTypeObject *)array, View = (PyTypeObject *)view, Tape = (PyTypeObject *)tape;
    if ((str_value = PyUnicode_InternFromString("value")) == NULL || (str_tape = PyUnicode_InternFromString("tape")) == NULL ||
        (str_index = PyUnicode_InternFromString("index")) == NULL)
        return -1;
    if ((array_value = place_of(Array, "value")) < 0 || (array_tape = place_of(Array, "tape")) < 0 ||
        (array_index = place_of(Array, "index")) < 0 || (tape_log = place_of(Tape, "log")) < 0 ||
        (tape_calls = place_of(Tape, "calls")) < 0 || (tape_open = place_of(Tape, "open")) < 0 ||
        (tape_quick = place_of(Tape, "quick")) < 0 || (tape_recorder = place_of(Tape, "recorder")) < 0)
        return -1;
    return 0;
}

static inline int is_array(PyObject *object) { return Py_IS_TYPE(object, Array) || Py_IS_TYPE(object, View); }

/* A new reference to a slot of an Array; views find theirs by properties, which may look again. */
static inline PyObject *field(PyObject *array, Py_ssize_t offset, PyObject *name)
{
    if (Py_IS_TYPE(array, Array))
        return Py_XNewRef(AT(array, offset));
    return PyObject_GetAttr(array, name);
}

/* Whether a tape is one of ours, and open; `tape.recorder` then may be somebody. */
static inline int is_open(PyObject *tape) { return Py_IS_TYPE(tape, Tape) && AT(tape, tape_open) == Py_True; }

/* The array that a variable of a tape stands for. */
static PyObject *new_array(PyObject *value, PyObject *tape, PyObject *index)
{
    PyObject *array = Array->tp_alloc(Array, 0);
    if (array != NULL) {
        AT(array, array_value) = Py_NewRef(value);
        AT(array, array_tape) = Py_NewRef(tape);
        AT(array, array_index) = Py_NewRef(index);
    }
    return array;
}
