/* Calls of machine code without ctypes, and the threads that share them out: see call.py, threads.py and blas.py for what they do.

   A `Task` is a kernel on all its jobs, cut into shares; a `Gemm` is one product by BLAS. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>
#include "runnable.h"

static PyObject *run_now(Runnable *self)
{
    if (self->work < WORTH_LETTING_GO)
        self->run(self);
    else {
        Py_BEGIN_ALLOW_THREADS
        self->run(self);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

/* ---- kernels */

typedef void (*Entry)(int64_t *row, int64_t begin, int64_t end, char *scratch);

typedef struct {
    Entry enter;
    int64_t *row, begin, end;
} Piece;

typedef struct {
    Runnable head;
    Piece *pieces, after; /* after all shares, unless `after.enter` is NULL */
    Py_ssize_t *ends;     /* of the pieces of each share */
    int64_t shares;
    int threads;
    char *scratch;
    int64_t scratch_bytes; /* of each thread */
} Task;

static void run_share(Task *task, int64_t share, int who)
{
    char *scratch = task->scratch + who * task->scratch_bytes;
    for (Py_ssize_t k = share ? task->ends[share - 1] : 0; k < task->ends[share]; k++) {
        Piece *piece = task->pieces + k;
        piece->enter(piece->row, piece->begin, piece->end, scratch);
    }
}

/* ---- threads */

#ifndef _WIN32
#include <pthread.h>
#include <signal.h>

#define MOST_THREADS 256
#define PATIENCE 4000 /* looks at whether the others are done, before sleeping: some 10 µs */

/* A task that threads may take shares of; it lies on the stack of the thread that waits for it. */
typedef struct Job {
    Task *task;
    int64_t next;    /* share; atomic */
    int joined, inside; /* threads that came, and those that are not done; `inside` is read without the lock */
    struct Job *following;
} Job;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t come = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static Job *jobs = NULL;
static int threads = 0;

static void take_shares(Job *job, int who)
{
    for (;;) {
        int64_t share = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
        if (share >= job->task->shares)
            return;
        run_share(job->task, share, who);
    }
}

static void leave_list(Job *job)
{
    for (Job **at = &jobs; *at != NULL; at = &(*at)->following)
        if (*at == job) {
            *at = job->following;
            return;
        }
}

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (jobs == NULL)
            pthread_cond_wait(&come, &lock);
        Job *job = jobs;
        int who = ++job->joined;
        job->inside++;
        if (who == job->task->threads - 1)
            leave_list(job);
        pthread_mutex_unlock(&lock);
        take_shares(job, who);
        pthread_mutex_lock(&lock);
        if (__atomic_sub_fetch(&job->inside, 1, __ATOMIC_RELEASE) == 0)
            pthread_cond_broadcast(&done);
    }
    return NULL;
}

/* Signals are for Python's threads. */
static void start_threads(int wanted)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (threads < wanted && threads < MOST_THREADS) {
        pthread_t made;
        if (pthread_create(&made, NULL, work, NULL) != 0)
            break; /* then there are fewer to take shares */
        pthread_detach(made);
        threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void run_shared(Task *task)
{
    Job job = {task, 0, 0, 0, NULL};
    pthread_mutex_lock(&lock);
    if (threads < task->threads - 1)
        start_threads(task->threads - 1);
    Job **end = &jobs;
    while (*end != NULL)
        end = &(*end)->following;
    *end = &job;
    pthread_cond_broadcast(&come);
    pthread_mutex_unlock(&lock);
    take_shares(&job, 0);
    pthread_mutex_lock(&lock);
    leave_list(&job);
    pthread_mutex_unlock(&lock); /* nobody joins from here on */
    for (int k = 0; k < PATIENCE && __atomic_load_n(&job.inside, __ATOMIC_ACQUIRE) != 0; k++)
        ;
    pthread_mutex_lock(&lock);
    while (job.inside != 0)
        pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
}

/* A forked child has none of its parent's threads. */
static void forget(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&come, NULL);
    pthread_cond_init(&done, NULL);
    jobs = NULL;
    threads = 0;
}
#endif

static void run_task(Runnable *self)
{
    Task *task = (Task *)self;
#ifndef _WIN32
    if (task->threads > 1)
        run_shared(task);
    else
#endif
        for (int64_t share = 0; share < task->shares; share++)
            run_share(task, share, 0);
    if (task->after.enter != NULL)
        task->after.enter(task->after.row, task->after.begin, task->after.end, task->scratch);
}

