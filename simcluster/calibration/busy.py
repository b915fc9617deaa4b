"""The small machine on which a whole cluster was recorded, and what its load does to watches.

API server, etcd, controllers, scheduler and the kubelets of all nodes shared two cores. A write
keeps them all busy for a while: it is validated, stored, sent to every watch and decoded there.
While writes come faster than that work is done, everybody hears of everything later, and not
in the order in which it happened: the workers of a controller overtake each other.

The backlog is a single queue that every write lengthens and time shortens; whoever watches
learns of an object's change when about that much has been worked off, whoever records when just
that has, and a controller's worker goes on when its own writes have been answered. Left out: work
that is no write (lists, probes, garbage collection).
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.client import Client
from simcluster.api.objects import name_of, namespace_of
from simcluster.api.store import Change, Subscriber
from simcluster.control.controller import Informer
from simcluster.world.world import World

#: Work of the whole machine for one write. The recording's six Deployments took some 100 writes
#: to be made, scheduled and reported, and the machine 0.26 s; the same control plane on the same two cores,
#: with nodes that cost nothing, did 245 to 270 pods a second of about five writes each.
WRITE_NS, CORES = 2_600_000, 2
#: Machines differ, and one machine from hour to hour: up to twofold either way between runs
#: (speeds measured again and again on such machines); those are the 1st and 99th percentile here.
MACHINE_SIGMA = 0.30


class BusyMachine:
    """Counts the work that writes make. Who watches through it hears late.

    Args:
        cores: of the machine; on more of them the work of a write is done sooner.

    Attributes:
        write_ns: the work of one write on this machine.
    """

    def __init__(self, world: World, cores: int = CORES) -> None:
        self.sim = world.sim
        self.store = world.api.store
        self.write_ns = self.sim.stream("recording", "machine").lognormal_ns(WRITE_NS * CORES // cores, MACHINE_SIGMA)
        self._idle_ns = 0  # when all work so far will be done
        self._looked_ns = 0  # when that was reckoned last
        self._version = self.store.version
        self.store.interpose(self._behind)
        for controller in world.controllers.controllers.values():
            controller.queue.handler = BusyWorker(self, controller.client, controller.queue.handler)

    def backlog_ns(self) -> int:
        """Work not yet done, that of the last write included."""
        now, new = self.sim.now, self.store.version - self._version
        if new > 1:  # those that nobody hears of were worked on since
            self._idle_ns = max(self._idle_ns, self._looked_ns) + (new - 1) * self.write_ns
        self._idle_ns = max(self._idle_ns, now) + min(new, 1) * self.write_ns
        self._version += new
        self._looked_ns = now
        return self._idle_ns - now

    def _behind(self, subscriber: Subscriber) -> Subscriber:
        """Only what another process watches comes late; the API server's own parts do not."""
        return LateWatch(self, subscriber) if isinstance(subscriber, Informer) else subscriber


class LateWatch:
    """A watch that tells of every object's changes in order, but of each object on its own.

    Args:
        machine: whose backlog delays it.
        informer: who is told.
    """

    def __init__(self, machine: BusyMachine, informer: Informer) -> None:
        self.machine = machine
        self.informer = informer
        self.sim = informer.sim
        self._stream = machine.sim.stream("recording", "watch", informer.resource)
        self._delivered_ns: dict[tuple[str, str], int] = {}  # when the last change of an object is delivered

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.informer

    __hash__ = None  # type: ignore[assignment]

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if self.informer.wants is not None and not self.informer.wants(change):
            return
        key = (namespace_of(change.object), name_of(change.object))
        backlog_ns = self.machine.backlog_ns()
        share_ns = self._stream.uniform_ns(backlog_ns // 2, backlog_ns * 3 // 2)
        at_ns = max(self._delivered_ns.get(key, 0), self.sim.now + share_ns)
        self._delivered_ns[key] = at_ns
        self.sim.at(at_ns, self.informer.notify, change)


class BusyWorker:
    """What a controller's workers do with a key: they are busy until their writes are answered."""

    def __init__(self, machine: BusyMachine, client: Client, handler: Callable[[str], int]) -> None:
        self.machine = machine
        self.client = client
        self.handler = handler

    def __call__(self, key: str) -> int:
        """Reconcile the key; for how long the worker is busy."""
        before = self.client.writes
        cost_ns = self.handler(key)
        return cost_ns + (self.machine.backlog_ns() if self.client.writes > before else 0)


class RecordersWatch:
    """A watch of the recording: hears of everything in order when the backlog has been worked off."""

    def __init__(self, machine: BusyMachine, watch: Subscriber) -> None:
        self.machine = machine
        self.watch = watch

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        self.machine.sim.after(self.machine.backlog_ns(), self.watch.notify, change)
