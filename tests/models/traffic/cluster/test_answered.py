"""Requests of servers that call others end as their callers' calls do, and their logs name as many failures."""

from __future__ import annotations

import math

import pytest

from simcluster.models.traffic.cluster.answered import Answered, answered, as_many
from simcluster.models.traffic.cluster.causes import DEADLINE, KIND_INDEX, RESET, STATUS, TIMEOUT, Cause
from simcluster.models.traffic.cluster.distribution import Latency
from simcluster.models.traffic.cluster.nodes import Edge, Target
from simcluster.models.traffic.cluster.operations import DEFAULT_TIMEOUT_NS, CallSpec, OperationSpec
from simcluster.models.traffic.cluster.resolve import Destination
from simcluster.models.traffic.cluster.server import Failed

S = DEFAULT_TIMEOUT_NS


def edge(*weights: float, asynchronous: bool = False) -> Edge:
    """A call that arrives at nodes 0, 1, ..., by their weights."""
    found = Edge(0, CallSpec("s:80", "get", asynchronous=asynchronous), "s", 80, "", 1)
    found.targets = [Target(Destination(weight, ""), node, 0) for node, weight in enumerate(weights)]
    return found


def ends(found: Edge, well: int, goods: tuple[float, ...], **lost: int) -> dict[int, Answered]:
    """Of one edge."""
    kinds = {"status": STATUS, "deadline": DEADLINE, "timeout": TIMEOUT, "reset": RESET}
    failed = [(KIND_INDEX[kinds[kind]], count) for kind, count in lost.items()]
    return answered([found], [well], {0: failed}, dict(enumerate(goods)), [4])


def test_who_can_answer_gets_what_was_answered() -> None:
    """The pod whose own calls fail has the errors; who was refused a connection never reached anybody."""
    found = ends(edge(0.5, 0.5), 40, (1.0, 0.0), status=60, reset=7)
    assert found == {0: Answered(40.0, 0.0, open=2.0, after_ns=S), 1: Answered(0.0, 60.0, open=2.0, after_ns=S)}


def test_who_gave_up_waiting_has_left_a_request_or_lost_it_on_its_way() -> None:
    assert ends(edge(1.0), 40, (0.75,), deadline=8, timeout=3)[0] == Answered(40.0, 0.0, 8.0, 3.0, 4.0, S)


def test_of_messages_nothing_is_said_and_of_an_idle_edge_that_nothing_ended() -> None:
    assert ends(edge(1.0, asynchronous=True), 40, (1.0,)) == {}
    assert ends(edge(1.0), 0, (1.0,)) == {0: Answered(0.0, 0.0, open=4.0, after_ns=S)}


@pytest.mark.parametrize("bad", [0.0, 3.0, 30.0, 31.4])
def test_required_calls_fail_as_often_as_requests(bad: float) -> None:
    """Whether edges tell of more failures than requests or of fewer; optional ones are left alone."""
    operation = OperationSpec("get")

    def failing(required: bool, calls: int) -> Failed:
        call = CallSpec("s:80", "get", required=required)
        return Failed(operation, call, Cause(RESET, path=(call,)), calls, Latency(0.0, 0.0), 0.0)

    found = as_many([failing(True, 5), failing(False, 9), failing(True, 10)], bad)
    assert sum(each.calls for each in found if each.call.required) == math.floor(bad + 0.5)
    assert sum(each.calls for each in found if not each.call.required) == 9
