/* Reading the __slots__ of our Python classes from C: where they lie is asked once, when a module is told of a class. */

#include <structmember.h>

#define AT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* Where a class keeps one of its __slots__; -1 with an exception if it does not. */
static Py_ssize_t place_of(PyTypeObject *type, const char *name)
{
    PyObject *member = PyObject_GetAttrString((PyObject *)type, name);
    if (member == NULL)
        return -1;
    if (!Py_IS_TYPE(member, &PyMemberDescr_Type)) {
        Py_DECREF(member);
        PyErr_Format(PyExc_TypeError, "%s.%s is no slot", type->tp_name, name);
        return -1;
    }
    Py_ssize_t offset = ((PyMemberDescrObject *)member)->d_member->offset;
    Py_DECREF(member);
    return offset;
}
