"""How a name that may hold anything is shown on one line."""

from __future__ import annotations

import re
import unicodedata

# Control characters, lone surrogates, line separators, and marks that reorder the text around them.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")
_CONTROL_PICTURES = 0x2400


def plain(text: str, limit: int = 200) -> str:
    r"""``text`` without characters that could disturb a terminal, a page or a parser, and at most ``limit`` long.

    Control characters become their pictures; reordering marks and lone surrogates become the replacement character.

    Examples
    --------
    >>> plain("two\nlines\x1b[31m"), plain("abcdef", 4)
    ('two␊lines␛[31m', 'abc…')
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return _UNSEEN.sub(_picture, text)


def shown_width(text: str) -> int:
    """Columns that ``text`` takes in a terminal.

    Examples
    --------
    >>> shown_width("abc"), shown_width("漢字")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def clipped(text: str, width: int, keep_end: bool = False) -> str:
    """``text`` cut to ``width`` columns, with an ellipsis where something was cut.

    Examples
    --------
    >>> clipped("a/long/path/train.py:12", 12, keep_end=True)
    '…train.py:12'
    """
    if shown_width(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    if keep_end:
        return "…" + clipped(text[::-1], width)[-2::-1]
    kept, room = [], width - 1
    for character in text:
        room -= shown_width(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + "…"


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(_CONTROL_PICTURES + code) if code < 0x20 else "␡" if code == 0x7F else "\ufffd"
