"""A user's program in two modules, written to a folder, changed there, and imported anew as another process would."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

HELPER = """
import dataclasses, enum, functools
import numpy as np

RATE = 2.0
KIND = np.dtype('f8')
TABLE = np.array([1.0, 2.0, 3.0])
CONFIG = {"gain": 0.25, "deep": [1.0, (2.0, {"x": 0.125})]}

def innermost(x):
    return x * 0.5

def scale(x, by=3.0, *, offset=0.25):
    return innermost(x) * by + RATE + offset + KIND.itemsize

class Base:
    bias = 0.75
    def shift(self, x):
        return x + self.bias

class Law(Base):
    power = 2.0
    def __init__(self, slope):
        self.slope = slope
    @property
    def twice(self):
        return 2.0 * self.slope
    @staticmethod
    def half(x):
        return 0.5 * x
    def __call__(self, x):
        return self.half(self.shift(x)) * self.slope + self.power + self.twice

@dataclasses.dataclass
class Setting:
    level: float = 0.375
    def used(self, x):
        return x * self.level

class Mode(enum.Enum):
    SOFT = 1.5
    HARD = 2.5

def multiplied(by):
    def multiply(x):
        return x * by
    return multiply

timed = multiplied(1.25)
part = functools.partial(scale, by=1.75)

@functools.cache
def known(n):
    return n * 0.0625
"""
MODEL = """
import numpy as np
import helper
from helper import CONFIG, Law, Mode, Setting, known, part, timed

law, setting = Law(0.3), Setting()

def f(x):
    total = 0.0
    for k in range(100):
        x = np.sin(x * 0.01)
        total = total + helper.scale(x) + part(x)
        total = total + law(x) + setting.used(x) + timed(x) + known(2)
        total = total * CONFIG["gain"] + CONFIG["deep"][1][1]["x"] + Mode.SOFT.value
        total = total + np.sum(helper.TABLE * x)
    return total
"""


class Module:
    """The two modules in a folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        self.sources = {"helper": HELPER, "model": MODEL}

    def change(self, old: str, new: str) -> None:
        """Change what stands exactly once in one of them."""
        (name,) = [name for name, text in self.sources.items() if old in text]
        assert self.sources[name].count(old) == 1
        self.sources[name] = self.sources[name].replace(old, new)

    def load(self) -> Any:
        """The module ``model``, as a new process has it."""
        for name, text in self.sources.items():
            (self.folder / f"{name}.py").write_text(text)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("model")
