/* The three writers of short.py, compiled: see there what is written down, and why so. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include "../slots.h"

#if PY_BIG_ENDIAN
#error "rows are written in the order of little-endian machines"
#endif

/* Rows as rows.py lays them out; `know` compares the two. */
#pragma pack(push, 1)
typedef struct {
    int32_t number;
    int64_t start_ns;
    uint32_t duration_ns;
    int32_t parent, site;
    uint8_t flags, how;
    uint16_t name;
    int32_t description, a, b;
} CallRow;
typedef struct {
    int32_t number;
    int64_t start_ns;
    uint32_t duration_ns;
    int32_t parent, call;
    uint8_t flags, how;
    uint16_t name;
    int32_t description, variable, denormals, out;
} PullRow;
typedef struct {
    int32_t number;
    int64_t start_ns, end_ns;
    int32_t parent, call, site;
    int64_t nbytes;
    int16_t lane;
    uint16_t flags;
    uint8_t kind;
    int32_t name, description, a, b, out;
    uint8_t how;
} EventRow;
typedef struct {
    int32_t event, buffer;
    uint8_t how;
} UseRow;
#pragma pack(pop)
#define CALL_LAYOUT "iqIiiBBHiii"
#define PULL_LAYOUT "iqIiiBBHiiii"
#define EVENT_LAYOUT "iqqiiiqhHBiiiiiB"
#define USE_LAYOUT "iiB"

enum { A_SAVED = 1, OUT_SAVED = 4, OUT_MADE = 8, IS_BORROWED = 16, INHERITED = -2 };
enum { CALL = 0, VIEW = 3 }; /* Kind.CALL and Use.VIEW of events.py */
#define LONGEST_SHORT_NS (1LL << 32)
#define MOST_SHORT_NAMES (1 << 16)
enum { SAMPLED_ALL = 256, SAMPLED = 32, SMALL_NBYTES = 1 << 16 };
#define TINIEST 2.2250738585072014e-308

static PyTypeObject *Ref, *Scribe;
static PyObject *str_borrowed, *str_buffer, *str_calls, *str_describe, *str_failed, *str_finish, *str_long_call, *str_long_pull, *str_site, *str_text,
    *str_tidy;
static Py_ssize_t ref_number;
static Py_ssize_t scribe_parent, scribe_call, scribe_flags, scribe_limit, scribe_last, scribe_dropped, scribe_pending, scribe_own_ns, scribe_lane,
    scribe_clock;

/* What a writer finds by a local name in Python. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *scribe, *recording, *clock, *numbers, *live, *strings, *lines, *codes, *rows, *uses;
    PyObject *dead, *dead_small, *bury_numbers, *bury_times, *mourn, *mourn_small;
    PyArray_Descr *dtype; /* of the last array that was described, with its shape */
    int ndim;
    npy_intp shape[8];
    int32_t description;
} Writer;

static inline long as_long(PyObject *number) { return PyLong_AsLong(number); }

/* As PyObject_CallMethod, which makes a new string of the name at each call, and Python's cache of methods keeps those. */
static PyObject *call_method(PyObject *object, PyObject *name, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    PyObject *args = Py_VaBuildValue(format, values), *method = args == NULL ? NULL : PyObject_GetAttr(object, name);
    va_end(values);
    PyObject *made = method == NULL ? NULL : PyObject_Call(method, args, NULL);
    Py_XDECREF(method);
    Py_XDECREF(args);
    return made;
}

static inline void set(PyObject *object, Py_ssize_t offset, PyObject *value)
{
    PyObject *old = AT(object, offset);
    AT(object, offset) = Py_NewRef(value);
    Py_XDECREF(old);
}

/* The reference to a live array that was seen before, borrowed; NULL if there is none, or with an exception. */
static PyObject *known(Writer *self, PyObject *array)
{
    PyObject *id = PyLong_FromVoidPtr(array);
    if (id == NULL)
        return NULL;
    PyObject *found = PyDict_GetItemWithError(self->live, id);
    Py_DECREF(id);
    if (found == NULL)
        return NULL;
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *referent;
    if (PyWeakref_GetRef(found, &referent) != 1)
        return NULL;
    Py_DECREF(referent); /* the caller holds it */
#else
    PyObject *referent = PyWeakref_GetObject(found);
#endif
    return referent == array ? found : NULL;
}

