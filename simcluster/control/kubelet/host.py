"""What the parts of a kubelet share: its node, clock, connection, log, configuration, and the parts below them.

Source: VolumeHost and RuntimeHelper, the interfaces by which the parts of the real kubelet see the whole.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.kubelet.attaching import NodeAttachments
from simcluster.control.kubelet.backoff import Backoff
from simcluster.control.kubelet.config import KubeletConfig
from simcluster.control.kubelet.environment import NodeFacts
from simcluster.control.kubelet.goduration import go_duration
from simcluster.control.kubelet.imagemanager import ImageManager
from simcluster.control.kubelet.klog import KubeletLog
from simcluster.control.kubelet.probing import Prober
from simcluster.control.kubelet.uplink import Uplink
from simcluster.control.kubelet.volumes import VolumeBuilder
from simcluster.engine import MINUTE, SECOND, Simulation
from simcluster.models.machine.cni import NOT_INITIALIZED
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.nodetree import NodeTree

#: Relist period of PLEG and period of the sync loop's ticker.
RELIST_NS = SECOND
#: maxWaitForContainerRuntime: after that the node says so.
RUNTIME_DOWN_NS = 30 * SECOND
#: relistThreshold of PLEG.
PLEG_THRESHOLD_NS = 3 * MINUTE
#: What the kubelet makes of containerd's answer when it has no CNI configuration.
NETWORK_NOT_READY = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin "
    f"returns error: {NOT_INITIALIZED}"
)


class Host:
    """One kubelet as its parts see it.

    Args:
        deliver: is given what a watch of pods tells.
        config: what it is configured with where its node has no configuration file.

    Attributes:
        config: its configuration since it started.
        running: whether the process lives; `started_ns` is when it last began to.
    """

    def __init__(
        self, sim: Simulation, api: Api, machine: Machine, deliver: Callable[[Change], None], config: KubeletConfig
    ) -> None:
        self.sim = sim
        self.api = api
        self.machine = machine
        self.name = machine.name
        user = User(f"system:node:{self.name}", ("system:nodes", "system:authenticated"))
        self.client = Uplink(api, user, "kubelet", machine, deliver)
        self.recorder = EventRecorder(sim, self.client, "kubelet", self.name)
        self.klog = KubeletLog(machine)
        self.facts = NodeFacts(self.name, machine.address, machine.cpu_cores * 1000, machine.memory_bytes)
        self.prober = Prober(machine.runtime)
        self.volumes = VolumeBuilder(sim, self.client.cache, self.facts, machine.network, NodeTree(machine))
        self.config = self.given = config
        self.running = False
        self.started_ns = 0
        self.images = ImageManager(sim, machine.images, self.klog)
        self.backoff = Backoff(sim)
        self.attachments = NodeAttachments(self.name, self.client, self.klog)
        phases = sim.stream("kubelet", self.name)
        self._relist_phase = phases.uniform_ns(0, RELIST_NS - 1)
        self._tick_phase = phases.uniform_ns(0, SECOND - 1)

    def forget_everything(self) -> None:
        """The process starts anew: nothing that it kept in memory is left."""
        self.images = ImageManager(self.sim, self.machine.images, self.klog)
        self.backoff = Backoff(self.sim)
        self.attachments.forget_everything()

    def node(self) -> ApiObject | None:
        """Its Node, as far as there is one."""
        return self.client.cache.get("nodes", "", self.name)

    def node_event(self, kind: str, reason: str, message: str) -> None:
        """An event about the node; the kubelet uses the node's name as its uid."""
        reference = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name, "uid": self.name}}
        self.recorder.event(reference, kind, reason, message)

    # Its loops.

    def last_relist_ns(self) -> int:
        """Instant of the last relist."""
        return (self.sim.now - self._relist_phase) // RELIST_NS * RELIST_NS + self._relist_phase

    def next_relist_ns(self) -> int:
        """Instant of the next relist, later than now."""
        return self.last_relist_ns() + RELIST_NS

    def sync_tick_ns(self, delay_ns: int) -> int:
        """The sync loop's first tick at least `delay_ns` from now."""
        due = self.sim.now + delay_ns
        return -((self._tick_phase - due) // SECOND) * SECOND + self._tick_phase

    # What is wrong with what it stands on.

    def runtime_errors(self) -> list[str]:
        """What is wrong with the container runtime, in the words of the Ready condition."""
        if self.machine.runtime.up:
            return []
        down_ns = self.sim.now - self.machine.units.units["containerd.service"].changed_ns
        errors = []
        if down_ns >= RUNTIME_DOWN_NS:
            errors.append("container runtime is down")
        if down_ns >= PLEG_THRESHOLD_NS:
            ago, limit = go_duration(down_ns // 1000 * 1000), go_duration(PLEG_THRESHOLD_NS)
            errors.append(f"PLEG is not healthy: pleg was last seen active {ago} ago; threshold is {limit}")
        return errors

    def network_error(self) -> str:
        """Why pods get no network, in the words of the Ready condition; "" if they do."""
        cni = self.machine.runtime.cni
        return "" if cni is None or cni.ready else NETWORK_NOT_READY
