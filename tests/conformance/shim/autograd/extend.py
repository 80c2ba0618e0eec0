"""autograd's way of adding a derivative, on gradviz's rules."""

import functools
import inspect

import gradviz as gv


class primitive:
    def __init__(self, f):
        functools.update_wrapper(self, f)
        self.rule = gv.rule(f)

    def __call__(self, *args, **kwargs):
        if not self.rule.inputs and any(isinstance(x, gv.Array) for x in args):
            raise NotImplementedError(f"{self.__name__} has no derivative")
        return self.rule(*args, **kwargs)


def defvjp(function, *makers, argnums=None):
    """Each maker, called with the output and the arguments, gives the pullback of one argument."""
    parameters = list(inspect.signature(function.rule.function).parameters)
    for position, maker in zip(argnums or range(len(makers)), makers, strict=False):
        function.rule.pullback(parameters[position])(_pullback(maker, parameters))


def _pullback(maker, parameters):
    def pullback(ct, out, *args):
        return maker(out, *args)(ct)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    pullback.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in ("ct", "out", *parameters)])
    return pullback