/* The number of the buffer an operand lives in, -1 for a number, -2 with an exception. */
static long buffer_of(Writer *self, PyObject *operand)
{
    if (!PyArray_CheckExact(operand))
        return -1;
    PyObject *found = known(self, operand);
    if (found != NULL)
        return as_long(AT(found, ref_number));
    if (PyErr_Occurred())
        return -2;
    PyObject *number = PyObject_CallMethodOneArg(self->recording, str_buffer, operand);
    if (number == NULL)
        return -2;
    long buffer = as_long(number);
    Py_DECREF(number);
    return buffer;
}

/* The site of the innermost frame that is the user's, -1 with an exception or where there is none. */
static long site_of(Writer *self)
{
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    PyObject *found = NULL;
    while (frame != NULL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyObject *id = PyLong_FromVoidPtr(code);
        Py_DECREF(code);
        PyObject *sites = id == NULL ? NULL : PyDict_GetItemWithError(self->codes, id);
        Py_XDECREF(id);
        if (sites == NULL)
            break; /* not met before */
        if (sites != Py_None) {
            PyObject *at = PyLong_FromLong(PyFrame_GetLasti(frame));
            found = at == NULL ? NULL : PyDict_GetItemWithError(sites, at);
            Py_XDECREF(at);
            break;
        }
        PyFrameObject *outer = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = outer;
    }
    long site = -1;
    if (found != NULL) {
        site = as_long(found);
    } else if (frame != NULL && !PyErr_Occurred()) {
        PyObject *made = PyObject_CallMethodOneArg(self->lines, str_site, (PyObject *)frame);
        if (made != NULL)
            site = as_long(made);
        Py_XDECREF(made);
    }
    Py_XDECREF(frame);
    return site;
}

/* The number of a text, -1 with an exception. */
static long text_of(Writer *self, PyObject *text)
{
    PyObject *found = PyDict_GetItemWithError(self->strings, text);
    if (found != NULL)
        return as_long(found);
    if (PyErr_Occurred())
        return -1;
    PyObject *made = PyObject_CallMethodOneArg(self->recording, str_text, text);
    long number = made == NULL ? -1 : as_long(made);
    Py_XDECREF(made);
    return number;
}

/* Note an array that an event has made, and when it dies: that goes on the list that `mourn` appends to. */
static int follow(Writer *self, PyObject *array, PyObject *number, PyObject *mourn)
{
    PyObject *args = PyTuple_Pack(2, array, mourn), *id = PyLong_FromVoidPtr(array);
    PyObject *reference = args == NULL ? NULL : Ref->tp_new(Ref, args, NULL); /* its __init__ does nothing */
    int failed = -1;
    Py_XDECREF(args);
    if (reference != NULL && id != NULL) {
        PyObject_GC_UnTrack(reference); /* what it leads to does not lead back, so the collector need not look at thousands of them */
        set(reference, ref_number, number);
        failed = PyDict_SetItem(self->live, id, reference);
    }
    Py_XDECREF(id);
    Py_XDECREF(reference);
    return failed;
}

/* The list of small arrays that have died is looked at now and then, that of others at each event. */
static inline PyObject *mourn_of(Writer *self, PyObject *array)
{
    return PyArray_NBYTES((PyArrayObject *)array) >= SMALL_NBYTES ? self->mourn : self->mourn_small;
}

/* The number of an array's dtype and shape, -1 with an exception. */
static int32_t describe(Writer *self, PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    int ndim = PyArray_NDIM(array);
    if (PyArray_DESCR(array) == self->dtype && ndim == self->ndim && PyArray_CompareLists(PyArray_DIMS(array), self->shape, ndim))
        return self->description;
    PyObject *made = PyObject_CallMethodOneArg(self->recording, str_describe, object);
    if (made == NULL)
        return -1;
    self->description = (int32_t)as_long(made);
    Py_DECREF(made);
    if (ndim <= 8) {
        Py_XSETREF(self->dtype, (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR(array)));
        self->ndim = ndim;
        memcpy(self->shape, PyArray_DIMS(array), ndim * sizeof(npy_intp));
    }
    return self->description;
}

