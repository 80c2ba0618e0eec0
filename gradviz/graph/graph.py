"""How events and buffers hang together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.errors import TooLargeError
from gradviz.record.events import Answer, Kind, Reason, Role, State, Use
from gradviz.record.trace import Trace

if TYPE_CHECKING:
    import networkx as nx  # imported where it is used: it would be a tenth of importing gradviz

# relation -> what an edge of that kind says
RELATIONS = {
    "data": "buffer -> event that reads it, or event -> buffer that it makes or writes",
    "alias": "buffer -> event whose result is a view of it",
    "saves": "call -> buffer kept for one of its pullbacks",
    "pullback_of": "pullback -> its forward call",
    "accumulates_into": "accumulation -> buffer that it adds into",
    "cotangent_of": "pullback -> the call whose output it made a cotangent of",
    "copy_of": "buffer -> buffer it was copied from",
    "because": "copy -> the call that made it necessary",
    "belongs_to": "copy, sync, kernel or accumulation -> its forward call",
    "inside": "event -> the event around it",
}
LIMIT = 20_000
LIMIT_AROUND = 2_000

_NAMES = tuple(RELATIONS)


@dataclass(frozen=True)
class Edges:
    """All edges of a trace as columns. Node numbers: events first, then buffers."""

    source: np.ndarray
    target: np.ndarray
    relation: np.ndarray  # position in RELATIONS
    row: np.ndarray  # row of the table it comes from

    def __len__(self) -> int:
        return len(self.source)

    def where(self, keep: np.ndarray) -> Edges:
        """The edges that ``keep`` (booleans or positions) picks."""
        return Edges(self.source[keep], self.target[keep], self.relation[keep], self.row[keep])


def graph(trace: Trace, limit: int = LIMIT) -> nx.MultiDiGraph:
    """The whole of ``trace`` as a graph.

    Nodes are ``"e12"`` (event 12: ``kind``, ``name``, ``where``, ``start_ns``, ``end_ns``, ``nbytes``) and ``"b3"``
    (buffer 3: ``role``, ``nbytes``, ``shape``, ``dtype``, ``alloc_ns``, ``free_ns``); ``row`` is the number. An edge's
    key is its relation, one of `RELATIONS`.

    Parameters
    ----------
    trace : what was recorded
    limit : most nodes that the graph may have

    Raises
    ------
    TooLargeError
        There are more; look at a part with `around`, or raise the limit.

    Examples
    --------
    >>> g = graph(trace)  # doctest: +SKIP
    >>> [call for _, call, relation in g.out_edges("e9", keys=True) if relation == "pullback_of"]  # doctest: +SKIP
    ['e2']
    """
    nodes = len(trace) + len(trace.buffers["nbytes"])
    if nodes > limit:
        raise TooLargeError(
            f"the graph of this trace has {nodes} nodes, more than {limit}. Look at a part of it, "
            f"graph(around=[event, ...], hops=2), or ask for all of it: graph(limit={nodes})"
        )
    return _built(trace, edges(trace), np.arange(nodes))


def around(
    trace: Trace, events: Iterable[int] = (), buffers: Iterable[int] = (), hops: int = 2, limit: int = LIMIT_AROUND
) -> nx.MultiDiGraph:
    """The neighbourhood of a selection, nearest first.

    Edges are followed in both directions, except ``inside``: whatever ran in the same span is not a neighbour for that.
    Each node has its distance as ``hops``. ``graph.graph["left_out"]`` counts the neighbours beyond ``limit``.

    Parameters
    ----------
    events, buffers : the selection, as row numbers
    hops : how many edges to go
    limit : most nodes to return; the selection is always there
    """
    every = edges(trace)
    walked = every.where(every.relation != _NAMES.index("inside"))
    nodes = len(trace) + len(trace.buffers["nbytes"])
    distance = np.full(nodes, -1)
    frontier = _selection(trace, events, buffers)
    distance[frontier] = 0
    left_out = 0
    for hop in range(1, hops + 1):
        last = distance == hop - 1
        near = np.zeros(nodes, bool)
        near[walked.target[last[walked.source]]] = True
        near[walked.source[last[walked.target]]] = True
        fresh = np.flatnonzero(near & (distance < 0))
        room = max(limit - int((distance >= 0).sum()), 0)
        left_out += len(fresh[room:])
        distance[fresh[:room]] = hop
    kept = np.flatnonzero(distance >= 0)
    built = _built(trace, every, kept)
    for n in kept:
        built.nodes[_node(trace, int(n))]["hops"] = int(distance[n])
    built.graph["left_out"] = left_out
    return built


def edges(trace: Trace) -> Edges:
    """All edges of ``trace``, as columns; cheap even for a million events."""
    events, uses, copies, contributions = trace.events, trace.uses, trace.copies, trace.contributions
    first_buffer = len(trace)
    number, kind, call, parent = np.arange(len(trace)), events["kind"], events["call"], events["parent"]
    user, used, how = uses["event"], uses["buffer"] + first_buffer, uses["how"]
    into = np.isin(how, (Use.WRITE, Use.MAKE))
    adds = into & (kind[user] == Kind.ACCUMULATE)
    own = (call >= 0) & (call != number)
    made = (contributions["event"] >= 0) & (contributions["variable"] >= 0)
    copied = (copies["source"] >= 0) & (copies["target"] >= 0)
    groups = [
        ("data", used, user, np.isin(how, (Use.READ, Use.LOAD))),
        ("data", user, used, into & ~adds),
        ("accumulates_into", user, used, adds),
        ("alias", used, user, how == Use.VIEW),
        ("saves", user, used, how == Use.SAVE),
        ("pullback_of", number, call, own & (kind == Kind.PULLBACK)),
        ("belongs_to", number, call, own & (kind != Kind.PULLBACK) & (kind != Kind.CALL)),
        ("cotangent_of", contributions["event"], contributions["variable"], made),
        ("copy_of", copies["target"] + first_buffer, copies["source"] + first_buffer, copied),
        ("because", copies["event"], copies["because"], copies["because"] >= 0),
        ("inside", number, parent, parent >= 0),
    ]
    rows = [np.flatnonzero(keep) for *_, keep in groups]
    return Edges(
        np.concatenate([source[r] for (_, source, _, _), r in zip(groups, rows, strict=True)]),
        np.concatenate([target[r] for (_, _, target, _), r in zip(groups, rows, strict=True)]),
        np.repeat([_NAMES.index(name) for name, *_ in groups], [len(r) for r in rows]),
        np.concatenate(rows),
    )


def _selection(trace: Trace, events: Iterable[int], buffers: Iterable[int]) -> np.ndarray:
    chosen_events, chosen_buffers = np.array(list(events), np.int64), np.array(list(buffers), np.int64)
    for what, chosen, count in (
        ("event", chosen_events, len(trace)),
        ("buffer", chosen_buffers, len(trace.buffers["nbytes"])),
    ):
        wrong = chosen[(chosen < 0) | (chosen >= count)]
        if len(wrong):
            raise IndexError(f"there is no {what} {int(wrong[0])}; this trace has {count}")
    return np.concatenate([chosen_events, chosen_buffers + len(trace)])


def _built(trace: Trace, every: Edges, nodes: np.ndarray) -> nx.MultiDiGraph:
    import networkx as nx

    inside = np.zeros(len(trace) + len(trace.buffers["nbytes"]), bool)
    inside[nodes] = True
    kept = every.where(inside[every.source] & inside[every.target]) if len(every) else every
    built = nx.MultiDiGraph(label=str(trace.meta.get("label", "")), simulated=bool(trace.meta.get("simulated")))
    built.add_nodes_from((_node(trace, int(n)), _facts(trace, int(n))) for n in nodes)
    for source, target, relation, row in zip(kept.source, kept.target, kept.relation, kept.row, strict=True):
        name = _NAMES[relation]
        built.add_edge(
            _node(trace, int(source)), _node(trace, int(target)), key=name, **_edge_facts(trace, name, int(row))
        )
    return built


def _node(trace: Trace, number: int) -> str:
    return f"e{number}" if number < len(trace) else f"b{number - len(trace)}"


def _facts(trace: Trace, number: int) -> dict[str, Any]:
    if number < len(trace):
        events = trace.events
        times = {column: int(events[column][number]) for column in ("start_ns", "end_ns", "nbytes", "flags")}
        kind = Kind(int(events["kind"][number])).name.lower()
        return {"row": number, "kind": kind, "name": trace.name(number), "where": trace.where(number), **times}
    row, buffers = number - len(trace), trace.buffers
    return {
        "row": row,
        "kind": "buffer",
        "role": Role(int(buffers["role"][row])).name.lower(),
        **{column: int(buffers[column][row]) for column in ("nbytes", "alloc_ns", "free_ns")},
        **{name: trace.text(int(buffers[f"{name}_str"][row])) for name in ("shape", "dtype")},
    }


def _edge_facts(trace: Trace, relation: str, row: int) -> dict[str, Any]:
    if relation == "copy_of":
        copies = trace.copies
        reason = Reason(int(copies["reason"][row])).name.lower()
        return {"event": int(copies["event"][row]), "nbytes": int(copies["nbytes"][row]), "reason": reason}
    if relation == "cotangent_of":
        table = trace.contributions
        return {
            "state": State(int(table["state"][row])).name.lower(),
            "nbytes": int(table["nbytes"][row]),
            "useful_nbytes": int(table["useful_nbytes"][row]),
            "used": Answer(int(table["used"][row])).name.lower(),
        }
    if relation in ("data", "alias", "saves", "accumulates_into"):
        return {"how": Use(int(trace.uses["how"][row])).name.lower()}
    return {}
