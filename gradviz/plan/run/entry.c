/* The way into a plan, compiled: see entry.py for what it does.

   `Steps` is a plan, or the inside of a loop, that needs no Python: what runs, on memory known by cells. A cell holds an address that
   may be another in each call or iteration; before something runs, the cells it depends on are entered into its own table.
   An `Entry` knows arguments of one kind and what becomes of them. An `Entrance` is a function with the entries it has come to know. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <structmember.h>
#include "../kernels/runnable.h"

static PyObject *CURRENT, *OPEN, *NOBODY, *GUARDS, *Mismatch, *str_by_key;

/* ---- steps */

typedef struct {
    int64_t *target;
    Py_ssize_t cell;
    int64_t offset;
} Patch;

typedef struct {
    Py_ssize_t cell; /* -1 where the offset is an address */
    int64_t offset;
} Spot;

enum Kind { RUN, FILL, COPY, LOOP };

typedef struct Step {
    enum Kind kind;
    Runnable *what;
    Patch *patches;
    Py_ssize_t patch_count;
    Spot target, source;
    int64_t nbytes, count; /* of FILL: of the pattern, and how often; of LOOP: iterations */
    char pattern[32];
    struct Step *inside;
    Py_ssize_t inside_count;
    struct { Py_ssize_t cell; int64_t stride; } *moves;
    Py_ssize_t move_count;
} Step;

typedef struct {
    PyArray_Descr *dtype;
    int nd;
    npy_intp *shape;
    Py_ssize_t cell;
} Made;

typedef struct {
    PyObject_HEAD
    int64_t *cells;
    Py_ssize_t cell_count;
    Step *steps;
    Py_ssize_t step_count;
    Made *made;
    Py_ssize_t made_count;
    double work;
    PyObject *keep;
} Steps;

static inline char *at(const int64_t *cells, Spot spot)
{
    return (char *)(uintptr_t)((spot.cell < 0 ? 0 : cells[spot.cell]) + spot.offset);
}

static void fill(char *target, const Step *step)
{
    int zero = 1;
    for (int64_t k = 0; k < step->nbytes; k++)
        zero &= !step->pattern[k];
    if (zero)
        memset(target, 0, step->nbytes * step->count);
    else if (step->nbytes == 8) {
        double word;
        memcpy(&word, step->pattern, 8);
        for (int64_t k = 0; k < step->count; k++)
            memcpy(target + 8 * k, &word, 8);
    } else if (step->nbytes == 4) {
        float word;
        memcpy(&word, step->pattern, 4);
        for (int64_t k = 0; k < step->count; k++)
            memcpy(target + 4 * k, &word, 4);
    } else
        for (int64_t k = 0; k < step->count; k++)
            memcpy(target + step->nbytes * k, step->pattern, step->nbytes);
}

static void run_steps(Step *steps, Py_ssize_t count, int64_t *cells)
{
    for (Step *step = steps; step < steps + count; step++) {
        for (Patch *p = step->patches; p < step->patches + step->patch_count; p++)
            *p->target = cells[p->cell] + p->offset;
        switch (step->kind) {
        case RUN:
            step->what->run(step->what);
            break;
        case FILL:
            fill(at(cells, step->target), step);
            break;
        case COPY:
            memmove(at(cells, step->target), at(cells, step->source), step->nbytes);
            break;
        case LOOP:
            for (int64_t k = 0; k < step->count; k++) {
                run_steps(step->inside, step->inside_count, cells);
                for (Py_ssize_t n = 0; n < step->move_count; n++)
                    cells[step->moves[n].cell] += step->moves[n].stride;
            }
            for (Py_ssize_t n = 0; n < step->move_count; n++)
                cells[step->moves[n].cell] -= step->count * step->moves[n].stride;
        }
    }
}

static void free_steps(Step *steps, Py_ssize_t count)
{
    for (Step *step = steps; steps != NULL && step < steps + count; step++) {
        Py_XDECREF(step->what);
        PyMem_Free(step->patches);
        PyMem_Free(step->moves);
        free_steps(step->inside, step->inside_count);
    }
    PyMem_Free(steps);
}

static void *room(Py_ssize_t count, size_t size)
{
    void *made = PyMem_Calloc(count ? count : 1, size);
    if (made == NULL)
        PyErr_NoMemory();
    return made;
}

static Step *read_steps(PyObject *given, double *work);

