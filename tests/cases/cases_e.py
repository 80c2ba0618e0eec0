"""E. Trace recording and its views. Contract of `viz` in registry.py."""

import json
import re
import threading

import numpy as onp

from tests.cases.expect import check
from tests.cases.registry import case


def ok(text):
    return check(lambda r: True if r is True else r, text)


def nested(events):
    """Spans of one thread must nest: no partial overlap, no negative length, parents contain children."""
    eps = 1.0  # microseconds
    for e in events:
        if e["dur"] is None or not onp.isfinite(e["dur"]) or e["dur"] < 0:
            return "bad duration {!r} of {!r}".format(e["dur"], e["name"][:40])
    for tid in {e["tid"] for e in events}:
        stack = []
        for e in sorted((e for e in events if e["tid"] == tid), key=lambda e: (e["ts"], -e["dur"])):
            while stack and e["ts"] >= stack[-1]["ts"] + stack[-1]["dur"] - 1e-9:
                stack.pop()
            if stack and e["ts"] + e["dur"] > stack[-1]["ts"] + stack[-1]["dur"] + eps:
                return "{!r} overlaps {!r}".format(e["name"][:40], stack[-1]["name"][:40])
            stack.append(e)
    for e in events:
        if e.get("parent") is not None:
            p = events[e["parent"]]
            if e["ts"] < p["ts"] - eps or e["ts"] + e["dur"] > p["ts"] + p["dur"] + eps:
                return "{!r} outside its parent {!r}".format(e["name"][:40], p["name"][:40])
    return True


def strict_json(text):
    def bad(c):
        raise ValueError("non-standard JSON constant " + c)

    text.encode("utf-8")
    return json.loads(text, parse_constant=bad)


@case(
    id="E01",
    source="joerick/pyinstrument#385; joerick/pyinstrument#18; joerick/pyinstrument#308; gaogaotiantian/viztracer#308",
    expect=ok("bounded HTML, JSON and cell output for 30k events; says what was left out"),
)
def size_of_a_long_run(np, gv, viz):
    """A loop with 30 000 recorded spans: the cell output stays below 2 MB and the exported page
    below 8 MB, and whatever is merged or dropped is stated in the output."""
    with viz.profile() as p:
        for _ in range(30000):
            with viz.span("step"):
                pass
    r, h = p._repr_html_(), p.to_html()
    if len(r) > 2e6 or len(h) > 8e6:
        return f"repr {len(r) / 1e6:.1f} MB, html {len(h) / 1e6:.1f} MB"
    shown = len(re.findall(r"\bstep\b", r))
    if (shown < 20000 or p.dropped) and not re.search(
        r"30.?000|\d+\s*(more|events|ops|calls|spans|not shown|omitted|dropped|hidden|merged|\u00d7)", r
    ):
        return "events left out without saying so"
    return True


@case(
    id="E03",
    source="pytorch/pytorch#33961; pytorch/pytorch#98432; pytorch/kineto pull 1459; pytorch/pytorch#136180; "
    "pytorch/kineto#80; pytorch/pytorch#121219",
    expect=ok("strictly valid JSON in UTF-8"),
)
def json_of_odd_names(np, gv, viz):
    """Quotes, backslashes, newlines, control characters, lone surrogates, emoji and right-to-left
    text in names; NaN and infinity among recorded numbers: the export parses strictly."""
    names = [
        'a"b',
        "C:\\temp\\x.py",
        "two\nlines\ttab",
        "\x00\x07ctl",
        "\ud800 lone",
        "\u6f22\u5b57 \U0001f600",
        "\u202eabc",
        '{"device": "cpu"}(12): run',
        "NaN",
        "",
    ]
    with viz.profile() as p:
        for n in names:
            with viz.span(n):
                pass
    ev = [e for e in strict_json(p.to_json())["traceEvents"] if e.get("ph") in ("X", "B")]
    got = [e["name"] for e in ev]
    for n in ('a"b', "C:\\temp\\x.py", "\u6f22\u5b57 \U0001f600"):
        if n not in got:
            return f"name lost: {n!r}"
    p.to_html().encode("utf-8")
    return True if len(got) >= len(names) else f"only {len(got)} of {len(names)} spans"


