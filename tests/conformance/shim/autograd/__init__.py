"""autograd's names on gradviz, so that autograd's tests run here. What differs in convention is turned at this border:

autograd's gradient of a real function of a complex number is the conjugate of ours; it takes integers for floats; a gradient may be
asked of an array of one entry.
"""

from autograd.builtins import dict, isinstance, list, tuple, type
from autograd.extend import primitive
from autograd.operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)

__all__ = [
    "checkpoint", "deriv", "dict", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian", "hessian_tensor_product",
    "hessian_vector_product", "holomorphic_grad", "isinstance", "jacobian", "list", "make_ggnvp", "make_hvp", "make_jvp", "make_vjp",
    "primitive", "tensor_jacobian_product", "tuple", "type", "value_and_grad", "vector_jacobian_product",
]  # fmt: skip
