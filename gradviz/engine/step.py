"""What a record's first number stands for: how the reverse walk handles one kind of record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gradviz.engine.rule import Rule


class Step:
    """How the reverse pass handles one kind of record: a rule together with the inputs that are being differentiated."""

    __slots__ = ("active", "back", "direct", "each", "owns", "parts", "plain", "rule", "single", "view")

    def __init__(
        self,
        rule: Rule | None,
        active: tuple[str, ...],
        back: Callable[..., Any],
        parts: list[Any],
        owns: bool = False,
        single: bool = True,
    ) -> None:
        self.rule: Any = rule  # None for the engine's own steps
        self.active = active
        self.back = back  # (ct, record) -> cotangent, or one per parent
        self.direct: Any = (
            None  # (pullback, 0 for the cotangent or where in the record, ...) if `back` is no more than that
        )
        self.parts = parts  # (input, (ct, record, made) -> cotangent) one at a time, for the recorder
        self.owns = owns
        self.single = single and len(active) == 1
        self.plain = self.single and not owns
        # (title, (ct, record) -> cotangent) for each input, where pullbacks of ours stand by themselves: the recorder has a
        # short way of writing those down
        self.each: list[tuple[str, Callable[..., Any]]] = []
        self.view = (
            rule is not None and rule.view and rule.function is not np.broadcast_to
        )  # whose result is no place to add to


STEPS: list[Step] = [Step(None, (), lambda ct, record: (), [])]
