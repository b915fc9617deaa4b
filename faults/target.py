"""What a fault or a disturbance needs of a cluster: a few members, which `World` has.

Faults act through the same doors as people do: the API server under somebody's name, and
systemd on a node. Nothing here reaches into a controller or a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, Unpack

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, is_pod_ready, is_terminating, labels_of, name_of, namespace_of
from simcluster.api.resources import Resource
from simcluster.api.server import Api
from simcluster.api.store import Store
from simcluster.engine import Simulation
from simcluster.engine.content import Content, UnknownName, nearest
from simcluster.models.machine.cpu import CpuAccount
from simcluster.models.machine.power import Power
from simcluster.models.machine.storage import FileSystem
from simcluster.models.traffic.cluster.users import Habits, UserLoad


class Unit(Protocol):
    """One systemd unit."""

    @property
    def name(self) -> str:
        """Its full name."""

    @property
    def active(self) -> bool:
        """Whether it runs."""


class Host(Protocol):
    """A node's operating system, as far as faults need it."""

    def unit(self, name: str) -> Unit | None:
        """The unit, with or without `.service`; None if there is none."""

    def unit_list(self) -> Sequence[Unit]:
        """All units."""

    def control(self, action: str, name: str) -> str:
        """systemctl start, stop, ...; an error text or an empty one."""

    @property
    def cpu(self) -> CpuAccount:
        """Who wants how much of its cores."""

    @property
    def stolen_share(self) -> float:
        """Share of its CPU time that the hypervisor gives to others."""

    def steal_cpu(self, share: float) -> None:
        """Let the hypervisor give such a share to others; 0 gives all back."""

    @property
    def power(self) -> Power:
        """Its power."""

    def files_at(self, path: str) -> FileSystem:
        """The file system that is mounted at a path of the host."""


class Crowd(Protocol):
    """Users of applications."""

    @property
    def users(self) -> Mapping[str, Any]:
        """They, by `namespace/name`: `UserLoad` or what has its `namespace`, `service` and `rps`."""

    def schedule_rate(self, load: Any, rps: float, after_ns: int, lasts_ns: int | None = None) -> None:
        """Let them send so many requests a second from an instant on, for a time."""

    def add_users(
        self, name: str, namespace: str, service: str, port: int | None = None, **habits: Unpack[Habits]
    ) -> UserLoad:
        """Let further users come to a Service. Raises ValueError: there are users of that name."""


class FaultTarget(Protocol):
    """The cluster in which something is to go wrong. `World` is one."""

    @property
    def sim(self) -> Simulation:
        """Time, timers and randomness."""

    @property
    def api(self) -> Api:
        """The API server; its store is read like an informer's cache."""

    @property
    def machines(self) -> Mapping[str, Host]:
        """The nodes' operating systems by node name."""

    @property
    def traffic(self) -> Crowd:
        """Who uses the applications."""

    def client(self, user: str, agent: str) -> Client:
        """A connection to the API server under an identity of the caller's choice."""

    def on_node(self, node: str, command: str) -> tuple[int, str]:
        """Run a line of shell as root on a node, at once: exit status, and what it printed."""


class ImpossibleTarget(Exception):
    """A fault cannot be injected where the task wants it; raised before the run starts.

    Attributes:
        step: which step of the incident it is about; None if it is not known.
    """

    step: int | None = None
    exit_code = 2  # of the command line: what was asked for is wrong


class ObjectRef(Content):
    """One object of any kind of the API: a kind and a name. The namespace is the task's, where the kind has one.

    Attributes:
        kind: `Kind`, or `Kind.group` for one that another group has too.
    """

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> ObjectRef:
        """From `Kind/name`. Raises ValueError."""
        kind, slash, name = text.partition("/")
        if not kind or not slash or not name:
            raise ValueError(f"write Kind/name, such as Service/frontend, not {text!r}")
        return cls(kind=kind, name=name)

    def key_in(self, api: Api, namespace: str) -> tuple[str, str, str]:
        """Resource, namespace and name under which a cluster has it. Raises ImpossibleTarget: it has no such kind."""
        entry = resource_of(self.kind, api.resources.all)
        if entry is None:
            raise ImpossibleTarget(str(UnknownName("kind", self.kind, [one.kind for one in api.resources.all])))
        return entry.storage, namespace if entry.namespaced else "", self.name

    def find(self, api: Api, namespace: str) -> ApiObject | None:
        """The object as it is stored now. Raises ImpossibleTarget: the cluster has no such kind."""
        return api.store.get(*self.key_in(api, namespace))


def missing(ref: ObjectRef, api: Api, namespace: str) -> ImpossibleTarget:
    """What is said of an object that is not there. Raises ImpossibleTarget: there is not even such a kind."""
    resource, where, name = ref.key_in(api, namespace)
    names = [name_of(one) for one in api.store.objects(resource, where)]
    close = nearest(name, names)
    offer = f"; the nearest are {', '.join(close)}" if close else ""
    elsewhere = [namespace_of(one) for one in api.store.objects(resource) if where and name_of(one) == name]
    if elsewhere:
        offer = f"; there is one in namespace {elsewhere[0]}"
    return ImpossibleTarget(f"there is no {ref}" + (f" in namespace {where}" if where else "") + offer)


def resource_of(kind: str, resources: Iterable[Resource]) -> Resource | None:
    """The first resource of a kind, written `Kind` or `Kind.group`.

    >>> from simcluster.api.resources import BUILT_IN
    >>> [resource_of(kind, BUILT_IN.all).name for kind in ("Event", "Event.events.k8s.io")]
    ['events', 'events.events.k8s.io']
    """
    name, _, group = kind.partition(".")
    return next((one for one in resources if one.kind == name and group in ("", one.group)), None)


def matches(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Whether the labels carry everything the equality selector asks for. An empty one selects nothing."""
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def pods_of(store: Store, workload: ApiObject) -> list[ApiObject]:
    """Pods that the selector of a Deployment selects, and that are not being deleted."""
    selector: dict[str, str] = (workload["spec"].get("selector") or {}).get("matchLabels") or {}
    pods = store.objects("pods", namespace_of(workload))
    return [pod for pod in pods if matches(selector, labels_of(pod)) and not is_terminating(pod)]


def ready_pods_of(store: Store, workload: ApiObject) -> list[ApiObject]:
    """Those of `pods_of` whose reported condition Ready is True."""
    return [pod for pod in pods_of(store, workload) if is_pod_ready(pod)]


def containers_of(workload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The containers of a workload's pod template. Do not change them when they come from the store."""
    found: list[dict[str, Any]] = workload["spec"]["template"]["spec"]["containers"]
    return found