static PyObject *task_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    if (PyVectorcall_NARGS(count) || names != NULL)
        return PyErr_Format(PyExc_TypeError, "a task takes no arguments");
    return run_now((Runnable *)self);
}

static int read_piece(PyObject *given, Piece *piece)
{
    unsigned long long enter, row;
    long long begin, end;
    if (!PyArg_ParseTuple(given, "KKLL", &enter, &row, &begin, &end))
        return -1;
    *piece = (Piece){(Entry)(uintptr_t)enter, (int64_t *)(uintptr_t)row, begin, end};
    return 0;
}

/* Task(shares, after, threads, scratch, scratch_bytes, work): shares of (entry, row, begin, end), as addresses; `after` is one or None. */
static PyObject *task_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *shares, *after;
    int threads_wanted;
    unsigned long long scratch;
    long long scratch_bytes;
    double work_ns;
    if (!PyArg_ParseTuple(args, "O!OiKLd", &PyList_Type, &shares, &after, &threads_wanted, &scratch, &scratch_bytes, &work_ns))
        return NULL;
    Task *task = (Task *)type->tp_alloc(type, 0);
    if (task == NULL)
        return NULL;
    Py_ssize_t total = 0, at = 0;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(shares); k++) {
        Py_ssize_t size = PyObject_Length(PyList_GET_ITEM(shares, k));
        if (size < 0)
            goto fail;
        total += size;
    }
    task->shares = PyList_GET_SIZE(shares);
    task->pieces = PyMem_Calloc(total ? total : 1, sizeof(Piece));
    task->ends = PyMem_Calloc(task->shares ? task->shares : 1, sizeof(Py_ssize_t));
    if (task->pieces == NULL || task->ends == NULL) {
        PyErr_NoMemory();
        goto fail;
    }
    for (Py_ssize_t k = 0; k < task->shares; k++) {
        PyObject *share = PyList_GET_ITEM(shares, k);
        if (!PyList_Check(share)) {
            PyErr_SetString(PyExc_TypeError, "a share is a list of pieces");
            goto fail;
        }
        for (Py_ssize_t n = 0; n < PyList_GET_SIZE(share); n++)
            if (read_piece(PyList_GET_ITEM(share, n), task->pieces + at++) < 0)
                goto fail;
        task->ends[k] = at;
    }
    if (after != Py_None && read_piece(after, &task->after) < 0)
        goto fail;
    task->threads = threads_wanted;
    task->scratch = (char *)(uintptr_t)scratch;
    task->scratch_bytes = scratch_bytes;
    task->head.work = work_ns;
    task->head.run = run_task;
    task->head.vectorcall = task_call;
    return (PyObject *)task;
fail:
    Py_DECREF(task);
    return NULL;
}

static void task_dealloc(PyObject *self)
{
    PyMem_Free(((Task *)self)->pieces);
    PyMem_Free(((Task *)self)->ends);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject TaskType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "gradviz.plan.kernels.call.Task",
    .tp_doc = "A kernel on all its jobs; see call.py, which owns the tables.",
    .tp_basicsize = sizeof(Task),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Runnable, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = task_new,
    .tp_dealloc = task_dealloc,
};

/* ---- products */

typedef struct {
    Runnable head;
    void *function;
    int letter, wide, way_a, way_b;
    int64_t m, n, k, lda, ldb, ldc;
    double alpha[2], beta[2]; /* in the kind of the letter, for complex ones */
    int64_t a, b, c;          /* addresses */
    PyObject *library;
} Gemm;

#define GEMM(whole, scalar, alpha, beta)                                                                                             \
    ((void (*)(int, int, int, whole, whole, whole, scalar, void *, whole, void *, whole, scalar, void *, whole))g->function)(        \
        101, g->way_a, g->way_b, (whole)g->m, (whole)g->n, (whole)g->k, alpha, (void *)(uintptr_t)g->a, (whole)g->lda,               \
        (void *)(uintptr_t)g->b, (whole)g->ldb, beta, (void *)(uintptr_t)g->c, (whole)g->ldc)

static void run_gemm(Runnable *self)
{
    Gemm *g = (Gemm *)self;
    switch (g->letter) {
    case 's':
        if (g->wide)
            GEMM(int64_t, float, (float)g->alpha[0], (float)g->beta[0]);
        else
            GEMM(int, float, (float)g->alpha[0], (float)g->beta[0]);
        break;
    case 'd':
        if (g->wide)
            GEMM(int64_t, double, g->alpha[0], g->beta[0]);
        else
            GEMM(int, double, g->alpha[0], g->beta[0]);
        break;
    default:
        if (g->wide)
            GEMM(int64_t, void *, g->alpha, g->beta);
        else
            GEMM(int, void *, g->alpha, g->beta);
    }
}

