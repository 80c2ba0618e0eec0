"""How the death of a piece of memory is noticed."""

from __future__ import annotations

import weakref
from typing import Any


class Ref(weakref.ref[Any]):
    """A weak reference to the owner of a buffer. When it dies the reference itself is put on a list, which costs no Python call."""

    __slots__ = ("made_by", "number")  # the event that made it, if that is not the buffer's own number
