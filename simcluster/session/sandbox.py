"""`simcluster.sandbox()`: a healthy empty cluster for manifests of your own."""

from __future__ import annotations

from simcluster.engine import fork
from simcluster.session.clock import Clock
from simcluster.session.live import Live
from simcluster.surface.protocols import CommandResult
from simcluster.world import UserLoad, World, bootstrap


class Sandbox(Live):
    """A cluster without a task: nothing is injected and nothing is graded."""

    @property
    def alert(self) -> str:
        """Nobody was paged."""
        return ""

    def load(self, service: str, rps: float, *, namespace: str = "default") -> UserLoad:
        """Send users to a Service, `rps` requests a second.

        Returns:
            The load; its `window(from_ns, to_ns)` tells how the users fared.

        Raises:
            ValueError: there is no such Service, or the rate is not above zero.
        """
        if rps <= 0:
            raise ValueError(f"rps must be above zero, not {rps}")
        if self.world.api.store.get("services", namespace, service) is None:
            raise ValueError(f'services "{service}" not found in namespace {namespace}')
        at_ns = self.world.sim.now
        users = self.world.add_users(namespace, service, rps)
        self._answered(at_ns, "load", f"{namespace}/{service}", str(rps), "", CommandResult(""))
        return users

    def fork(self) -> Sandbox:
        """A second sandbox with the same past; both futures are real."""
        return fork(self)


def sandbox(nodes: int = 3, *, seed: int = 0) -> Sandbox:
    """A healthy empty cluster: a tainted control-plane node and `nodes` workers of 4 CPU and 8 GiB.

    With 0 there is one node without the taint, which runs everything. Claims that name no class are given a
    directory of a node, by the default StorageClass `standard`.

    Raises:
        ValueError: `nodes` is below zero.
    """
    if nodes < 0:
        raise ValueError(f"a sandbox has no fewer than 0 workers, not {nodes}")
    world = World(seed, workers=nodes)
    world.apply(bootstrap.manifest("default-storage.yaml"))
    return Sandbox(world, Clock())
