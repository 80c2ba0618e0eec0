"""What stands on a page: its code blocks, what each is said to print, its headings and its links."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes
    ----------
    language : first word of the info string
    raises : name of the error that the block must end with, "" for none
    file : the block is a file of that name, "" for none
    line : 1-based line of the page where the code begins
    prints : what the ``text`` block right after it says, None without one
    """

    language: str
    raises: str
    file: str
    code: str
    line: int
    prints: str | None


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page; a ``text`` block right after code belongs to that code."""
    text = page.read_text()
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        is_output = language == "text" and found and not text[end : match.start()].strip()
        if is_output:
            last = found.pop()
            found.append(replace(last, prints=match["code"]))
        else:
            says, _, name = rest.partition(": ")
            options = {"raises": "", "file": ""} | ({says: name} if says else {})
            line = text.count("\n", 0, match.start("code")) + 1
            found.append(Block(language, code=match["code"], line=line, prints=None, **options))
        end = match.end()
    return found


def headings(page: Path) -> list[str]:
    """The headings of a page, without marks."""
    return [line.lstrip("# ").strip("`") for line in _prose(page).splitlines() if re.match(r"#+ ", line)]


def anchors(page: Path) -> set[str]:
    """The fragments by which GitHub finds the headings of a page."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings(page)}


def links(page: Path) -> list[str]:
    """Where the page points to within the repository."""
    found = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", _prose(page))
    targets = [markdown or html for markdown, html in found]
    return [target for target in targets if "://" not in target]


def _prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text())