/* Note which of some arrays have died meanwhile. */
static int bury(Writer *self, PyObject *dead, PyObject *time)
{
    int32_t numbers[SAMPLED];
    int64_t times[SAMPLED];
    Py_ssize_t count;
    while ((count = Py_MIN(PyList_GET_SIZE(dead), SAMPLED))) {
        for (Py_ssize_t k = 0; k < count; k++) {
            numbers[k] = (int32_t)as_long(AT(PyList_GET_ITEM(dead, k), ref_number));
            times[k] = PyLong_AsLongLong(time);
        }
        PyObject *one = PyObject_CallFunction(self->bury_numbers, "y#", numbers, count * sizeof *numbers);
        PyObject *two = one == NULL ? NULL : PyObject_CallFunction(self->bury_times, "y#", times, count * sizeof *times);
        Py_XDECREF(one);
        Py_XDECREF(two);
        if (two == NULL || PyList_SetSlice(dead, 0, count, NULL) < 0)
            return -1;
    }
    return 0;
}

static int append(PyObject *rows, const void *row, Py_ssize_t size)
{
    PyObject *packed = PyBytes_FromStringAndSize(row, size);
    int failed = packed == NULL ? -1 : PyList_Append(rows, packed);
    Py_XDECREF(packed);
    return failed;
}

static int write_row(Writer *self, long number, const void *row, Py_ssize_t size)
{
    if (number >= as_long(AT(self->scribe, scribe_limit))) {
        PyObject *dropped = PyLong_FromLong(as_long(AT(self->scribe, scribe_dropped)) + 1);
        if (dropped == NULL)
            return -1;
        set(self->scribe, scribe_dropped, dropped);
        Py_DECREF(dropped);
        return 0;
    }
    return append(self->rows, row, size);
}

/* Of the events that are timed from end to end, all at first and then one in some, add what one took of the recorder's own time. */
static int own(Writer *self, long number, int64_t took_ns)
{
    PyObject *sum = PyLong_FromLongLong(PyLong_AsLongLong(AT(self->scribe, scribe_own_ns)) + (number < SAMPLED_ALL ? 1 : SAMPLED) * took_ns);
    if (sum == NULL)
        return -1;
    set(self->scribe, scribe_own_ns, sum);
    Py_DECREF(sum);
    return 0;
}

static inline int is_timed(long number) { return !(number & (SAMPLED - 1)) || number < SAMPLED_ALL; }

