/* What a plan runs without Python: a kernel on its jobs, a product of matrices. The lock of the interpreter is not needed while it runs. */

#include <Python.h>
#include <stdint.h>

typedef struct Runnable {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    void (*run)(struct Runnable *self);
    double work; /* nanoseconds, roughly */
} Runnable;

#define WORTH_LETTING_GO 20000.0 /* nanoseconds of work: others may have the interpreter meanwhile */
