"""Derivatives of ufuncs: arithmetic, powers, exponentials, trigonometry."""

from __future__ import annotations

import numpy as np

from gradviz.engine.rule import rule
from gradviz.engine.slope import conj, slope


def add_to_x(ct):
    return ct


def add_to_y(ct):
    return ct


def subtract_to_y(ct):
    return -ct


def multiply_to_x(ct, y):
    return ct * conj(y)


def multiply_to_y(ct, x):
    return ct * conj(x)


rule(np.add, add_to_x, add_to_y, signature="x, y", elementwise=True, linear="joint")
rule(np.subtract, add_to_x, subtract_to_y, signature="x, y", elementwise=True, linear="joint")
rule(np.multiply, multiply_to_x, multiply_to_y, signature="x, y", elementwise=True, linear="each")
slope(np.true_divide, singular=True, x=lambda y: 1 / y, y=lambda out, y: -out / y)

slope(np.sin, x=lambda x: np.cos(x))
slope(np.cos, x=lambda x: -np.sin(x))
slope(np.exp, x=lambda out: out)
slope(np.log, singular=True, x=lambda x: 1 / x)
slope(np.sqrt, singular=True, x=lambda out: 0.5 / out)
slope(np.tanh, x=lambda out: 1 - out * out)


def negative_to_x(ct):
    return -ct


rule(np.negative, negative_to_x, signature="x", elementwise=True, linear="each")
