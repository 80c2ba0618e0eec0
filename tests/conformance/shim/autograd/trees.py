"""Arithmetic on trees of arrays and numbers."""

import numpy as np
import numpy.random as npr
import optree

from gradviz.transforms.trees import flatten, unflatten


def leaves(tree):
    return flatten(tree)[0]


def map_tree(function, tree, *others):
    found, structure = flatten(tree)
    rest = [flatten(other)[0] for other in others]
    return unflatten(structure, [function(*items) for items in zip(found, *rest, strict=True)])


def as_float(tree):
    """autograd counts an integer for a float."""
    return map_tree(lambda x: float(x) if isinstance(x, (int, np.integer)) and not isinstance(x, bool) else x, tree)


def conj(tree):
    return map_tree(lambda x: np.conj(x) if np.iscomplexobj(x) else x, tree)


def ones(tree):
    return _filled(tree, 1.0)


def zeros(tree):
    return _filled(tree, 0.0)


def _filled(tree, number):
    """A number for a number, an array for an array."""
    return map_tree(lambda x: np.full(np.shape(x), number, np.result_type(x))[()], tree)


def randn(tree):
    def draw(x):
        made = npr.randn(*np.shape(x)) + (1j * npr.randn(*np.shape(x)) if np.iscomplexobj(x) else 0.0)
        return np.asarray(made, np.result_type(x)) if np.ndim(x) else made

    return map_tree(draw, tree)


def inner(a, b):
    """The real inner product, in which a complex number is a pair of real ones."""
    return sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(leaves(a), leaves(b), strict=True))


def kind(tree):
    """What two values of one space have in common: structure, shapes, and whether they are complex."""
    structure = optree.tree_structure(tree, namespace="gradviz")
    return structure, [(np.shape(x), np.iscomplexobj(x)) for x in leaves(tree)]