@case(
    id="E05",
    source="pytorch/pytorch#144778; pytorch/pytorch pull 77696; pytorch/pytorch#35266",
    expect=ok("backward work is separate from forward and tied to the forward label"),
)
def backward_events_are_placed_right(np, gv, viz):
    """Backward events must not sit inside the forward span that made them, must lie after it in
    time, and must still be attributed to the user's label (inner label, not the outer one)."""

    def f(x):
        with viz.span("outer"):
            with viz.span("encode"):
                y = np.tanh(x) * 2.0
            with viz.span("decode"):
                z = np.sum(np.exp(y) ** 2)
        return z

    with viz.profile() as p:
        gv.grad(f)(onp.ones(50))
    r = nested(p.events)
    if r is not True:
        return r
    back = [e for e in p.events if e["kind"] == "backward"]
    if not back:
        return "no backward events"
    fwd = {e["name"]: e for e in p.events if e["kind"] == "span"}
    for e in back:
        for n in ("encode", "decode"):
            s = fwd[n]
            if s["ts"] <= e["ts"] and e["ts"] + e["dur"] <= s["ts"] + s["dur"]:
                return "backward event inside forward span " + n
    labels = " ".join(str(e.get("label", "")) + str(e.get("path", "")) for e in back)
    if "encode" not in labels or "decode" not in labels:
        return f"backward events carry no forward label: {labels[:80]!r}"
    return True


@case(
    id="E07",
    source="joerick/pyinstrument#371; joerick/pyinstrument pull 372",
    expect=ok("KeyboardInterrupt is re-raised and data kept"),
)
def interrupt_inside_the_profiled_code(np, gv, viz):
    """KeyboardInterrupt must leave the profiled block as KeyboardInterrupt (so that later cells
    do not run), with the partial trace readable."""
    p = None
    try:
        with viz.profile() as p, viz.span("long"):
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    else:
        return "interrupt swallowed"
    return True if "long" in p.to_json() and nested(p.events) is True else "partial trace unusable"


@case(
    id="E09",
    source="pytorch/pytorch#32517; pytorch/pytorch pull 31346",
    expect=ok("one track per thread, nesting per thread"),
)
def several_threads(np, gv, viz):
    """Four threads record at once: events carry their own thread, nest within it, none is lost;
    a span opened before the profile ends in another thread does not break it."""
    gate = threading.Event()

    def work(k):
        for _ in range(50):
            with viz.span(f"t{k}"), viz.span("inner"):
                pass
        with viz.span("late"):
            gate.wait(2)

    with viz.profile() as p:
        ts = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        [t.start() for t in ts]
        for t in ts:
            t.join(0.2)
    gate.set()
    [t.join() for t in ts]
    r = nested(p.events)
    if r is not True:
        return r
    tids = {}
    for e in p.events:
        if e["name"].startswith("t") and e["name"][1:].isdigit():
            tids.setdefault(e["name"], set()).add(e["tid"])
    if len(tids) != 4 or any(len(v) != 1 for v in tids.values()) or len(set.union(*tids.values())) != 4:
        return f"threads mixed up: {tids}"
    return True if sum(e["name"] == "inner" for e in p.events) == 200 else "events lost"


@case(
    id="E11",
    source="joerick/pyinstrument#361; joerick/pyinstrument#33; joerick/pyinstrument#293; dask/distributed#5109",
    expect=ok("deep nesting renders"),
)
def deep_recursion(np, gv, viz):
    """800 levels of nested spans (a recursive user function): export without RecursionError, and
    no HTML nested hundreds of elements deep (browsers give up)."""
    with viz.profile() as p:
        ctx = []
        for i in range(800):
            c = viz.span(f"level {i}")
            c.__enter__()
            ctx.append(c)
        for c in reversed(ctx):
            c.__exit__(None, None, None)
    h = p.to_html()
    strict_json(p.to_json())
    if nested(p.events) is not True:
        return nested(p.events)
    depth = worst = 0
    for m in re.finditer(r"<(/?)(div|ul|li|details|span|g|table|tr|td)\b", h):
        depth += -1 if m.group(1) else 1
        worst = max(worst, depth)
    return True if worst < 300 else f"HTML nested {worst} deep"


@case(
    id="E13",
    source="gaogaotiantian/viztracer#613; joerick/pyinstrument#369; jlfwong/speedscope#380",
    expect=ok("self-contained output that survives reload, VS Code, Colab"),
)
def output_is_self_contained(np, gv, viz):
    """The cell output needs no kernel, no network and no global script state: no external src or
    href, no whole <html> document outside an iframe srcdoc, no ids shared by two outputs."""
    outs = []
    for k in range(2):
        with viz.profile() as p, viz.span(f"s{k}"):
            pass
        outs.append(p._repr_html_())
    for h in outs:
        if re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", h, re.IGNORECASE) or re.search(
            r"@import|url\(\s*['\"]?http", h
        ):
            return "external resource"
        if re.search(r"Jupyter\.notebook|IPython\.notebook|require\(\[|google\.colab", h):
            return "needs a front-end API"
        if re.search(r"<(html|body)\b", h, re.IGNORECASE) and "srcdoc" not in h:
            return "whole document without an iframe"
    ids = [set(re.findall(r"\bid\s*=\s*[\"']([^\"']+)", h)) for h in outs]
    return True if not ids[0] & ids[1] else f"ids shared by two outputs: {sorted(ids[0] & ids[1])[:3]}"
