"""Does the graph hold what happened, and never by accident everything?"""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from gradviz.errors import TooLargeError
from gradviz.graph.graph import RELATIONS, around, edges, graph
from gradviz.record.events import Kind, Reason, Role, State, Trigger, Use
from gradviz.record.trace import Trace
from tests.traces import Maker, long_trace, made_trace


@pytest.fixture(scope="module")
def small() -> Trace:
    """x -> multiply (copies x, saves it) -> y; backward: pullback with a sync, accumulated."""
    maker = Maker()
    x = maker.buffer(80, role=Role.INPUT)  # b0
    with maker.event(Kind.CALL, "multiply", site=maker.sites[0]) as call:  # e0, copy e1 into b1
        maker.copy(x, 80, Reason.CONTIGUOUS, because=call)
        y = maker.buffer(80, call)  # b2
        maker.uses(call, (x, Use.SAVE), (x, Use.VIEW), (y, Use.MAKE))
    with maker.event(Kind.PULLBACK, "multiply > x", call=call) as pullback:  # e2, sync e3
        maker.sync(Trigger.ITEM, 100)
        ct = maker.buffer(80, pullback, Role.COTANGENT)  # b3
        maker.uses(pullback, (x, Use.LOAD), (ct, Use.MAKE))
    maker.add("contributions", event=pullback, variable=call, buffer=ct, state=State.OWNED, nbytes=80, useful_nbytes=8)
    with maker.event(Kind.ACCUMULATE, "add", call=call) as add:  # e4
        total = maker.buffer(80, add, Role.ACCUMULATOR)  # b4
        maker.uses(add, (ct, Use.READ), (total, Use.WRITE))
    return maker.trace()


def test_every_relation(small):
    built = graph(small)
    assert {(a, b, key) for a, b, key in built.edges(keys=True)} == {
        ("b0", "e1", "data"), ("e1", "b1", "data"), ("e0", "b2", "data"), ("b0", "e2", "data"), ("e2", "b3", "data"),
        ("b3", "e4", "data"), ("e0", "b0", "saves"), ("b0", "e0", "alias"), ("e2", "e0", "pullback_of"),
        ("e4", "b4", "accumulates_into"), ("e2", "e0", "cotangent_of"), ("b1", "b0", "copy_of"),
        ("e1", "e0", "because"),
        ("e1", "e0", "belongs_to"), ("e3", "e0", "belongs_to"), ("e4", "e0", "belongs_to"),
        ("e1", "e0", "inside"), ("e3", "e2", "inside"),
    }  # fmt: skip
    assert {key for *_, key in built.edges(keys=True)} == RELATIONS.keys()


def test_nodes_and_edges_carry_their_facts(small):
    built = graph(small)
    assert built.nodes["e2"]["kind"] == "pullback"
    assert built.nodes["e2"]["name"] == "multiply > x"
    assert built.nodes["e0"]["where"] == "train.py:3"
    assert built.nodes["b3"] | {"alloc_ns": 0} == {
        "row": 3, "kind": "buffer", "role": "cotangent", "nbytes": 80, "alloc_ns": 0, "free_ns": -1,
        "shape": "(10,)", "dtype": "float64",
    }  # fmt: skip
    assert built.edges["b1", "b0", "copy_of"] == {"event": 1, "nbytes": 80, "reason": "contiguous"}
    assert built.edges["e2", "e0", "cotangent_of"]["state"] == "owned"
    assert built.edges["b0", "e2", "data"] == {"how": "load"}


def test_it_can_be_written_by_networkx(small, tmp_path):
    nx.write_graphml(graph(small), tmp_path / "g.graphml")
    assert len(nx.read_graphml(tmp_path / "g.graphml", force_multigraph=True)) == len(graph(small))


def test_a_giant_graph_is_refused():
    trace = long_trace(50_000)
    with pytest.raises(TooLargeError, match=r"has \d+ nodes, more than 20000\. Look at a part of it, graph\(around="):
        graph(trace)


def test_a_neighbourhood_is_what_networkx_finds():
    trace = made_trace(3, simulated=True)
    whole = graph(trace)
    walked = nx.Graph((a, b) for a, b, key in whole.edges(keys=True) if key != "inside")
    row = int(trace.rows(Kind.PULLBACK)[5])
    found = around(trace, [row], hops=3)
    assert dict(found.nodes("hops")) == nx.single_source_shortest_path_length(walked, f"e{row}", 3)
    assert nx.utils.graphs_equal(
        nx.MultiDiGraph(found.edges(keys=True)), nx.MultiDiGraph(whole.subgraph(found.nodes).edges(keys=True))
    )
    assert found.graph["left_out"] == 0


def test_a_neighbourhood_stops_at_its_limit():
    trace = long_trace(50_000)
    found = around(trace, events=[10], buffers=[4], hops=30, limit=50)
    assert len(found) == 50
    assert found.graph["left_out"] > 0
    assert found.nodes["e10"]["hops"] == found.nodes["b4"]["hops"] == 0


@pytest.mark.parametrize(
    ("selection", "message"), [({"events": [-1]}, "no event -1"), ({"buffers": [99]}, "no buffer 99")]
)
def test_a_selection_that_does_not_exist(small, selection, message):
    with pytest.raises(IndexError, match=message):
        around(small, **selection)


def test_an_empty_trace():
    assert len(graph(Trace())) == 0
    assert len(edges(Trace())) == 0
    assert len(around(made_trace(1), [0], hops=0)) == 1


def test_a_million_events_have_their_edges_as_columns():
    found = edges(long_trace(1_000_000))
    assert len(found) > 2_500_000
    assert np.all(found.source >= 0)