/* As `Scribe.charge`. */
static int charge(Writer *self, long number, PyObject *since)
{
    if (!is_timed(number))
        return 0;
    PyObject *time = PyObject_CallNoArgs(self->clock);
    int failed = time == NULL || bury(self, self->dead_small, time) < 0 ||
                 own(self, number, PyLong_AsLongLong(time) - PyLong_AsLongLong(since)) < 0;
    Py_XDECREF(time);
    if (failed || number & (SAMPLED - 1))
        return -failed;
    PyObject *done = PyObject_CallMethodNoArgs(self->scribe, str_tidy);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* quick(tape, variable, name, start_ns, end_ns, x, y, out, how) */
static PyObject *call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Writer *self = (Writer *)callable;
    if (PyVectorcall_NARGS(nargsf) != 9 || names != NULL)
        return PyErr_Format(PyExc_TypeError, "quick(tape, variable, name, start_ns, end_ns, x, y, out, how)");
    PyObject *tape = args[0], *variable = args[1], *name = args[2], *x = args[5], *y = args[6], *out = args[7], *scribe = self->scribe;
    CallRow row;
    long how = as_long(args[8]), text, a, b = -1;
    PyObject *count = PyIter_Next(self->numbers), *made = NULL;
    if (count == NULL)
        return NULL;
    long number = as_long(count);
    set(scribe, scribe_last, count);
    PyObject *calls = PyObject_GetAttr(tape, str_calls);
    int failed = calls == NULL || PyDict_SetItem(calls, variable, count) < 0;
    Py_XDECREF(calls);
    if (failed || (a = buffer_of(self, x)) == -2)
        goto end;
    if (y != Py_None && !(PyArray_CheckExact(y) && !PyArray_NDIM((PyArrayObject *)y)) && (b = buffer_of(self, y)) == -2)
        goto end;
    long site = as_long(AT(scribe, scribe_call)) >= 0 ? INHERITED : site_of(self);
    if ((site == -1 && PyErr_Occurred()) || (text = text_of(self, name)) < 0)
        goto end;
    int64_t start_ns = PyLong_AsLongLong(args[3]), end_ns = PyLong_AsLongLong(args[4]);
    row.description = -1;
    if (PyArray_CheckExact(out)) {
        if (PyArray_BASE((PyArrayObject *)out) != NULL || end_ns - start_ns >= LONGEST_SHORT_NS || text >= MOST_SHORT_NAMES) {
            made = call_method(scribe, str_long_call, "OOOOlllOl", count, name, args[3], args[4], site, a, b, out, how);
            goto end;
        }
        how |= OUT_MADE;
        if (follow(self, out, count, mourn_of(self, out)) < 0 || ((row.description = describe(self, out)) < 0 && PyErr_Occurred()))
            goto end;
    }
    if (bury(self, self->dead, args[3]) < 0)
        goto end;
    row.number = (int32_t)number;
    row.start_ns = start_ns;
    row.duration_ns = (uint32_t)(end_ns - start_ns);
    row.parent = (int32_t)as_long(AT(scribe, scribe_parent));
    row.site = (int32_t)site;
    row.flags = (uint8_t)as_long(AT(scribe, scribe_flags));
    row.how = (uint8_t)how;
    row.name = (uint16_t)text;
    row.a = (int32_t)a;
    row.b = (int32_t)b;
    if (write_row(self, number, &row, sizeof row) < 0 || charge(self, number, args[4]) < 0)
        goto end;
    made = Py_NewRef(Py_None);
end:
    Py_DECREF(count);
    return made;
}

/* As `denormals` of denormals.py, of which only one in 32 cotangents is asked. */
static int32_t denormals(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    npy_intp size = PyArray_SIZE(array);
    if (PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array) || size < 1 || size > 64)
        return -1;
    int32_t found = 0;
    for (const double *at = PyArray_DATA(array), *end = at + size; at < end; at++)
        found += 0.0 < Py_ABS(*at) && Py_ABS(*at) < TINIEST;
    return found;
}