static int read_step(PyObject *given, Step *step, double *work)
{
    int kind;
    PyObject *rest;
    if (!PyArg_ParseTuple(given, "iO!", &kind, &PyTuple_Type, &rest))
        return -1;
    step->kind = kind;
    long long offset, from, nbytes, count;
    Py_ssize_t size;
    PyObject *what, *listed, *moves;
    const char *pattern;
    switch (step->kind) {
    case RUN:
        if (!PyArg_ParseTuple(rest, "OO!", &what, &PyList_Type, &listed))
            return -1;
        if (!Py_TYPE(what)->tp_vectorcall_offset || strncmp(Py_TYPE(what)->tp_name, "gradviz.plan.kernels.call.", 26) != 0) {
            PyErr_SetString(PyExc_TypeError, "only what kernels/call.c has made runs without Python");
            return -1;
        }
        step->what = (Runnable *)Py_NewRef(what);
        *work += step->what->work;
        step->patch_count = PyList_GET_SIZE(listed);
        if ((step->patches = room(step->patch_count, sizeof(Patch))) == NULL)
            return -1;
        for (Py_ssize_t k = 0; k < step->patch_count; k++) {
            unsigned long long target;
            if (!PyArg_ParseTuple(PyList_GET_ITEM(listed, k), "KnL", &target, &step->patches[k].cell, &offset))
                return -1;
            step->patches[k].target = (int64_t *)(uintptr_t)target;
            step->patches[k].offset = offset;
        }
        return 0;
    case FILL:
        if (!PyArg_ParseTuple(rest, "nLy#L", &step->target.cell, &offset, &pattern, &size, &count))
            return -1;
        if (size > (Py_ssize_t)sizeof step->pattern) {
            PyErr_SetString(PyExc_ValueError, "the pattern is too long");
            return -1;
        }
        memcpy(step->pattern, pattern, size);
        step->target.offset = offset;
        step->nbytes = size;
        step->count = count;
        *work += 0.1 * (double)(size * count);
        return 0;
    case COPY:
        if (!PyArg_ParseTuple(rest, "nLnLL", &step->target.cell, &offset, &step->source.cell, &from, &nbytes))
            return -1;
        step->target.offset = offset;
        step->source.offset = from;
        step->nbytes = nbytes;
        *work += 0.1 * (double)nbytes;
        return 0;
    case LOOP: {
        double inside = 10;
        if (!PyArg_ParseTuple(rest, "LO!O!", &count, &PyList_Type, &listed, &PyList_Type, &moves))
            return -1;
        step->count = count;
        step->inside_count = PyList_GET_SIZE(listed);
        if ((step->inside = read_steps(listed, &inside)) == NULL)
            return -1;
        *work += inside * (double)count;
        step->move_count = PyList_GET_SIZE(moves);
        if ((step->moves = room(step->move_count, sizeof *step->moves)) == NULL)
            return -1;
        for (Py_ssize_t k = 0; k < step->move_count; k++) {
            if (!PyArg_ParseTuple(PyList_GET_ITEM(moves, k), "nL", &step->moves[k].cell, &offset))
                return -1;
            step->moves[k].stride = offset;
        }
        return 0;
    }
    }
    PyErr_SetString(PyExc_ValueError, "no such step");
    return -1;
}

static Step *read_steps(PyObject *given, double *work)
{
    Py_ssize_t count = PyList_GET_SIZE(given);
    Step *steps = room(count, sizeof(Step));
    for (Py_ssize_t k = 0; steps != NULL && k < count; k++)
        if (read_step(PyList_GET_ITEM(given, k), steps + k, work) < 0) {
            free_steps(steps, count);
            return NULL;
        }
    return steps;
}

/* Steps(cells, made, steps, keep): `cells` is what they hold at first; `made` holds (dtype, shape, cell) for each array that a call makes. */
static PyObject *steps_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *cells, *made, *given, *keep;
    if (!PyArg_ParseTuple(args, "O!O!O!O", &PyList_Type, &cells, &PyList_Type, &made, &PyList_Type, &given, &keep))
        return NULL;
    Steps *steps = (Steps *)type->tp_alloc(type, 0);
    if (steps == NULL)
        return NULL;
    steps->keep = Py_NewRef(keep);
    steps->cell_count = PyList_GET_SIZE(cells);
    steps->made_count = PyList_GET_SIZE(made);
    if ((steps->cells = room(steps->cell_count, sizeof(int64_t))) == NULL || (steps->made = room(steps->made_count, sizeof(Made))) == NULL)
        goto fail;
    for (Py_ssize_t k = 0; k < steps->cell_count; k++)
        steps->cells[k] = PyLong_AsLongLong(PyList_GET_ITEM(cells, k));
    for (Py_ssize_t k = 0; k < steps->made_count; k++) {
        Made *m = steps->made + k;
        PyArray_Descr *dtype;
        PyObject *shape;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(made, k), "O!O!n", &PyArrayDescr_Type, &dtype, &PyTuple_Type, &shape, &m->cell))
            goto fail;
        m->dtype = (PyArray_Descr *)Py_NewRef(dtype);
        m->nd = (int)PyTuple_GET_SIZE(shape);
        if ((m->shape = room(m->nd, sizeof(npy_intp))) == NULL)
            goto fail;
        for (int n = 0; n < m->nd; n++)
            m->shape[n] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, n));
    }
    if (PyErr_Occurred() || (steps->steps = read_steps(given, &steps->work)) == NULL)
        goto fail;
    steps->step_count = PyList_GET_SIZE(given);
    return (PyObject *)steps;
