"""How a script is run unchanged, as ``python script.py`` would, with every gradient it takes recorded."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType

from gradviz.errors import GradvizError
from gradviz.report.profile import Profile
from gradviz.report.recording import profile

INTERRUPTED = 130  # what a shell sees of a program that was stopped by Ctrl-C


def run_script(path: str, args: Sequence[str], device: str | None = None) -> tuple[Profile, int]:
    """Run a script as ``__main__``.

    Parameters
    ----------
    path, args : the script, and what it finds in ``sys.argv[1:]``
    device : where the array arguments of gradients are moved to, as in ``gv.profile``

    Returns
    -------
    (profile, status) : what was recorded, also if the script ended with an exception, which is shown as Python shows it; and the exit
        status Python would have given
    """
    source = _source(path)
    main = ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = main  # for good: pickles and exit handlers look it up later
    sys.argv = [path, *args]
    sys.path[0] = str(Path(path).resolve().parent)
    status = 0
    with profile(label=Path(path).name, device=device) as taken:
        try:
            exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)  # noqa: S102 - the user's own program
        except BaseException as raised:  # noqa: BLE001 - shown as Python would, after which the recording is still of use
            status = _status(raised)
    sys.stdout.flush()
    return taken, status


def _source(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise GradvizError(f"cannot read {path}: {error.strerror}") from None


def _status(raised: BaseException) -> int:
    """The exit status that belongs to an exception that ended the script."""
    if isinstance(raised, SystemExit):
        if raised.code is None or isinstance(raised.code, int):
            return raised.code or 0
        sys.stderr.write(f"{raised.code}\n")
        return 1
    sys.stdout.flush()
    traceback.print_exception(raised.with_traceback(_from_script(raised.__traceback__)))
    return INTERRUPTED if isinstance(raised, KeyboardInterrupt) else 1


def _from_script(frames: TracebackType | None) -> TracebackType | None:
    """The frames from the script on, without ours above it."""
    return frames.tb_next if frames is not None else None