/* pull(back, ct, record, call, title, variable) */
static PyObject *pull(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Writer *self = (Writer *)callable;
    if (PyVectorcall_NARGS(nargsf) != 6 || names != NULL)
        return PyErr_Format(PyExc_TypeError, "pull(back, ct, record, call, title, variable)");
    PyObject *scribe = self->scribe, *ct = args[1], *title = args[4], *new = NULL, *end = NULL, *done = NULL;
    PyObject *count = PyIter_Next(self->numbers);
    if (count == NULL)
        return NULL;
    PyObject *parent = Py_NewRef(AT(scribe, scribe_parent)), *outer_call = Py_NewRef(AT(scribe, scribe_call));
    long number = as_long(count), call = as_long(args[3]), target = -1, sick = -1, how = 0, text;
    set(scribe, scribe_parent, count);
    if (call >= 0)
        set(scribe, scribe_call, args[3]);
    PyObject *start = PyObject_CallNoArgs(self->clock);
    if (start != NULL && (new = PyObject_Vectorcall(args[0], args + 1, 2, NULL)) != NULL)
        end = PyObject_CallNoArgs(self->clock);
    set(scribe, scribe_parent, parent);
    set(scribe, scribe_call, outer_call);
    if (end == NULL)
        goto end;
    PullRow row;
    row.description = -1;
    if (PyArray_CheckExact(new)) {
        PyObject *before = known(self, new);
        if (before == NULL && PyErr_Occurred())
            goto end;
        if (before == NULL && new != ct && PyArray_BASE((PyArrayObject *)new) == NULL) {
            how = OUT_MADE, target = number;
            if (follow(self, new, count, mourn_of(self, new)) < 0)
                goto end;
        } else {
            how = IS_BORROWED;
            PyObject *found = before != NULL ? Py_NewRef(AT(before, ref_number)) : PyObject_CallMethodObjArgs(scribe, str_borrowed, new, count, NULL);
            if (found == NULL)
                goto end;
            target = as_long(found);
            Py_DECREF(found);
        }
        if ((row.description = describe(self, new)) < 0 && PyErr_Occurred())
            goto end;
        if (!(number & (SAMPLED - 1)))
            sick = denormals(new);
    } else if (PyFloat_Check(new)) {
        double size = Py_ABS(PyFloat_AS_DOUBLE(new));
        sick = 0.0 < size && size < TINIEST;
    } else {
        PyObject *pending = PyTuple_Pack(3, count, start, end);
        if (pending == NULL)
            goto end;
        set(scribe, scribe_pending, pending);
        Py_DECREF(pending);
        done = Py_NewRef(new);
        goto end;
    }
    if (bury(self, self->dead, start) < 0 || (text = text_of(self, title)) < 0)
        goto end;
    int64_t start_ns = PyLong_AsLongLong(start), duration_ns = PyLong_AsLongLong(end) - start_ns;
    if (duration_ns < LONGEST_SHORT_NS && text < MOST_SHORT_NAMES) {
        row.number = (int32_t)number;
        row.start_ns = start_ns;
        row.duration_ns = (uint32_t)duration_ns;
        row.parent = (int32_t)as_long(parent);
        row.call = (int32_t)call;
        row.flags = (uint8_t)as_long(AT(scribe, scribe_flags));
        row.how = (uint8_t)how;
        row.name = (uint16_t)text;
        row.variable = (int32_t)as_long(args[5]);
        row.denormals = (int32_t)sick;
        row.out = (int32_t)target;
        if (write_row(self, number, &row, sizeof row) < 0)
            goto end;
    } else {
        PyObject *written = call_method(scribe, str_long_pull, "OOOOOOOllli", count, args[3], title, start, end, args[5], new,
                                                target, how, sick, row.description);
        if (written == NULL)
            goto end;
        Py_DECREF(written);
    }
    if (charge(self, number, end) == 0)
        done = Py_NewRef(new);
end:
    Py_XDECREF(start);
    Py_XDECREF(end);
    Py_XDECREF(new);
    Py_DECREF(outer_call);
    Py_DECREF(parent);
    Py_DECREF(count);
    return done;
}

/* ---- calls of any kind */

/* The array that owns the memory of a plain array, borrowed. */
static PyObject *owner_of(PyObject *array)
{
    PyObject *base;
    while ((base = PyArray_BASE((PyArrayObject *)array)) != NULL && PyArray_CheckExact(base))
        array = base;
    return array;
}

static inline int is_number(PyObject *value)
{
    return PyFloat_CheckExact(value) || PyLong_Check(value) || PyComplex_CheckExact(value) || PyArray_IsScalar(value, Generic);
}

/* The buffers of a call's operands, at most two; -1 is an error, 0 leaves the call to `Scribe.finish`. */
static int operands_of(Writer *self, PyObject *values, long buffers[2])
{
    Py_ssize_t found = 0;
    buffers[0] = buffers[1] = -1;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(values); k++) {
        PyObject *value = PyTuple_GET_ITEM(values, k);
        if (PyArray_CheckExact(value)) {
            long buffer = found == 2 ? -1 : buffer_of(self, owner_of(value));
            if (buffer == -2)
                return -1;
            if (buffer == -1)
                return 0;
            buffers[found++] = buffer;
        } else if (PyTuple_CheckExact(value)) {
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++)
                if (!PyLong_CheckExact(PyTuple_GET_ITEM(value, i)))
                    return 0;
        } else if (value != Py_None && !is_number(value) && !PyUnicode_CheckExact(value) && !PySlice_Check(value)) {
            return 0;
        }
    }
    return 1;
}

/* What a call gave, as far as it is a new array, a view of a known one or a number: into `row`, and a view among the uses. 0 leaves the
   call to `Scribe.finish`, -1 is an error. */