fail:
    Py_DECREF(steps);
    return NULL;
}

static void steps_dealloc(PyObject *self)
{
    Steps *steps = (Steps *)self;
    PyMem_Free(steps->cells);
    for (Py_ssize_t k = 0; steps->made != NULL && k < steps->made_count; k++) {
        Py_XDECREF(steps->made[k].dtype);
        PyMem_Free(steps->made[k].shape);
    }
    PyMem_Free(steps->made);
    free_steps(steps->steps, steps->step_count);
    Py_XDECREF(steps->keep);
    Py_TYPE(self)->tp_free(self);
}

/* The arrays that a call makes, their addresses entered into the cells. */
static PyObject *make_arrays(Steps *steps)
{
    PyObject *arrays = PyTuple_New(steps->made_count);
    for (Py_ssize_t k = 0; arrays != NULL && k < steps->made_count; k++) {
        Made *m = steps->made + k;
        PyObject *array = PyArray_Empty(m->nd, m->shape, (PyArray_Descr *)Py_NewRef(m->dtype), 0);
        if (array == NULL) {
            Py_CLEAR(arrays);
            break;
        }
        PyTuple_SET_ITEM(arrays, k, array);
        steps->cells[m->cell] = (int64_t)(uintptr_t)PyArray_DATA((PyArrayObject *)array);
    }
    return arrays;
}

static void run_all(Steps *steps)
{
    if (steps->work < WORTH_LETTING_GO)
        run_steps(steps->steps, steps->step_count, steps->cells);
    else {
        Py_BEGIN_ALLOW_THREADS
        run_steps(steps->steps, steps->step_count, steps->cells);
        Py_END_ALLOW_THREADS
    }
}

/* With the addresses of the first cells, for those who come from Python: the arrays that it made. */
static PyObject *steps_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Steps *steps = (Steps *)self;
    if (PyTuple_GET_SIZE(args) > steps->cell_count)
        return PyErr_Format(PyExc_TypeError, "more addresses than cells");
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); k++)
        steps->cells[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(args, k));
    if (PyErr_Occurred())
        return NULL;
    PyObject *arrays = make_arrays(steps);
    if (arrays != NULL)
        run_all(steps);
    return arrays;
}

static PyTypeObject StepsType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "gradviz.plan.run.entry.Steps",
    .tp_doc = "Steps that need no Python, on memory known by cells.",
    .tp_basicsize = sizeof(Steps),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_call = steps_call,
    .tp_new = steps_new,
    .tp_dealloc = steps_dealloc,
};

/* The kernels of a call before have swept the caches: what is looked at soon is asked for now. */
#if defined(__GNUC__) || defined(__clang__)
#define SOON(address) __builtin_prefetch(address)
#else
#define SOON(address) ((void)(address))
#endif
#define AHEAD 16

/* ---- trees: in preorder, each node with the number of its children */

enum Branch { LEAF, TUPLE, LIST, DICT, NAMED, NOTHING };

typedef struct {
    enum Branch kind;
    Py_ssize_t count;
    PyObject *about; /* of DICT: a dict with the keys as they stand; of NAMED: the type */
    PyObject *keys;  /* of DICT: those, in the order of the leaves */
} Branching;

typedef struct {
    Branching *nodes;
    Py_ssize_t count;
} Tree;

static int read_tree(PyObject *given, Tree *tree)
{
    tree->count = PyList_GET_SIZE(given);
    if ((tree->nodes = room(tree->count, sizeof(Branching))) == NULL)
        return -1;
    for (Py_ssize_t k = 0; k < tree->count; k++) {
        int kind;
        Branching *node = tree->nodes + k;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(given, k), "inOO", &kind, &node->count, &node->about, &node->keys)) {
            tree->count = k;
            return -1;
        }
        node->kind = kind;
        Py_INCREF(node->about);
        Py_INCREF(node->keys);
    }
    return 0;
}

static void free_tree(Tree *tree)
{
    for (Py_ssize_t k = 0; tree->nodes != NULL && k < tree->count; k++) {
        Py_XDECREF(tree->nodes[k].about);
        Py_XDECREF(tree->nodes[k].keys);
    }
    PyMem_Free(tree->nodes);
}

