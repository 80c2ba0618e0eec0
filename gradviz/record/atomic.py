"""How a file is written so that nobody ever sees half of it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that appears under ``path`` only when the block ends without an error.

    Parameters
    ----------
    path : where the file shall be; its folder must exist

    Examples
    --------
    >>> with whole_file("report.html") as file:  # doctest: +SKIP
    ...     file.write(b"<!doctype html>")
    """
    target = Path(path)
    draft = target.with_name(f".{target.name[:80]}.{secrets.token_hex(6)}")
    try:
        with draft.open("xb") as file:
            yield file
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
