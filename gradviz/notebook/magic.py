"""The magics: ``%gradprofile statement`` and ``%%gradprofile``."""

from __future__ import annotations

import ast
import io
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display

from gradviz.devices.find import device as find_device
from gradviz.errors import GradvizError
from gradviz.record.guard import FORBIDDEN, forbid
from gradviz.report.profile import Profile
from gradviz.report.recording import profile, span

_WRITERS = {".html": Profile.to_html, ".gradviz": Profile.save}


@magics_class
class GradvizMagics(Magics):
    """What ``%load_ext gradviz`` adds to IPython."""

    shell: InteractiveShell

    @no_var_expand
    @line_cell_magic
    @magic_arguments()
    @argument("-o", "--output", metavar="NAME", help="keep the profile in this variable")
    @argument("-q", "--quiet", action="store_true", help="show nothing")
    @argument("-r", "--return", dest="returns", action="store_true", help="return the profile instead of showing it")
    @argument("-w", "--write", metavar="FILE", help="write a report (.html) or the profile itself (.gradviz)")
    @argument(
        "-n", "--steps", metavar="STEPS", type=int, default=1, help="run so many times; each is a span of its own"
    )
    @argument("-d", "--device", help="move the arguments of gradients to this device first, e.g. sim:a100")
    @argument(
        "-t", "--top", metavar="K", type=int, help="print a summary with the first K of everything, not the report"
    )
    @argument("-c", "--compare", metavar="NAME", help="compare with the profile in this variable")
    @argument("-f", "--forbid", choices=sorted(FORBIDDEN), help="stop with an error where this happens")
    @argument("statement", nargs="*", help="what to run (line magic; the cell magic runs the cell)")
    def gradprofile(self, line: str, cell: str | None = None) -> Profile | None:
        """Profile every gradient that a statement or a cell takes.

        An error in what runs is raised as usual; what was recorded until then is shown before.
        """
        options, statement = self._parse(line)
        if cell is not None and statement:
            raise UsageError(f"%%gradprofile runs the cell below it; it cannot also run {statement!r}")
        body = statement if cell is None else cell
        if not body.strip():
            raise UsageError("%gradprofile needs a statement, %%gradprofile a cell")
        before = self._before(options.compare)
        if self.shell.should_run_async(body, transformed_cell=self.shell.transform_cell(body)):
            raise UsageError("code with a top-level await cannot be profiled; put it into a function and run that")
        __tracebackhide__ = True  # an error shows the person's lines, not these
        error: BaseException | None = None
        with ExitStack() as stack:
            if options.forbid:
                stack.enter_context(forbid(options.forbid))
            taken = stack.enter_context(profile(label=f"In[{self._cell_number}]", device=options.device))
            try:
                self._execute(body, options.steps, magic_lines=cell is not None)
            except BaseException as raised:  # noqa: BLE001 - raised again below, after what was recorded is shown
                error = raised
        self._deliver(taken, options, before)
        if error is not None:
            raise error
        return taken if options.returns else None

    def _parse(self, line: str) -> tuple[Any, str]:
        """Options, and the rest of the line word for word: argparse would eat parts of the statement."""
        parser = self.gradprofile.parser  # type: ignore[attr-defined]
        takes_value = {name: action.nargs != 0 for action in parser._actions for name in action.option_strings}
        words: list[str] = []
        rest = line.strip()
        while rest.startswith("-"):
            word, _, after = rest.partition(" ")
            name = word.split("=")[0]
            if name not in takes_value:
                raise UsageError(f"%gradprofile has no option {name}; %gradprofile? lists them")
            words.append(word)
            rest = after.lstrip()
            if takes_value[name] and "=" not in word:
                value, rest = _first_word(rest)
                words.append(value)
        options = parser.parse_args(words)
        if options.write and Path(options.write).suffix not in _WRITERS:
            raise UsageError(f"-w writes {' or '.join(_WRITERS)}, not {options.write}")
        if options.steps < 1:
            raise UsageError(f"-n must be at least 1, not {options.steps}")
        if options.output and not options.output.isidentifier():
            raise UsageError(f"-o needs a variable name, not {options.output}")
        if options.device:
            try:
                find_device(options.device)
            except GradvizError as error:
                raise UsageError(str(error)) from None
        return options, rest

    @property
    def _cell_number(self) -> int:
        """The number of the cell that runs; ``execution_count`` is already the next one in newer IPythons."""
        history = self.shell.history_manager
        return self.shell.execution_count if history is None else len(history.input_hist_parsed) - 1

    def _before(self, name: str | None) -> Profile | None:
        if name is None:
            return None
        before = self.shell.user_ns.get(name)
        if not isinstance(before, Profile):
            raise UsageError(f"--compare needs a variable that holds a profile; {name} is {type(before).__name__}")
        return before

    def _execute(self, body: str, steps: int, magic_lines: int) -> None:
        """Run as a cell of its own, so that lines are those the person sees, the magic's counted, and the last value is shown."""
        __tracebackhide__ = True
        shell = self.shell
        source = "\n" * magic_lines + shell.transform_cell(body)
        name = shell.compile.cache(source, self._cell_number, raw_code="\n" * magic_lines + body)
        tree = shell.transform_ast(shell.compile.ast_parse(source, filename=name))
        last = [tree.body.pop()] if tree.body and isinstance(tree.body[-1], ast.Expr) else []
        compiled: Any = shell.compile
        parts = [compiled(tree, name, "exec"), compiled(ast.Interactive(last), name, "single")]
        for step in range(steps):
            with _span_in_cell(f"step {step + 1}", name) if steps > 1 else nullcontext():
                for part in parts:
                    exec(part, shell.user_global_ns, shell.user_ns)  # noqa: S102 - the person's own cell

    def _deliver(self, taken: Profile, options: Any, before: Profile | None) -> None:
        if options.output:
            self.shell.user_ns[options.output] = taken
        if options.write:
            _WRITERS[Path(options.write).suffix](taken, options.write)
        if options.quiet or options.returns:
            return
        if before is not None:
            display(before.compare(taken))
        elif options.top is not None:
            print(taken.summary(options.top))  # noqa: T201 - what was asked for
        else:
            display(taken)


@contextmanager
def _span_in_cell(title: str, filename: str) -> Iterator[None]:
    """A span whose line is in the cell that runs, not in the cell magic above it."""
    step = {"step": span(title)}
    enter, leave = (
        compile(f"step.{method}", filename, "eval") for method in ("__enter__()", "__exit__(None, None, None)")
    )
    eval(enter, step)  # noqa: S307 - our own text
    try:
        yield
    finally:
        eval(leave, step)  # noqa: S307


def _first_word(text: str) -> tuple[str, str]:
    """The first word, which may be quoted, and what follows it."""
    if not text:
        raise UsageError("the last option of %gradprofile needs a value")
    stream = io.StringIO(text)
    lexer = shlex.shlex(stream, posix=True)
    lexer.whitespace_split = True
    word = lexer.get_token() or ""
    return word, text[stream.tell() :].lstrip()