static int result_of(Writer *self, PyObject *out, PyObject *count, long how, EventRow *row)
{
    row->how = (uint8_t)(how & A_SAVED);
    if (PyFloat_CheckExact(out) || PyComplex_CheckExact(out))
        return 1;
    if (PyArray_IsScalar(out, Generic)) {
        PyArray_Descr *dtype = PyArray_DescrFromScalar(out);
        if (dtype == NULL)
            return -1;
        row->nbytes = PyDataType_ELSIZE(dtype);
        Py_DECREF(dtype);
        return 1;
    }
    if (!PyArray_CheckExact(out))
        return 0;
    PyObject *owner = owner_of(out), *before = known(self, owner);
    if (before == NULL && PyErr_Occurred())
        return -1;
    if (PyArray_BASE((PyArrayObject *)out) == NULL && before == NULL) {
        if (follow(self, out, count, self->mourn) < 0 || ((row->description = describe(self, out)) < 0 && PyErr_Occurred()))
            return -1;
        row->nbytes = PyArray_NBYTES((PyArrayObject *)out);
        row->out = row->number;
        row->how = (uint8_t)(OUT_MADE | how);
        return 1;
    }
    if (before == NULL || how & OUT_SAVED)
        return 0;
    UseRow use = {row->number, (int32_t)as_long(AT(before, ref_number)), VIEW};
    return append(self->uses, &use, sizeof use) < 0 ? -1 : 1;
}

/* As `Scribe.finish`, for host arrays. */
static int finish(Writer *self, PyObject *count, PyObject *name, PyObject *start, PyObject *end, PyObject *values, PyObject *out, PyObject *flags,
                  long site, PyObject *saves)
{
    PyObject *scribe = self->scribe;
    EventRow row = {.number = (int32_t)as_long(count), .kind = CALL, .description = -1, .out = -1};
    long buffers[2], text, how = as_long(saves);
    int ordinary = operands_of(self, values, buffers);
    if (ordinary > 0)
        ordinary = result_of(self, out, count, how, &row);
    if (ordinary < 0)
        return -1;
    if (ordinary == 0) {
        PyObject *done = call_method(scribe, str_finish, "OOOOOOOlO", count, name, start, end, values, out, flags, site, saves);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    set(scribe, scribe_last, count);
    if ((text = text_of(self, name)) < 0)
        return -1;
    row.start_ns = PyLong_AsLongLong(start);
    row.end_ns = PyLong_AsLongLong(end);
    row.parent = (int32_t)as_long(AT(scribe, scribe_parent));
    row.call = row.number;
    row.site = (int32_t)site;
    row.lane = (int16_t)as_long(AT(scribe, scribe_lane));
    row.flags = (uint16_t)(as_long(AT(scribe, scribe_flags)) | as_long(flags));
    row.name = (int32_t)text;
    row.a = (int32_t)buffers[0];
    row.b = (int32_t)buffers[1];
    if (write_row(self, row.number, &row, sizeof row) < 0)
        return -1;
    if (!PyList_GET_SIZE(self->dead) || row.number >= as_long(AT(scribe, scribe_limit)))
        return 0;
    return bury(self, self->dead, start) < 0 || bury(self, self->dead_small, start) < 0 ? -1 : 0;
}

/* Write down a call that raised, and let the exception go on. */
static void fail(Writer *self, PyObject *count, PyObject *name, PyObject *start, PyObject *flags, long site)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyObject *done = call_method(self->scribe, str_failed, "OOOOl", count, name, start, flags, site);
    if (done == NULL)
        PyErr_WriteUnraisable(self->scribe);
    Py_XDECREF(done);
    PyErr_Restore(type, error, traceback);
}

/* The time by the clock that the scribe has now: a simulated device may have brought its own. */
static PyObject *now(Writer *self) { return PyObject_CallNoArgs(AT(self->scribe, scribe_clock)); }

