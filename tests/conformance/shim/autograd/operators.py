"""autograd's operators: functions of ``f`` and the positions of the arguments to differentiate."""

import functools
import inspect
import warnings

import numpy as np

import gradviz as gv
from autograd.trees import as_float, conj, ones


def unary_to_nary(operator):
    """Make an operator on functions of one argument one on functions of many: ``operator(f, argnum)(*args)``."""

    @functools.wraps(operator)
    def nary(f, argnum=0, *options, **named):
        name = getattr(f, "__name__", "[unknown name]")

        def applied(*args, **kwargs):
            positions = [argnum] if isinstance(argnum, int) else list(argnum)

            def unary(x):
                filled = list(args)
                for position, value in zip(positions, [x] if isinstance(argnum, int) else x, strict=True):
                    filled[position] = value
                return f(*filled, **kwargs)

            unary.__name__ = name
            x = args[argnum] if isinstance(argnum, int) else tuple(args[position] for position in positions)
            return operator(unary, as_float(x), *options, **named)

        applied.__name__ = f"{operator.__name__}_of_{name}_wrt_argnum_{argnum}"
        return applied

    return nary


def vjp_of(f, x):
    """``(pull, value)``, with cotangents in autograd's convention."""
    y, pull = gv.vjp(f, x)
    return (lambda ct: conj(pull(conj(ct))[0])), y


def jvp_of(f, x):
    return lambda v: gv.jvp(f, (x,), (v,))


make_vjp, make_jvp = unary_to_nary(vjp_of), unary_to_nary(jvp_of)
make_vjp.__name__, make_jvp.__name__ = "make_vjp", "make_jvp"


def one_number(y):
    """The result of a function whose gradient is asked for."""
    if isinstance(y, (tuple, list, dict)) or np.size(y) != 1 or isinstance(y, (bool, np.bool_)):
        raise TypeError("grad is of a function that returns one real number")
    return np.reshape(y, ()) if np.ndim(y) else y


@unary_to_nary
def value_and_grad(f, x):
    value, gradient = gv.value_and_grad(lambda x: one_number(f(x)))(x)
    return value, conj(gradient)


@unary_to_nary
def grad(f, x):
    return conj(gv.grad(lambda x: one_number(f(x)))(x))


@unary_to_nary
def elementwise_grad(f, x):
    pull, y = vjp_of(f, x)
    return pull(ones(y))


@unary_to_nary
def deriv(f, x):
    return gv.jvp(f, (x,), (ones(x),))[1]


@unary_to_nary
def jacobian(f, x):
    return gv.jacobian(f)(x)


@unary_to_nary
def hessian(f, x):
    return gv.jacobian(gv.jacobian(f))(x)


@unary_to_nary
def holomorphic_grad(f, x):
    if not np.iscomplexobj(x):
        warnings.warn("the argument of holomorphic_grad is real", stacklevel=4)
    return conj(gv.grad(lambda x: np.real(f(x)))(x))


@unary_to_nary
def make_hvp(f, x):
    return vjp_of(grad(f), x)


@unary_to_nary
def grad_and_aux(f, x):
    gradient, aux = gv.grad(f, has_aux=True)(x)
    return gradient, aux


def grad_named(f, name):
    return grad(f, list(inspect.signature(f).parameters).index(name))


def hessian_tensor_product(f, argnum=0):
    def along(*args, **kwargs):
        *args, tensor = args
        return np.tensordot(grad(f, argnum)(*args, **kwargs), tensor, np.ndim(tensor))

    return grad(along, argnum)


def tensor_jacobian_product(f, argnum=0):
    def along(*args, **kwargs):
        *args, tensor = args
        return np.tensordot(tensor, f(*args, **kwargs), np.ndim(tensor))

    return jacobian(along, argnum)


hessian_vector_product, vector_jacobian_product = hessian_tensor_product, tensor_jacobian_product


def half_square(x):
    return 0.5 * np.sum(x**2, axis=-1)


def make_ggnvp(f, g=half_square, f_argnum=0):
    @unary_to_nary
    def product(f, x):
        pull, y = vjp_of(f, x)

        def of(v):
            along = gv.jvp(f, (x,), (v,))[1]
            return pull(gv.jvp(grad(g), (y,), (along,))[1])

        return of

    return product(f, f_argnum)


def checkpoint(f):
    return gv.checkpoint(f)