/* Call it with the addresses of both operands and of the result. */
static PyObject *gemm_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    Gemm *g = (Gemm *)self;
    if (PyVectorcall_NARGS(count) != 3 || names != NULL)
        return PyErr_Format(PyExc_TypeError, "a product takes three addresses");
    int64_t found[3];
    for (int k = 0; k < 3; k++) {
        found[k] = PyLong_AsLongLong(args[k]);
        if (found[k] == -1 && PyErr_Occurred())
            return NULL;
    }
    Gemm mine = *g; /* another thread may call it as well */
    mine.a = found[0], mine.b = found[1], mine.c = found[2];
    return run_now(&mine.head);
}

/* Gemm(library, function, letter, wide, way_a, way_b, m, n, k, alpha, lda, ldb, beta, ldc) */
static PyObject *gemm_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *library;
    unsigned long long function;
    int letter, wide, way_a, way_b;
    long long m, n, k, lda, ldb, ldc;
    Py_complex alpha, beta;
    if (!PyArg_ParseTuple(args, "OKipiiLLLDLLDL", &library, &function, &letter, &wide, &way_a, &way_b, &m, &n, &k, &alpha, &lda, &ldb, &beta, &ldc))
        return NULL;
    Gemm *g = (Gemm *)type->tp_alloc(type, 0);
    if (g == NULL)
        return NULL;
    g->library = Py_NewRef(library);
    g->function = (void *)(uintptr_t)function;
    g->letter = letter, g->wide = wide, g->way_a = way_a, g->way_b = way_b;
    g->m = m, g->n = n, g->k = k, g->lda = lda, g->ldb = ldb, g->ldc = ldc;
    if (letter == 'c') {
        float parts[4] = {(float)alpha.real, (float)alpha.imag, (float)beta.real, (float)beta.imag};
        memcpy(g->alpha, parts, 8);
        memcpy(g->beta, parts + 2, 8);
    } else {
        g->alpha[0] = alpha.real, g->alpha[1] = alpha.imag;
        g->beta[0] = beta.real, g->beta[1] = beta.imag;
    }
    g->head.work = 0.1 * (double)m * (double)n * (double)k;
    g->head.run = run_gemm;
    g->head.vectorcall = gemm_call;
    return (PyObject *)g;
}

static PyObject *gemm_cells(PyObject *self, void *unused)
{
    Gemm *g = (Gemm *)self;
    return Py_BuildValue("LLL", (long long)(uintptr_t)&g->a, (long long)(uintptr_t)&g->b, (long long)(uintptr_t)&g->c);
}

static void gemm_dealloc(PyObject *self)
{
    Py_XDECREF(((Gemm *)self)->library);
    Py_TYPE(self)->tp_free(self);
}

static PyGetSetDef gemm_fields[] = {
    {"cells", gemm_cells, NULL, "Where the addresses of both operands and of the result are kept, for those who run it without Python.", NULL},
    {NULL},
};

static PyTypeObject GemmType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "gradviz.plan.kernels.call.Gemm",
    .tp_doc = "A product of matrices by BLAS, with everything but the addresses.",
    .tp_basicsize = sizeof(Gemm),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Runnable, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = gemm_new,
    .tp_dealloc = gemm_dealloc,
    .tp_getset = gemm_fields,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "gradviz.plan.kernels._call", "Calls of machine code, without ctypes.", -1, NULL,
};

PyMODINIT_FUNC PyInit__call(void)
{
    if (PyType_Ready(&TaskType) < 0 || PyType_Ready(&GemmType) < 0)
        return NULL;
    PyObject *made = PyModule_Create(&module);
    if (made == NULL)
        return NULL;
#ifdef _WIN32
    int shares = 0;
#else
    int shares = 1;
    if (pthread_atfork(NULL, NULL, forget) != 0) {
        Py_DECREF(made);
        return PyErr_NoMemory();
    }
#endif
    if (PyModule_AddObjectRef(made, "Task", (PyObject *)&TaskType) < 0 || PyModule_AddObjectRef(made, "Gemm", (PyObject *)&GemmType) < 0 ||
        PyModule_AddObjectRef(made, "SHARES", shares ? Py_True : Py_False) < 0)
        Py_CLEAR(made);
    return made;
}
