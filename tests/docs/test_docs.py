"""Does the code on every page run and print what the page says, and does the page say something of everything it must?"""

from __future__ import annotations

import contextlib
import difflib
import inspect
import io
import linecache
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gradviz import errors
from gradviz.findings.all import KINDS
from tests.docs.pages import PAGES, ROOT, Block, anchors, blocks, headings, links

DOCS = ROOT / "docs"
LANGUAGES = {"python", "text", "console", "json"}
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def run_page(page: Path) -> None:
    """Run all blocks of a page as one program, which the traces call ``example.py``."""
    space: dict[str, object] = {"__name__": "__main__"}
    program = ""
    for block in blocks(page):
        if block.file:
            Path(block.file).write_text(block.code)
            continue
        if block.language == "console":
            run_session(block, page)
        if block.language != "python":
            continue
        above = program.count("\n")
        program += block.code
        linecache.cache["example.py"] = (len(program), None, program.splitlines(keepends=True), "example.py")
        printed = run_block("\n" * above + block.code, block, space, page)
        if block.prints is not None:
            check_output(printed, block.prints, f"{page.name}, line {block.line}")


def run_block(code: str, block: Block, space: dict[str, object], page: Path) -> str:
    """What a block prints, and the error it ends with."""
    place = f"{page.name}, line {block.line}"
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(code, "example.py", "exec"), space)
    except Exception as error:
        if type(error).__name__ != block.raises:
            raise AssertionError(f"{place}: raised {type(error).__name__}: {error}") from error
        return f"{out.getvalue()}{type(error).__name__}: {error}\n"
    assert not block.raises, f"{place}: did not raise {block.raises}"
    return out.getvalue()


def run_session(block: Block, page: Path) -> None:
    """Run the lines of a shell session that begin with ``$``, and compare what each prints."""
    alias = f'gradviz() {{ {shlex.quote(sys.executable)} -m gradviz "$@"; }}; '
    environment = os.environ | {"COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    for part in block.code.removeprefix("$ ").split("\n$ "):
        command, _, said = part.partition("\n")
        ran = subprocess.run(
            ["bash", "-c", alias + command], env=environment, capture_output=True, text=True, check=False
        )
        check_output(ran.stdout, said, f"{page.name}, line {block.line}, {command}, {ran.stderr}")


def check_output(printed: str, said: str, place: str) -> None:
    """Compare, where ``…`` stands for anything within a line, and a line of ``…`` alone for any number of lines."""
    got, want = ([line.rstrip() for line in text.splitlines()] for text in (printed, said))
    pattern = "".join(
        r"(?:.*\n)*?" if line == "…" else ".*?".join(map(re.escape, line.split("…"))) + r"\n" for line in want
    )
    if not re.fullmatch(pattern, "".join(line + "\n" for line in got)):
        difference = difflib.unified_diff(want, got, "the page", "printed", lineterm="")
        raise AssertionError(f"{place}:\n" + "\n".join(difference))


@every_page
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


@every_page
def test_blocks_have_a_known_language(page):
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{page.name}, line {block.line}"
        assert not block.raises or block.language == "python"


@every_page
def test_links_lead_somewhere(page):
    for link in links(page):
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not fragment or fragment in anchors(target), link


ERRORS = [
    name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, errors.GradvizError)
]


@pytest.mark.parametrize("name", ERRORS)
def test_each_error_has_a_program_that_causes_it_and_one_that_does_not(name):
    page = DOCS / "errors.md"
    text = page.read_text()
    begin = text.index(f"\n## {name}\n")
    line = text.count("\n", 0, begin) + 2
    end = text.find("\n## ", begin + 1)
    last = text.count("\n") if end < 0 else text.count("\n", 0, end)
    mine = [block for block in blocks(page) if line < block.line <= last and block.language == "python"]
    assert [block.raises for block in mine] == [name, ""]
    assert mine[0].prints is not None


def test_each_kind_of_finding_has_a_paragraph():
    assert set(KINDS) == set(headings(DOCS / "findings.md")) & set(KINDS)


def test_every_page_is_reached_from_the_readme():
    reached = {(ROOT / link.partition("#")[0]).resolve() for link in links(ROOT / "README.md")}
    assert {page for page in PAGES if page.parent == DOCS} <= reached