/* call(name, run, values, flags=0, saves=0) */
static PyObject *any_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Writer *self = (Writer *)callable;
    Py_ssize_t given = PyVectorcall_NARGS(nargsf);
    if (given < 3 || given > 5 || names != NULL)
        return PyErr_Format(PyExc_TypeError, "call(name, run, values, flags, saves)");
    PyObject *scribe = self->scribe, *nothing = PyLong_FromLong(0), *out = NULL, *start = NULL, *end = NULL, *entered = NULL, *count = NULL;
    PyObject *values = PySequence_Tuple(args[2]), *flags = given > 3 ? args[3] : nothing, *saves = given > 4 ? args[4] : nothing;
    if (nothing == NULL || values == NULL || (entered = now(self)) == NULL || (count = PyIter_Next(self->numbers)) == NULL)
        goto end;
    long number = as_long(count), site = as_long(AT(scribe, scribe_call)) >= 0 ? INHERITED : site_of(self);
    if (site == -1 && PyErr_Occurred())
        goto end;
    PyObject *outer = Py_NewRef(AT(scribe, scribe_parent));
    set(scribe, scribe_parent, count);
    if ((start = now(self)) != NULL)
        out = PyObject_Vectorcall(args[1], &PyTuple_GET_ITEM(values, 0), PyTuple_GET_SIZE(values), NULL);
    if (out != NULL)
        end = now(self);
    set(scribe, scribe_parent, outer);
    Py_DECREF(outer);
    if (out == NULL && start != NULL)
        fail(self, count, args[0], start, flags, site);
    if (end == NULL || finish(self, count, args[0], start, end, values, out, flags, site, saves) < 0) {
        Py_CLEAR(out);
        goto end;
    }
    if (is_timed(number)) {
        PyObject *time = now(self);
        int64_t ran_ns = PyLong_AsLongLong(end) - PyLong_AsLongLong(start);
        if (time == NULL || own(self, number, PyLong_AsLongLong(time) - PyLong_AsLongLong(entered) - ran_ns) < 0)
            Py_CLEAR(out);
        Py_XDECREF(time);
    }
end:
    Py_XDECREF(end);
    Py_XDECREF(start);
    Py_XDECREF(count);
    Py_XDECREF(entered);
    Py_XDECREF(values);
    Py_XDECREF(nothing);
    return out;
}

/* ---- the type of all */

#define EACH_HELD(DO)                                                                                                          \
    DO(scribe) DO(recording) DO(clock) DO(numbers) DO(live) DO(strings) DO(lines) DO(codes) DO(rows) DO(uses) DO(dead) DO(dead_small) DO(bury_numbers)  \
    DO(bury_times) DO(mourn) DO(mourn_small)

static int writer_traverse(PyObject *object, visitproc visit, void *arg)
{
    Writer *self = (Writer *)object;
#define VISIT(name) Py_VISIT(self->name);
    EACH_HELD(VISIT)
    return 0;
}

static int writer_clear(PyObject *object)
{
    Writer *self = (Writer *)object;
#define CLEAR(name) Py_CLEAR(self->name);
    EACH_HELD(CLEAR)
    Py_CLEAR(self->dtype);
    return 0;
}

static void writer_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    writer_clear(object);
    Py_TYPE(object)->tp_free(object);
}

static PyTypeObject WriterType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gradviz.record._short.Writer",
    .tp_doc = "What writes down one kind of event.",
    .tp_basicsize = sizeof(Writer),
    .tp_dealloc = writer_dealloc,
    .tp_traverse = writer_traverse,
    .tp_clear = writer_clear,
    .tp_vectorcall_offset = offsetof(Writer, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
};

static PyObject *attribute(PyObject *object, const char *name)
{
    PyObject *known = PyUnicode_InternFromString(name), *value = known == NULL ? NULL : PyObject_GetAttr(object, known);
    Py_XDECREF(known);
    return value;
}