/* The leaves of a tree, as new references; 0 if it is no tree of this kind. Nothing of the user's runs. */
static int take_apart(PyObject *tree, const Branching **node, PyObject **leaves, Py_ssize_t *found)
{
    const Branching *mine = (*node)++;
    switch (mine->kind) {
    case LEAF:
        leaves[(*found)++] = Py_NewRef(tree);
        return 1;
    case NOTHING:
        return tree == Py_None;
    case NAMED:
    case TUPLE:
        if (!Py_IS_TYPE(tree, mine->kind == TUPLE ? &PyTuple_Type : (PyTypeObject *)mine->about) || PyTuple_GET_SIZE(tree) != mine->count)
            return 0;
        for (Py_ssize_t k = 0; k < mine->count; k++)
            if (!take_apart(PyTuple_GET_ITEM(tree, k), node, leaves, found))
                return 0;
        return 1;
    case LIST:
        if (!PyList_CheckExact(tree) || PyList_GET_SIZE(tree) != mine->count)
            return 0;
        for (Py_ssize_t k = 0; k < mine->count; k++) {
            if (k + AHEAD < mine->count) {
                SOON(PyList_GET_ITEM(tree, k + AHEAD));
                SOON((char *)PyList_GET_ITEM(tree, k + AHEAD) + 64);
            }
            if (!take_apart(PyList_GET_ITEM(tree, k), node, leaves, found))
                return 0;
        }
        return 1;
    case DICT:
        if (!PyDict_CheckExact(tree) || PyDict_GET_SIZE(tree) != mine->count)
            return 0;
        for (Py_ssize_t k = 0; k < mine->count; k++) {
            PyObject *value = PyDict_GetItem(tree, PyTuple_GET_ITEM(mine->keys, k)); /* keys are strings: no code of the user's */
            if (value == NULL || !take_apart(value, node, leaves, found))
                return 0;
        }
        return 1;
    }
    return 0;
}

/* The tree with these leaves, which it takes over. */
static PyObject *put_together(const Branching **node, PyObject **leaves, Py_ssize_t *found)
{
    const Branching *mine = (*node)++;
    PyObject *made = NULL, *child;
    switch (mine->kind) {
    case LEAF:
        child = leaves[*found];
        leaves[(*found)++] = NULL;
        return child;
    case NOTHING:
        Py_RETURN_NONE;
    case LIST:
        if ((made = PyList_New(mine->count)) == NULL)
            return NULL;
        for (Py_ssize_t k = 0; k < mine->count; k++) {
            if ((child = put_together(node, leaves, found)) == NULL)
                goto fail;
            PyList_SET_ITEM(made, k, child);
        }
        return made;
    case DICT:
        if ((made = PyDict_Copy(mine->about)) == NULL)
            return NULL;
        for (Py_ssize_t k = 0; k < mine->count; k++) {
            if ((child = put_together(node, leaves, found)) == NULL)
                goto fail;
            int failed = PyDict_SetItem(made, PyTuple_GET_ITEM(mine->keys, k), child);
            Py_DECREF(child);
            if (failed)
                goto fail;
        }
        return made;
    case TUPLE:
    case NAMED:
        if ((made = PyTuple_New(mine->count)) == NULL)
            return NULL;
        for (Py_ssize_t k = 0; k < mine->count; k++) {
            if ((child = put_together(node, leaves, found)) == NULL)
                goto fail;
            PyTuple_SET_ITEM(made, k, child);
        }
        if (mine->kind == NAMED) {
            child = PyObject_Call(mine->about, made, NULL);
            Py_DECREF(made);
            return child;
        }
        return made;
    }
fail:
    Py_XDECREF(made);
    return NULL;
}

/* ---- entries */

enum Leaf { ARRAY, FLOAT, COMPLEX, SCALAR, FIXED };

typedef struct {
    enum Leaf kind;
    int written;
    PyTypeObject *type;
    PyArray_Descr *dtype;
    int nd;
    npy_intp *shape; /* and strides behind it */
    int64_t low, high; /* bytes from the first entry to the first byte, and behind the last */
    PyObject *value;
    void *slot;
} Known;

enum Out { INPUT, MADE, NUMBER, ITEM, CONSTANT };

typedef struct {
    enum Out kind;
    Py_ssize_t at;
    PyObject *about; /* of NUMBER and ITEM: the array that holds it */
} Given;

typedef struct {
    PyObject_HEAD
    PyObject *run, *frames, *frame, *outside; /* `outside` is None where nothing is */
    PyObject *steps;                          /* None where Python is needed */
    Tree arguments, result;
    Known *kinds; /* each once: thousands of arrays are of a few */
    Py_ssize_t kind_count;
    int32_t *which; /* kind of each leaf of the arguments, then of the arrays from outside */
    Py_ssize_t leaf_count, known_count;
    PyObject **leaves;
    int64_t *addresses; /* of the leaves that are arrays */
    int64_t *seen;      /* those that were found to lie apart from what is overwritten */
    int plain, tested, busy;
    Given *given;
    Py_ssize_t given_count;
    PyObject **outs;
} Entry;

static inline const Known *kind_at(const Entry *entry, Py_ssize_t k) { return entry->kinds + entry->which[k]; }

