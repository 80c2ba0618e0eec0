"""How a recording is opened and closed: `profile`, and the names a user gives to stretches of a program: `span`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

from gradviz.devices.cuda.cupti import Cupti
from gradviz.devices.find import device as find_device
from gradviz.devices.protocol import listen
from gradviz.errors import GradvizError
from gradviz.record.assemble import assemble
from gradviz.record.collections import Collections
from gradviz.record.current import CURRENT, OPEN, current_recorder
from gradviz.record.recording import Recording
from gradviz.report.profile import Profile

Check = Literal["nan", "denormals", "constants"]
CHECKS = (None, "nan", "denormals", "constants")


class profile:  # noqa: N801 - used like a function: ``with gv.profile() as p``
    """Record every gradient taken inside a ``with`` block, or inside a function.

    Parameters
    ----------
    label : a name for the run, shown in reports
    live : show the run in the notebook while it goes on
    check : "nan" stops where the first NaN or infinity is made of finite numbers, forward or backward (`NotFiniteError`), "denormals" where
        the first denormal is (`DenormalError`); "constants" compares plain arrays that pullbacks keep byte by byte before a gradient
        is taken (`ChangedArrayError`). Of arrays on the host only
    cupti : record what the GPU itself did, too: kernels, and the waits that libraries make by themselves. Needs ``gradviz[cupti]``
    device : a device that the array arguments of gradients are moved to, e.g. ``"sim:a100"``: the same program, on a simulated GPU

    Returns
    -------
    Profile : what ``with`` binds. It can be read at any time; reading it while the block still runs shows what there is so far. If
        the block raises, what was recorded is kept and the exception goes on.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> with gv.profile() as p:
    ...     g = gv.grad(lambda x: np.sum(x * x))(np.ones(3))
    >>> p.trace.name(0)
    'forward'

    As a decorator it keeps the profile of the last call:

    >>> @gv.profile
    ... def step(x):
    ...     return gv.grad(np.sum)(x)
    >>> _ = step(np.ones(3))
    >>> len(step.profile.trace) > 0
    True
    """

    def __new__(cls, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        """A context manager; around a function, that function profiled."""
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__(**options)
        return made(function)

    def __init__(
        self,
        function: Any = None,
        *,
        label: str = "",
        device: str | Any = None,
        live: bool = False,
        check: Check | None = None,
        cupti: bool = False,
    ) -> None:
        if check not in CHECKS:
            raise GradvizError(f"profile(check={check!r}) is not known; check is one of {', '.join(map(repr, CHECKS))}")
        self.label = label
        self.check = check
        self.target = find_device(device) if isinstance(device, str) else device
        self.recording: Recording | None = None
        self.live = live
        self.cupti = cupti
        self.truth: Cupti | None = None
        self.view: Any = None

    def __enter__(self) -> Profile:
        outer = CURRENT.get()
        outer = outer if outer is not None and outer.open else None
        recording = self.recording = Recording(self.label, outer, self.target, check=self.check)
        if self.cupti:
            self.truth = Cupti(recording.scribe())
            self.truth.start()
            recording.time_by(self.truth, every=1)
        if self.target is not None:
            recording.devices[self.target.name] = self.target
            if self.target.simulated:
                recording.use_clock(self.target)
        OPEN.append(recording)
        self.token = CURRENT.set(recording)
        self.listening = listen(recording.scribe())
        self.listening.__enter__()
        self.collections = Collections(recording)
        self.collections.__enter__()
        taken = Profile.of_recording(recording, lambda: assemble(recording))
        if self.live:
            from gradviz.report.live import LiveView

            self.view = LiveView(taken)
            self.view.start()
        return taken

    def __exit__(self, *exc: object) -> None:
        recording = self.recording
        assert recording is not None
        self.collections.__exit__()
        if self.truth is not None:
            self.truth.stop()
        self.listening.__exit__(None, None, None)
        CURRENT.reset(self.token)
        OPEN.remove(recording)
        recording.close()
        if self.view is not None:
            self.view.stop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, each call of which is profiled."""

        @functools.wraps(function)
        def profiled(*args: Any, **kwargs: Any) -> Any:
            with profile(label=self.label or function.__name__, device=self.target, check=self.check) as p:
                profiled.profile = p  # type: ignore[attr-defined]
                return function(*args, **kwargs)

        profiled.profile = None  # type: ignore[attr-defined]
        return profiled


class span:  # noqa: N801 - used like a function: ``with gv.span("encode")``
    """Name a stretch of the program; the name stands on the timeline, and on the pullbacks of the calls inside.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> with gv.profile() as p, gv.span("encode"):
    ...     g = gv.grad(np.sum)(np.ones(3))
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        recorder = current_recorder()
        self.inner = None if recorder is None else recorder.span(self.name)
        if self.inner is not None:
            self.inner.__enter__()

    def __exit__(self, *exc: object) -> None:
        if self.inner is not None:
            self.inner.__exit__(*exc)
