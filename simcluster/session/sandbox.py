"""`simcluster.sandbox()`: a healthy empty cluster for manifests of your own."""

from __future__ import annotations

from typing import Any

from simcluster.session.clock import Clock
from simcluster.session.live import Live
from simcluster.world import UserLoad, World, bootstrap


class Sandbox(Live):
    """A cluster without a task: nothing is injected and nothing is graded."""

    tools = (*Live.tools, "load")

    def __init__(self, nodes: int, seed: int, policy: Clock) -> None:
        world = World(seed, workers=nodes)
        world.apply(bootstrap.manifest("default-storage.yaml"))
        super().__init__(world, policy)
        self.nodes = nodes

    @property
    def alert(self) -> str:
        """Nobody was paged."""
        return ""

    def load(self, service: str, rps: float, *, namespace: str = "default") -> UserLoad:
        """Send users to a Service, `rps` requests a second.

        Returns:
            The load; its `window(from_ns, to_ns)` tells how the users fared.

        Raises:
            ValueError: there is no such Service, it has users already, or the rate is not above zero.
        """
        self.submit("load", repr(float(rps)), f"{namespace}/{service}")
        return self.world.traffic.users[f"{namespace}/{service}"]

    def log_header(self) -> dict[str, Any]:
        """The header of the replay log."""
        return {"task": None, "nodes": self.nodes, "seed": self.world.sim.seed, **super().log_header()}


def sandbox(nodes: int = 3, *, seed: int = 0, clock: Clock | None = None) -> Sandbox:
    """A healthy empty cluster: a tainted control-plane node and `nodes` workers of 4 CPU and 8 GiB.

    With 0 there is one node without the taint, which runs everything. Claims that name no class are given a
    directory of a node, by the default StorageClass `standard`.

    Raises:
        ValueError: `nodes` is below zero.
    """
    if nodes < 0:
        raise ValueError(f"a sandbox has no fewer than 0 workers, not {nodes}")
    return Sandbox(nodes, seed, clock or Clock())