static int same_fixed(PyObject *a, PyObject *b)
{
    if (a == b)
        return 1;
    if (!Py_IS_TYPE(a, Py_TYPE(b)) || !(PyLong_CheckExact(a) || PyUnicode_CheckExact(a)))
        return 0;
    return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

/* Whether a leaf is of the kind it was; its address is noted. */
static inline int fits(Entry *entry, Py_ssize_t number)
{
    const Known *known = kind_at(entry, number);
    PyObject *leaf = entry->leaves[number];
    if (known->kind == FIXED)
        return same_fixed(leaf, known->value);
    if (!Py_IS_TYPE(leaf, known->type))
        return 0;
    if (known->kind != ARRAY)
        return 1;
    PyArrayObject *array = (PyArrayObject *)leaf;
    entry->addresses[number] = (int64_t)(uintptr_t)PyArray_DATA(array);
    if (PyArray_DESCR(array) != known->dtype || PyArray_NDIM(array) != known->nd)
        return 0;
    for (int k = 0; k < known->nd; k++)
        if (PyArray_DIMS(array)[k] != known->shape[k] || PyArray_STRIDES(array)[k] != known->shape[known->nd + k])
            return 0;
    return !known->written || PyArray_ISWRITEABLE(array);
}

typedef struct {
    int64_t first, end;
    int written;
} Span;

static int by_first(const void *a, const void *b)
{
    int64_t x = ((const Span *)a)->first, y = ((const Span *)b)->first;
    return (x > y) - (x < y);
}

/* Whether what is overwritten lies apart from all else; -1 is an error. It depends on nothing but kinds and addresses. */
static int apart(Entry *entry)
{
    int same = entry->tested;
    for (Py_ssize_t k = 0; k < entry->known_count; k++)
        if (kind_at(entry, k)->kind == ARRAY) {
            same &= entry->addresses[k] == entry->seen[k];
            entry->seen[k] = entry->addresses[k];
        }
    if (same)
        return 1;
    entry->tested = 0;
    Span *spans = PyMem_Malloc((entry->known_count ? entry->known_count : 1) * sizeof(Span));
    if (spans == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_ssize_t count = 0;
    for (Py_ssize_t k = 0; k < entry->known_count; k++) {
        const Known *known = kind_at(entry, k);
        if (known->kind == ARRAY && known->high > known->low)
            spans[count++] = (Span){entry->seen[k] + known->low, entry->seen[k] + known->high, known->written};
    }
    qsort(spans, count, sizeof(Span), by_first);
    int64_t reached = INT64_MIN, reached_written = INT64_MIN;
    int clear = 1;
    for (Py_ssize_t k = 0; k < count && clear; k++) {
        clear = spans[k].first >= (spans[k].written ? reached : reached_written);
        if (spans[k].end > reached)
            reached = spans[k].end;
        if (spans[k].written && spans[k].end > reached_written)
            reached_written = spans[k].end;
    }
    PyMem_Free(spans);
    entry->tested = clear;
    return clear;
}

/* Whether somebody records this thread, or forbids what only a recorder sees; who does is Python's business. */
static int watched(void)
{
    PyObject *value;
    if (PyList_GET_SIZE(OPEN) != 0)
        return 1;
    if (PyContextVar_Get(CURRENT, NULL, &value) < 0)
        return -1;
    int nobody = value == NOBODY, somebody = value != Py_None;
    Py_XDECREF(value);
    if (nobody || somebody)
        return !nobody;
    if (PyContextVar_Get(GUARDS, NULL, &value) < 0)
        return -1;
    int guarded = value == NULL || !PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) != 0;
    Py_XDECREF(value);
    return guarded;
}

static PyObject *result_leaf(Entry *entry, const Given *given, PyObject *made)
{
    switch (given->kind) {
    case INPUT: { /* no two results are the same input */
        PyObject *leaf = entry->leaves[given->at];
        entry->leaves[given->at] = NULL;
        return leaf;
    }
    case MADE:
        return Py_NewRef(PyTuple_GET_ITEM(made, given->at));
    case NUMBER:
        return PyArray_ToScalar(PyArray_DATA((PyArrayObject *)given->about), (PyArrayObject *)given->about);
    case ITEM:
        return PyArray_GETITEM((PyArrayObject *)given->about, PyArray_DATA((PyArrayObject *)given->about));
    case CONSTANT:
        return Py_NewRef(given->about);
    }
    return NULL;
}

/* Run the steps on the leaves. */
static PyObject *run_direct(Entry *entry)
{
    Steps *steps = (Steps *)entry->steps;
    PyObject *result = NULL;
    Py_ssize_t cell = 0;
    for (Py_ssize_t k = 0; k < entry->known_count; k++) {
        const Known *known = kind_at(entry, k);
        PyObject *leaf = entry->leaves[k];
        switch (known->kind) {
        case ARRAY:
            steps->cells[cell] = entry->addresses[k];
            break;
        case FLOAT:
            *(double *)known->slot = PyFloat_AS_DOUBLE(leaf);
            break;
        case COMPLEX: {
            Py_complex value = PyComplex_AsCComplex(leaf);
            memcpy(known->slot, &value, sizeof value);
            break;
        }
        case SCALAR:
            PyArray_ScalarAsCtype(leaf, known->slot);
            break;
        case FIXED:
            continue;
        }
        cell++;
    }
    PyObject *made = make_arrays(steps);
    if (made == NULL)
        return NULL;
    run_all(steps);
    Py_ssize_t count = 0;
    while (count < entry->given_count && (entry->outs[count] = result_leaf(entry, entry->given + count, made)) != NULL)
        count++;
    Py_DECREF(made);
    if (count == entry->given_count) {
        const Branching *node = entry->result.nodes;
        Py_ssize_t found = 0;
        result = put_together(&node, entry->outs, &found);
    }
    for (Py_ssize_t k = 0; k < count; k++)
        Py_CLEAR(entry->outs[k]);
    return result;
}

/* Run by Python. */
static PyObject *run_python(Entry *entry)
{
    PyObject *values = PyList_New(0);
    for (Py_ssize_t k = 0; values != NULL && k < entry->known_count; k++)
        if (kind_at(entry, k)->kind != FIXED && PyList_Append(values, entry->leaves[k]) < 0)
            Py_CLEAR(values);
    PyObject *result = values == NULL ? NULL : PyObject_CallOneArg(entry->run, values);
    Py_XDECREF(values);
    return result;
}

/* Take the frame whose memory the steps use, if it is free. */
static int take_frame(Entry *entry)
{
    Py_ssize_t last = PyList_GET_SIZE(entry->frames) - 1;
    if (last < 0 || PyList_GET_ITEM(entry->frames, last) != entry->frame)
        return 0;
    return PyList_SetSlice(entry->frames, last, last + 1, NULL) == 0;
}

/* The result for some arguments; NULL without an exception if they are of another kind, or the way is not free. */
static PyObject *enter(Entry *entry, PyObject *args, PyObject *kwargs)
{
    const Branching *node = entry->arguments.nodes;
    PyObject *result = NULL, *outside = NULL;
    Py_ssize_t found = 0;
    if (entry->busy)
        return NULL;
    entry->busy = 1;
    if (!take_apart(args, &node, entry->leaves, &found))
        goto end;
    if (node < entry->arguments.nodes + entry->arguments.count) {
        if (kwargs == NULL || !take_apart(kwargs, &node, entry->leaves, &found))
            goto end;
    } else if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0)
        goto end;
    for (Py_ssize_t k = 0; k < entry->leaf_count; k++) {
        if (k + AHEAD < entry->leaf_count && PyArray_CheckExact(entry->leaves[k + AHEAD]))
            SOON(PyArray_DIMS((PyArrayObject *)entry->leaves[k + AHEAD]));
        if (!fits(entry, k))
            goto end;
    }
    if (entry->outside != Py_None) {
        outside = PyObject_CallNoArgs(entry->outside);
        if (outside == NULL || !PyList_CheckExact(outside) || PyList_GET_SIZE(outside) != entry->known_count - entry->leaf_count)
            goto end;
        for (Py_ssize_t k = 0; found < entry->known_count; k++) {
            PyObject *array = PyList_GET_ITEM(outside, k);
            entry->leaves[found++] = Py_NewRef(array);
            if (!fits(entry, found - 1))
                goto end;
        }
    }
    if (!entry->plain && apart(entry) != 1)
        goto end;
    int watching = entry->steps == Py_None ? 1 : watched();
    if (watching < 0)
        goto end;
    if (watching)
        result = run_python(entry);
    else if (take_frame(entry)) {
        result = run_direct(entry);
        PyObject *type, *value, *trace; /* of an error there: the frame goes back whatever happened */
        PyErr_Fetch(&type, &value, &trace);
        if (PyList_Append(entry->frames, entry->frame) < 0)
            Py_CLEAR(result);
        else
            PyErr_Restore(type, value, trace);
    }
end:
    for (Py_ssize_t k = 0; k < found; k++)
        Py_CLEAR(entry->leaves[k]);
    Py_XDECREF(outside);
    entry->busy = 0;
    return result;
}

