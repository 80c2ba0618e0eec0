"""Do the notebooks run, do they stand as their sources say, and do their outputs show without scripts or a kernel?"""

from __future__ import annotations

import nbformat
import pytest

from notebooks import build
from tests.docs.pages import ROOT

SOURCES = sorted(build.SOURCES.glob("*.md"))
LARGEST_NBYTES = 1_500_000
SHOWN = {"text/plain", "text/html", "image/png", "image/svg+xml"}
every_notebook = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


def committed(source):
    return nbformat.read(build.HERE / f"{source.stem}.ipynb", as_version=4)


def has_outputs(notebook):
    return [bool(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]


@every_notebook
def test_runs(source):
    notebook = build.notebook_of(source)
    build.run(notebook)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"]
    assert has_outputs(notebook) == has_outputs(committed(source))


@every_notebook
def test_committed_as_its_source_says(source):
    def told(notebook):
        return [(cell.cell_type, cell.id, cell.source) for cell in notebook.cells]

    assert told(committed(source)) == told(build.notebook_of(source)), "run notebooks/build.py"


@every_notebook
def test_shows_without_scripts_or_kernel(source):
    notebook = committed(source)
    nbformat.validate(notebook)
    assert "widgets" not in notebook.metadata
    for cell in notebook.cells:
        assert cell.cell_type == "markdown" or cell.execution_count
        for output in cell.get("outputs", ()):
            if output.output_type != "stream":
                assert output.data
                assert set(output.data) <= SHOWN
                assert "<iframe" not in output.data.get("text/html", "")


@every_notebook
def test_is_small_and_names_no_place(source):
    text = (build.HERE / f"{source.stem}.ipynb").read_text()
    assert len(text) < LARGEST_NBYTES
    assert str(ROOT) not in text
    assert "/tmp/" not in text


def test_every_notebook_has_a_source():
    assert {path.stem for path in build.HERE.glob("*.ipynb")} == {source.stem for source in SOURCES}
