"""gradviz in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What ``%load_ext gradviz`` calls: adds ``%gradprofile`` and ``%%gradprofile``."""
    from gradviz.notebook.magic import GradvizMagics

    shell.register_magics(GradvizMagics)