static int read_known(PyObject *given, Known *known)
{
    int kind;
    unsigned long long slot;
    PyObject *type, *about, *shape, *strides;
    if (!PyArg_ParseTuple(given, "ipOOO!O!KLL", &kind, &known->written, &type, &about, &PyTuple_Type, &shape, &PyTuple_Type, &strides, &slot,
                          &known->low, &known->high))
        return -1;
    known->kind = kind;
    known->type = (PyTypeObject *)Py_NewRef(type);
    known->slot = (void *)(uintptr_t)slot;
    if (kind == FIXED)
        known->value = Py_NewRef(about);
    if (kind == ARRAY) {
        if (!PyArray_DescrCheck(about)) {
            PyErr_SetString(PyExc_TypeError, "an array has a dtype");
            return -1;
        }
        known->dtype = (PyArray_Descr *)Py_NewRef(about);
    }
    known->nd = (int)PyTuple_GET_SIZE(shape);
    if ((known->shape = room(2 * known->nd, sizeof(npy_intp))) == NULL)
        return -1;
    for (int k = 0; k < known->nd; k++) {
        known->shape[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k));
        known->shape[known->nd + k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, k));
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Entry(run, frames, frame, outside, steps, plain, arguments, kinds, which, number of leaves, result, given): see entry.py. */
static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *run, *frames, *frame, *outside, *steps, *arguments, *kinds, *which, *result, *given;
    int plain;
    Py_ssize_t leaf_count;
    if (!PyArg_ParseTuple(args, "OO!OOOpO!O!O!nO!O!", &run, &PyList_Type, &frames, &frame, &outside, &steps, &plain, &PyList_Type, &arguments,
                          &PyList_Type, &kinds, &PyList_Type, &which, &leaf_count, &PyList_Type, &result, &PyList_Type, &given))
        return NULL;
    if (steps != Py_None && !Py_IS_TYPE(steps, &StepsType))
        return PyErr_Format(PyExc_TypeError, "steps must be Steps or None");
    Entry *entry = (Entry *)type->tp_alloc(type, 0);
    if (entry == NULL)
        return NULL;
    entry->run = Py_NewRef(run);
    entry->frames = Py_NewRef(frames);
    entry->frame = Py_NewRef(frame);
    entry->outside = Py_NewRef(outside);
    entry->steps = Py_NewRef(steps);
    entry->plain = plain;
    entry->leaf_count = leaf_count;
    Py_ssize_t total = entry->known_count = PyList_GET_SIZE(which);
    entry->given_count = PyList_GET_SIZE(given);
    if ((entry->kinds = room(PyList_GET_SIZE(kinds), sizeof(Known))) == NULL || (entry->which = room(total, sizeof(int32_t))) == NULL ||
        (entry->leaves = room(total, sizeof(PyObject *))) == NULL || (entry->seen = room(total, sizeof(int64_t))) == NULL ||
        (entry->addresses = room(total, sizeof(int64_t))) == NULL ||
        (entry->given = room(entry->given_count, sizeof(Given))) == NULL ||
        (entry->outs = room(entry->given_count, sizeof(PyObject *))) == NULL)
        goto fail;
    entry->kind_count = PyList_GET_SIZE(kinds);
    for (Py_ssize_t k = 0; k < entry->kind_count; k++)
        if (read_known(PyList_GET_ITEM(kinds, k), entry->kinds + k) < 0)
            goto fail;
    for (Py_ssize_t k = 0; k < total; k++) {
        long kind = PyLong_AsLong(PyList_GET_ITEM(which, k));
        if (kind < 0 || kind >= entry->kind_count) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "no such kind");
            goto fail;
        }
        entry->which[k] = (int32_t)kind;
    }
    for (Py_ssize_t k = 0; k < entry->given_count; k++) {
        int kind;
        PyObject *about;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(given, k), "inO", &kind, &entry->given[k].at, &about)) {
            entry->given_count = k;
            goto fail;
        }
        entry->given[k].kind = kind;
        entry->given[k].about = Py_NewRef(about);
    }
    if (read_tree(arguments, &entry->arguments) < 0 || read_tree(result, &entry->result) < 0)
        goto fail;
    return (PyObject *)entry;
