"""kubectl inside of containers: its pod's account, its network, its own namespace.

It uses the in-cluster configuration, as client-go does without a kubeconfig. Left out: a kubeconfig that is mounted,
plug-ins, files of the container for `-f`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.control.operator.connection import PodConnection
from simcluster.control.operator.failure import ConfigurationError
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagereference import repository_of
from simcluster.models.userland.outcome import Outcome
from simcluster.surface.kubectl import Kubectl

if TYPE_CHECKING:
    from simcluster.world.world import World

#: Images that bring it.
IMAGES = ("alpine/k8s", "bitnami/kubectl", "bitnamilegacy/kubectl", "rancher/kubectl", "registry.k8s.io/kubectl")
#: Its defaults (cmd/kubectl, --kube-api-qps and burst of cli-runtime).
QPS, BURST = 50, 300
#: What it says without any configuration.
NOWHERE = "The connection to the server localhost:8080 was refused - did you specify the right host or port?\n"


class PodKubectl:
    """Runs kubectl for containers whose images have it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def run(self, container: Container, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """One command at once; None if it is not kubectl, or the image has none."""
        words = [word for word in argv[1:] if "=" not in word] if argv[:1] == ("env",) else list(argv)
        if not words or words[0].rpartition("/")[2] != "kubectl" or repository_of(container.spec.image) not in IMAGES:
            return None
        world = self._world
        try:
            link = PodConnection(world.api, container, "kubectl", qps=QPS, burst=BURST)
        except ConfigurationError:
            return Outcome("", NOWHERE, 1)
        problem = link.problem()
        if problem:
            return Outcome("", f"Unable to connect to the server: {problem}\n", 1)
        clock = Hurried(world)
        return Kubectl(world.api, clock, namespace=link.namespace, user=link.user).run(words[1:], stdin)


class Hurried:
    """A clock that goes on for who waits, while the world stands still: what he waits for does not come."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._ahead_ns = 0

    @property
    def now(self) -> int:
        """Simulated nanoseconds."""
        return self._world.sim.now + self._ahead_ns

    def advance(self, duration_ns: int) -> None:
        """He believes that time has passed."""
        self._ahead_ns += duration_ns