static PyObject *writer(PyObject *scribe, vectorcallfunc vectorcall, const char *rows)
{
    if (!PyObject_TypeCheck(scribe, Scribe))
        return PyErr_Format(PyExc_TypeError, "a writer is of a scribe");
    Writer *self = (Writer *)WriterType.tp_alloc(&WriterType, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = vectorcall;
    self->scribe = Py_NewRef(scribe);
    PyObject *freed = NULL, *freed_ns = NULL;
    int found = (self->recording = attribute(scribe, "recording")) != NULL &&
                (self->rows = attribute(scribe, rows)) != NULL &&
                (self->uses = attribute(scribe, "uses")) != NULL &&
                (self->clock = attribute(self->recording, "clock")) != NULL &&
                (self->numbers = attribute(self->recording, "numbers")) != NULL &&
                (self->live = attribute(self->recording, "live")) != NULL &&
                (self->strings = attribute(self->recording, "strings")) != NULL &&
                (self->lines = attribute(self->recording, "lines")) != NULL &&
                (self->codes = attribute(self->lines, "codes")) != NULL &&
                (self->dead = attribute(self->recording, "dead")) != NULL &&
                (self->dead_small = attribute(self->recording, "dead_small")) != NULL &&
                (freed = attribute(self->recording, "freed")) != NULL &&
                (freed_ns = attribute(self->recording, "freed_ns")) != NULL &&
                (self->bury_numbers = attribute(freed, "frombytes")) != NULL &&
                (self->bury_times = attribute(freed_ns, "frombytes")) != NULL &&
                (self->mourn = attribute(self->dead, "append")) != NULL &&
                (self->mourn_small = attribute(self->dead_small, "append")) != NULL;
    Py_XDECREF(freed_ns);
    Py_XDECREF(freed);
    if (!found)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *short_call(PyObject *module, PyObject *scribe)
{
    (void)module;
    return writer(scribe, call, "calls");
}

static PyObject *short_pull(PyObject *module, PyObject *scribe)
{
    (void)module;
    return writer(scribe, pull, "pulls");
}

static PyObject *short_any(PyObject *module, PyObject *scribe)
{
    (void)module;
    return writer(scribe, any_call, "events");
}

static PyObject *know(PyObject *module, PyObject *args)
{
    (void)module;
    const char *call_layout, *pull_layout, *event_layout, *use_layout;
    if (!PyArg_ParseTuple(args, "OOssss", &Ref, &Scribe, &call_layout, &pull_layout, &event_layout, &use_layout))
        return NULL;
    if (strcmp(call_layout, CALL_LAYOUT) || strcmp(pull_layout, PULL_LAYOUT) || strcmp(event_layout, EVENT_LAYOUT) ||
        strcmp(use_layout, USE_LAYOUT))
        return PyErr_Format(PyExc_ValueError, "the rows of short.c are not those of rows.py");
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); k++)
        Py_INCREF(PyTuple_GET_ITEM(args, k));
    if ((ref_number = place_of(Ref, "number")) < 0 ||
        (scribe_parent = place_of(Scribe, "parent")) < 0 || (scribe_call = place_of(Scribe, "call_number")) < 0 ||
        (scribe_flags = place_of(Scribe, "flags")) < 0 || (scribe_limit = place_of(Scribe, "limit")) < 0 ||
        (scribe_last = place_of(Scribe, "last")) < 0 || (scribe_dropped = place_of(Scribe, "dropped")) < 0 ||
        (scribe_pending = place_of(Scribe, "pending")) < 0 || (scribe_own_ns = place_of(Scribe, "own_ns")) < 0 ||
        (scribe_lane = place_of(Scribe, "lane")) < 0 || (scribe_clock = place_of(Scribe, "clock")) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"know", know, METH_VARARGS, "know(Ref, Scribe, call_layout, pull_layout, event_layout, use_layout): what short.py has."},
    {"short_call", short_call, METH_O, "short_call(scribe): as in short.py."},
    {"short_any", short_any, METH_O, "short_any(scribe): what `Scribe.run` does."},
    {"short_pull", short_pull, METH_O, "short_pull(scribe): as in short.py."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_short", "The writers of short.py, compiled.", -1, functions,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__short(void)
{
    import_array();
    static struct {
        PyObject **string;
        const char *text;
    } names[] = {{&str_borrowed, "borrowed"}, {&str_buffer, "buffer"}, {&str_calls, "calls"}, {&str_describe, "describe"},
                 {&str_failed, "failed"}, {&str_finish, "finish"}, {&str_long_call, "long_call"}, {&str_long_pull, "long_pull"},
                 {&str_site, "site"}, {&str_text, "text"}, {&str_tidy, "tidy"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if ((*names[k].string = PyUnicode_InternFromString(names[k].text)) == NULL)
            return NULL;
    if (PyType_Ready(&WriterType) < 0)
        return NULL;
    return PyModule_Create(&definition);
}