fail:
    Py_DECREF(entry);
    return NULL;
}

static int entry_traverse(PyObject *self, visitproc visit, void *arg)
{
    Entry *entry = (Entry *)self;
    Py_VISIT(entry->run);
    Py_VISIT(entry->frames);
    Py_VISIT(entry->frame);
    Py_VISIT(entry->outside);
    return 0;
}

static int entry_clear(PyObject *self)
{
    Entry *entry = (Entry *)self;
    Py_CLEAR(entry->run);
    Py_CLEAR(entry->frames);
    Py_CLEAR(entry->frame);
    Py_CLEAR(entry->outside);
    return 0;
}

static void entry_dealloc(PyObject *self)
{
    Entry *entry = (Entry *)self;
    PyObject_GC_UnTrack(self);
    entry_clear(self);
    Py_XDECREF(entry->steps);
    for (Py_ssize_t k = 0; entry->kinds != NULL && k < entry->kind_count; k++) {
        Py_XDECREF(entry->kinds[k].type);
        Py_XDECREF(entry->kinds[k].dtype);
        Py_XDECREF(entry->kinds[k].value);
        PyMem_Free(entry->kinds[k].shape);
    }
    for (Py_ssize_t k = 0; entry->given != NULL && k < entry->given_count; k++)
        Py_XDECREF(entry->given[k].about);
    PyMem_Free(entry->kinds);
    PyMem_Free(entry->which);
    PyMem_Free(entry->leaves);
    PyMem_Free(entry->seen);
    PyMem_Free(entry->addresses);
    PyMem_Free(entry->given);
    PyMem_Free(entry->outs);
    free_tree(&entry->arguments);
    free_tree(&entry->result);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef entry_members[] = {
    {"steps", T_OBJECT, offsetof(Entry, steps), READONLY, "What runs without Python; None where Python is needed."},
    {NULL},
};

static PyTypeObject EntryType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "gradviz.plan.run.entry.Entry",
    .tp_doc = "Arguments of one kind, and what becomes of them.",
    .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = entry_new,
    .tp_dealloc = entry_dealloc,
    .tp_traverse = entry_traverse,
    .tp_clear = entry_clear,
    .tp_members = entry_members,
};

