"""For whom time passes over sockets: commands of kubectl that poll sleep in between, and nobody else does."""

from __future__ import annotations

from simcluster.api.request import Request
from simcluster.engine import SECOND
from simcluster.session import sandbox
from simcluster.session.door import EVICTION_RETRY_NS, POLL_NS, SessionDoor
from simcluster.surface.http.door import Caller

NODES = Request("GET", "/api/v1/nodes")
POD = Request("GET", "/api/v1/namespaces/kube-system/pods/etcd-control-plane")
EVICTION = Request("POST", "/api/v1/namespaces/default/pods/none/eviction", body=b"{}")
DRAIN = Caller("one", "kubectl drain")


def elapsed(door: SessionDoor, *requests: Request, caller: Caller = DRAIN) -> int:
    """Simulated nanoseconds that exchanges take, after the first, which is charged for the command."""
    door.exchange(requests[0], caller)
    begun = door.live.world.sim.now
    for request in requests[1:]:
        door.exchange(request, caller)
    return door.live.world.sim.now - begun


def test_a_command_that_asks_again_has_slept() -> None:
    assert elapsed(SessionDoor(sandbox(0)), NODES, POD) == 0
    assert elapsed(SessionDoor(sandbox(0)), NODES, POD, NODES, POD) == POLL_NS


def test_each_round_of_polling_is_one_sleep() -> None:
    assert elapsed(SessionDoor(sandbox(0)), NODES, POD, NODES, POD, NODES, POD) == 2 * POLL_NS


def test_an_eviction_that_is_tried_again_has_waited_longer() -> None:
    assert elapsed(SessionDoor(sandbox(0)), EVICTION, EVICTION) == EVICTION_RETRY_NS


def test_a_client_without_commands_is_charged_for_each_request() -> None:
    assert elapsed(SessionDoor(sandbox(0)), NODES, NODES, caller=Caller()) == SECOND // 2


def test_a_manual_clock_does_not_move() -> None:
    live = sandbox(0)
    live.inbox.policy = live.inbox.policy.model_copy(update={"policy": "manual"})
    assert elapsed(SessionDoor(live), NODES, NODES, NODES) == 0
