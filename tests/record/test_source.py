"""Is a call's line the user's, wherever the user wrote it?"""

from __future__ import annotations

import inspect
import linecache
import threading

import numpy as np
import pytest

import gradviz as gv
from gradviz.record.events import Kind
from gradviz.record.source import digest, line_of, user_line

X = np.arange(1.0, 4.0)


def lines_of(f):
    """(function, line counted from its first) of every call of a gradient."""
    with gv.profile() as p:
        gv.grad(f)(X)
    trace, first = p.trace, inspect.getsourcelines(f)[1]
    sites = trace.sites
    return [
        (trace.text(int(sites["function_str"][s])).rpartition(".")[2], int(sites["line"][s]) - first, trace.text(int(sites["text_str"][s])))
        for s in trace.events["site"][trace.rows(Kind.CALL)]
    ]  # fmt: skip


def plain(x):
    y = np.sin(
        x,
    )
    return np.sum(y)


def inner_function(x):
    def inner(z):
        return np.cos(z)

    square = lambda z: z * z  # noqa: E731
    return np.sum(square(inner(x)))


def comprehension(x):
    parts = [
        x[i] * 2.0
        for i in range(2)
    ]  # fmt: skip
    return sum(parts)


def methods_and_operators(x):
    y = x.reshape(-1, 1).T
    y += 1.0
    y[0] = x
    return y.sum()


def test_lines():
    assert [line for _, line, _ in lines_of(plain)] == [1, 4]
    assert [(f, line) for f, line, _ in lines_of(inner_function)] == [
        ("inner", 2),
        ("<lambda>", 4),
        ("inner_function", 5),
    ]
    assert [line for _, line, _ in lines_of(comprehension)][:4] == [2, 2, 2, 2]
    found = lines_of(methods_and_operators)
    assert [line for _, line, _ in found][:2] == [1, 1]
    assert found[-1][1:] == (4, "return y.sum()")
    assert all(0 < line < 5 for _, line, _ in found)


def test_no_line_is_in_a_library():
    def f(x):
        return np.linalg.norm(np.mean(np.stack([x, x]), axis=0)) + np.std(x)

    assert {line for _, line, _ in lines_of(f)} == {1}


def test_notebook_cells():
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell.instance()
    try:
        cell = "import numpy as np, gradviz as gv\ndef f(x):\n    y = np.sin(x)\n    return np.sum(y)\n"
        assert shell.run_cell(cell, store_history=True).success
        number = shell.execution_count - 1
        run = "with gv.profile() as p:\n    g = gv.grad(f)(np.ones(3))\n"
        assert shell.run_cell(run, store_history=True).success
        trace = shell.user_ns["p"].trace
        where = [trace.where(i) for i in trace.rows(Kind.CALL)]
        assert where == [f"Cell In[{number}], line 3", f"Cell In[{number}], line 4"]
        site = trace.events["site"][trace.rows(Kind.CALL)[0]]
        assert trace.sites["cell"][site] == number
        assert trace.text(int(trace.sites["cell_hash_str"][site])) == digest(cell)
        assert trace.text(int(trace.sites["text_str"][site])) == "y = np.sin(x)"
    finally:
        interactive.InteractiveShell.clear_instance()


def test_a_file_that_is_gone(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import numpy as np\ndef f(x):\n    return np.sum(x * x)\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    with gv.profile() as p:
        gv.grad(space["f"])(X)
    path.unlink()
    linecache.clearcache()
    assert p.trace.where(int(p.trace.rows(Kind.CALL)[0])).endswith("program.py:3")


def test_the_line_for_messages():
    assert user_line().rpartition("/")[2].startswith("test_source.py:")


def test_line_of_an_instruction():
    code = plain.__code__
    lines = {line_of(code, at) for at in range(0, len(code.co_code), 2)}
    assert lines >= {plain.__code__.co_firstlineno + 1, plain.__code__.co_firstlineno + 4}


def test_threads_have_lines_too():
    with gv.profile() as p:
        thread = threading.Thread(target=lambda: gv.grad(plain)(X))
        thread.start()
        thread.join()
    assert all("test_source.py" in p.trace.where(i) for i in p.trace.rows(Kind.CALL))
