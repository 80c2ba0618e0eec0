"""Is every rule right? All entries of all tables, through all checks."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from gradviz.errors import GradvizError
from tests.rules import check
from tests.rules.tables import ENTRIES, TABLES


def every(wanted=lambda entry: True):
    chosen = [entry for entry in ENTRIES if wanted(entry)]
    return pytest.mark.parametrize("entry", chosen, ids=lambda entry: entry.name)


def test_names_are_unique():
    names = [entry.name for entry in ENTRIES]
    assert len(names) == len(set(names)), sorted({name for name in names if names.count(name) > 1})


@every()
def test_real(entry):
    p = check.point(entry)
    check.check_value(p)
    check.check_first_order(p)
    check.check_forward_mode(p)
    check.check_layouts(p)
    check.check_batches(p)


@every(lambda entry: entry.order > 1)
def test_second_order(entry):
    check.check_second_order(check.point(entry))


@every(lambda entry: entry.is_complex)
def test_complex(entry):
    p = check.point(entry, is_complex=True)
    check.check_value(p)
    check.check_first_order(p)
    check.check_forward_mode(p)
    check.check_layouts(p)
    check.check_batches(p)
    if entry.order > 1:
        check.check_second_order(p)


@every(lambda entry: entry.single)
def test_single_precision(entry):
    check.check_single_precision(check.point(entry))
    if entry.is_complex:
        check.check_single_precision(check.point(entry, is_complex=True))


@every(lambda entry: entry.elementwise)
def test_shapes(entry):
    check.check_shapes(entry)


# Linear algebra on empty matrices has tests of its own, special functions take all shapes alike, and NumPy takes these two by mistake.
ODD = {"einsum ii->i", "put clipping"}
OF_ANY_SHAPE = {
    entry.name
    for name in TABLES
    if not name.startswith(("table_linalg", "table_special", "table_scipy"))
    for entry in importlib.import_module(f"tests.rules.{name}").ENTRIES
} - ODD


@every(lambda entry: entry.name in OF_ANY_SHAPE)
def test_other_shapes(entry):
    check.check_other_shapes(entry)


@every(lambda entry: entry.device)
def test_device(entry):
    """The backward pass of every rule that has a device version neither waits nor uploads."""
    check.check_device(check.point(entry))
    if entry.is_complex and entry.complex_device:
        check.check_device(check.point(entry, is_complex=True))


@every(lambda entry: not entry.device)
def test_without_a_device_version_there_is_an_error_and_no_wrong_gradient(entry):
    """CuPy lacks a function or an argument, or the line sends host data: then that is said, or it is right all the same."""
    try:
        check.check_device(check.point(entry))
    except AssertionError as error:
        assert "made the host wait, or sent data" in str(error)  # noqa: PT017 - a gradient that is right, but waited
    except (GradvizError, TypeError, ValueError, AttributeError, NotImplementedError, np.linalg.LinAlgError):
        pass