/* ---- the function */

typedef struct {
    PyObject_HEAD
    PyObject *entries; /* a list, the latest first */
} Entrance;

static PyTypeObject EntranceType;

static PyObject *entrance_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    if (type == &EntranceType)
        return PyErr_Format(PyExc_TypeError, "an Entrance is made by a class that has by_key");
    Entrance *self = (Entrance *)type->tp_alloc(type, 0);
    if (self != NULL && (self->entries = PyList_New(0)) == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *entrance_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *entries = ((Entrance *)self)->entries, *result = NULL;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(entries); k++) {
        PyObject *entry = Py_NewRef(PyList_GET_ITEM(entries, k)); /* a call may make others */
        if (Py_IS_TYPE(entry, &EntryType))
            result = enter((Entry *)entry, args, kwargs);
        Py_DECREF(entry);
        if (result != NULL)
            return result;
        if (PyErr_Occurred()) {
            if (!PyErr_ExceptionMatches(Mismatch))
                return NULL;
            PyErr_Clear();
            break;
        }
    }
    PyObject *named = kwargs == NULL ? PyDict_New() : Py_NewRef(kwargs);
    if (named != NULL)
        result = PyObject_CallMethodObjArgs(self, str_by_key, args, named, NULL);
    Py_XDECREF(named);
    return result;
}

static int entrance_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Entrance *)self)->entries);
    return 0;
}

static int entrance_clear(PyObject *self)
{
    Py_CLEAR(((Entrance *)self)->entries);
    return 0;
}

static void entrance_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    entrance_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef entrance_members[] = {
    {"entries", T_OBJECT, offsetof(Entrance, entries), READONLY, "Kinds of arguments that were met, the latest first."},
    {NULL},
};

static PyTypeObject EntranceType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "gradviz.plan.run.entry.Entrance",
    .tp_doc = "A function with the kinds of arguments that it has come to know; others go to its method `by_key(args, kwargs)`.",
    .tp_basicsize = sizeof(Entrance),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_new = entrance_new,
    .tp_call = entrance_call,
    .tp_dealloc = entrance_dealloc,
    .tp_traverse = entrance_traverse,
    .tp_clear = entrance_clear,
    .tp_members = entrance_members,
};

/* ---- the module */

/* know(current, open, nobody, guards, Mismatch): what entry.py imports */
static PyObject *know(PyObject *self, PyObject *args)
{
    if (!PyArg_ParseTuple(args, "OO!OOO", &CURRENT, &PyList_Type, &OPEN, &NOBODY, &GUARDS, &Mismatch))
        return NULL;
    Py_INCREF(CURRENT);
    Py_INCREF(OPEN);
    Py_INCREF(NOBODY);
    Py_INCREF(GUARDS);
    Py_INCREF(Mismatch);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"know", know, METH_VARARGS, "Be told of what entry.py imports."},
    {NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "gradviz.plan.run._entry", "The way into a plan, compiled.", -1, methods,
};

PyMODINIT_FUNC PyInit__entry(void)
{
    import_array();
    if (PyType_Ready(&StepsType) < 0 || PyType_Ready(&EntryType) < 0 || PyType_Ready(&EntranceType) < 0 ||
        (str_by_key = PyUnicode_InternFromString("by_key")) == NULL)
        return NULL;
    PyObject *made = PyModule_Create(&module);
    if (made == NULL)
        return NULL;
    if (PyModule_AddObjectRef(made, "Steps", (PyObject *)&StepsType) < 0 || PyModule_AddObjectRef(made, "Entry", (PyObject *)&EntryType) < 0 ||
        PyModule_AddObjectRef(made, "Entrance", (PyObject *)&EntranceType) < 0)
        Py_CLEAR(made);
    return made;
}
