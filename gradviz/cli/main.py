"""Which commands there are, and what each does with its options."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from gradviz.cli.check import checks, kinds, size
from gradviz.cli.demo import demo
from gradviz.cli.progress import Progress
from gradviz.cli.script import run_script
from gradviz.errors import GradvizError
from gradviz.report.export_speedscope import save_speedscope
from gradviz.report.profile import Profile, compare, load
from gradviz.version import __version__

FAILED, UNUSABLE = 1, 2

EXPORTS: dict[str, Callable[[Profile, str], Any]] = {
    "chrome": Profile.to_chrome_trace,
    "speedscope": lambda taken, path: save_speedscope(taken.trace, path),
    "html": Profile.to_html,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status: 0, 1 if a check failed or the script did, 2 if the command could not be carried out."""
    try:
        options = _parser().parse_args(argv)
        return options.do(options)
    except BrokenPipeError:  # the reader of our output, such as ``head``, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (GradvizError, OSError) as error:
        text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        return _refuse(text)


def run(options: Any) -> int:
    """``gradviz run``: profile a script."""
    taken, status = run_script(options.script, options.args, options.device)
    progress = Progress()
    progress.step(f"reading {len(taken.trace):,} events")
    for path, write in ((options.save, Profile.save), (options.html, Profile.to_html)):
        if path:
            progress.step(f"writing {path}")
            write(taken, path)
    summary = taken.summary(options.top)
    progress.clear()
    print(summary)
    return status


def report(options: Any) -> int:
    """``gradviz report``: what was found in a recorded run."""
    taken = load(options.file)
    if options.html:
        taken.to_html(options.html)
    print(taken.summary(options.top))
    return 0


def compare_files(options: Any) -> int:
    """``gradviz compare``: what differs between two recorded runs."""
    print(compare(load(options.before), load(options.after)).summary(options.top))
    return 0


def export(options: Any) -> int:
    """``gradviz export``: a recorded run for another viewer."""
    EXPORTS[options.to](load(options.file), options.out)
    return 0


def check(options: Any) -> int:
    """``gradviz check``: whether a run keeps what was promised of it."""
    wanted = checks(options)
    if Path(options.file).suffix == ".gradviz":
        taken = load(options.file)
    else:
        taken, status = run_script(options.file, options.args, options.device)
        if status:
            raise GradvizError(f"{options.file} ended with status {status}, so there is nothing to check")
    failed = False
    for one in wanted:
        promise, broken = one(taken)
        print("\n".join([f"{'FAILED' if broken else 'ok':7}{promise}", *(" " * 7 + line for line in broken)]))
        failed |= bool(broken)
    return FAILED if failed else 0


class Parser(argparse.ArgumentParser):
    """Says in one sentence what is wrong."""

    def error(self, message: str) -> NoReturn:
        """Refuse, and end."""
        sys.exit(_refuse(f"{message} ({self.prog} --help lists what there is)"))


def _refuse(text: str) -> int:
    sys.stderr.write(f"gradviz: {text}\n")
    return UNUSABLE


def _parser() -> Parser:
    parser = Parser(prog="gradviz", description="See where a gradient spends its time and memory.")
    parser.add_argument("--version", action="version", version=f"gradviz {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command", title="commands")

    def command(name: str, do: Callable[[Any], int], text: str) -> Parser:
        made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        made.set_defaults(do=do)
        return made

    def top(to: Parser) -> None:
        to.add_argument("--top", type=_positive, default=10, metavar="K", help="show the first K of everything")

    def script(to: Parser, name: str, text: str) -> None:
        to.add_argument(name, help=text)
        to.add_argument("args", nargs=argparse.REMAINDER, help="what the script finds in sys.argv[1:]")
        to.add_argument("--device", help="move the arguments of gradients to this device first, e.g. sim:a100")

    one = command("demo", demo, "profile three hunts for costly copies and two real programs")
    one.add_argument("--out", default="reports", metavar="DIR", help="where the reports go (default: reports)")
    one.add_argument("--quick", action="store_true", help="with smaller inputs")

    one = command("run", run, "run a script unchanged and profile every gradient it takes")
    one.add_argument("--html", metavar="FILE", help="write the report as one HTML page")
    one.add_argument("--save", metavar="FILE", help="write what was recorded as a .gradviz file")
    top(one)
    script(one, "script", "the script; options for gradviz come before it, its own after it")

    one = command("report", report, "show what was found in a recorded run")
    one.add_argument("file", metavar="FILE.gradviz")
    one.add_argument("--html", metavar="FILE", help="write it as one HTML page too")
    top(one)

    one = command("compare", compare_files, "show what differs between two recorded runs")
    one.add_argument("before", metavar="BEFORE.gradviz")
    one.add_argument("after", metavar="AFTER.gradviz")
    top(one)

    one = command("export", export, "write a recorded run for another viewer")
    one.add_argument("file", metavar="FILE.gradviz")
    one.add_argument("--to", choices=EXPORTS, required=True, help="chrome opens in ui.perfetto.dev")
    one.add_argument("out", metavar="OUT")

    one = command("check", check, "check a recorded run, or a script, for CI: exit status 0, or 1 if a check failed")
    one.add_argument("--no-sync-in-pullback", action="store_true", help="no pullback makes the host wait")
    one.add_argument("--peak-below", type=size, metavar="SIZE", help="peak memory is less, e.g. 2GiB")
    one.add_argument("--no-new-copies-against", metavar="BASE.gradviz", help="no line copies more than in that run")
    one.add_argument("--fail-on", type=kinds, metavar="KIND[,KIND]", help="no such finding, e.g. dense_zeros")
    script(one, "file", "a .gradviz file or a script")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


_positive.__name__ = "number"  # argparse shows it: invalid number value
