"""Ways of pods and nodes that are late, lossy, narrow or cut: all that they have, or those to some others."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, model_validator

from simcluster.api.objects import ApiObject, labels_of
from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.survey import standing
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ObjectRef, containers_of, matches, ready_pods_of
from simcluster.faults.ways import links_of
from simcluster.models.machine.links.shaping import Shaping

_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")


class WayParams(Content):
    """How bad the way becomes, or that it is `cut`; `to` whom, if not to everybody.

    Attributes:
        one_way: it is cut for what this side opens only.
        to: nodes, workloads, pods or Services (`Kind/name`), or DNS names of Services (`cart`, `cart.shop.svc`).
    """

    delay_ms: float = Field(default=0.0, ge=0.0, le=60_000.0)
    jitter_ms: float = Field(default=0.0, ge=0.0, le=60_000.0)
    loss: float = Field(default=0.0, ge=0.0, le=1.0)
    rate_bps: int = Field(default=0, ge=0)
    cut: bool = False
    one_way: bool = False
    to: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _something(self) -> WayParams:
        worse = bool(self.delay_ms or self.jitter_ms or self.loss or self.rate_bps)
        if worse == self.cut:
            raise ValueError("give either cut, or some of delay_ms, jitter_ms, loss and rate_bps")
        if self.one_way and not self.cut:
            raise ValueError("only what is cut is cut one way: a discipline meets the packets of both")
        if self.cut and not self.to:
            raise ValueError("say `to` whom it is cut; without anybody, loss: 1 is everybody")
        return self


class NetworkWay(Mechanism):
    """A queueing discipline at the way out of pods or nodes, or a filter between them and others.

    Connections need both directions, so a filter without state of one direction cuts them as one of both does; one that
    looks at the state of connections (`one_way`) lets pass what the others open. Filters and disciplines are bound to
    addresses: pods that are made anew have none.

    Symptoms: calls over these ways take longer, are sent again, or end in time-outs; others are as fast as ever.
    Shows in: `tc qdisc`, latency by edge, time-outs in callers' logs, users.
    Undone by: `tc qdisc del`, pods made anew, moving them to other nodes.
    """

    sheet = DataSheet(
        layer="kernel",
        family="network",
        changes=("qdisc *", "ways *"),
        follows="Calls over these ways are late, are repeated by TCP, or end in time-outs.",
        undone_by=("tc qdisc del", "pods made anew", "another node"),
        units={"delay_ms": "ms", "jitter_ms": "ms", "loss": "share of packets", "rate_bps": "bit/s"},
        source="Linux tc-netem(8), tc-tbf(8); Chaos Mesh NetworkChaos; Cloud-OpsBench pod_network_delay",
    )
    Params = WayParams
    params: WayParams
    kinds: ClassVar[tuple[str, ...]] = ("Node", "Pod", "Service", *_WORKLOADS)

    @classmethod
    def drawn(cls, target: FaultTarget, ref: ObjectRef, namespace: str) -> list[dict[str, Any]]:
        """The way to everybody, and where it is cut, to each of those whom its first container has addresses of."""
        found = ref.find(target.api, namespace)
        if found is None or "template" not in (found.get("spec") or {}):
            return []
        services = {one["metadata"]["name"] for one in target.api.store.objects("services", namespace)}
        values = [str(e.get("value", "")).partition(":")[0] for e in containers_of(found)[0].get("env") or ()]
        known = sorted(services & set(values) - {ref.name})
        return [{}, *({"to": [f"{name}.{namespace}.svc"]} for name in known)]

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return f"the way to {', '.join(self.params.to) or 'everybody'}"

    @property
    def others(self) -> tuple[ObjectRef, ...]:
        """Whom the way leads to."""
        return tuple(
            ObjectRef.parse(text) if "/" in text else ObjectRef(kind="Service", name=text.partition(".")[0])
            for text in self.params.to
        )

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        params = self.params
        return {"delay": f"{params.delay_ms:g}ms"} if params.delay_ms else {}

    def check(self, target: FaultTarget) -> None:
        """Both sides must be there, and be different ones; nobody has a discipline there yet."""
        super().check(target)
        links = links_of(target)
        if links is None:
            raise ImpossibleTarget(f"{self.ref} has no network that this could happen to")
        here, there = self._ends(target, self.ref), self._others(target)
        if set(here) & set(there):
            raise ImpossibleTarget(f"{self.ref} is on both sides of the way to {', '.join(self.params.to)}")
        if (any(end in links.shapes for end in here) and not there) or self._name in links.partitions:
            raise ImpossibleTarget(f"the way of {self.ref} is not as it should be already")

    def inject(self, target: FaultTarget) -> None:
        """From now on it is so."""
        links, params = links_of(target), self.params
        here, there = self._ends(target, self.ref), self._others(target)
        assert links is not None, self.ref
        shaping = Shaping(
            int(params.delay_ms * 1_000_000), int(params.jitter_ms * 1_000_000), params.loss, params.rate_bps
        )
        if there:
            links.partition(self._name, here, there, None if params.cut else shaping, one_way=params.one_way)
            return
        for end in here:
            links.shape(end, shaping)

    def still_present(self, target: FaultTarget) -> str:
        """It is as it was left."""
        return standing(target, self.changed)

    @property
    def _name(self) -> str:
        return f"{self.ref} {' '.join(self.params.to)}"

    def _others(self, target: FaultTarget) -> list[str]:
        return [end for ref in self.others for end in self._ends(target, ref)]

    def _ends(self, target: FaultTarget, ref: ObjectRef) -> list[str]:
        """Names of nodes, addresses of pods. Raises ImpossibleTarget: nobody is there."""
        made = type(self)(ref, self.namespace, self.params, self.deployer)
        found = made.object(target)
        if ref.kind == "Node":
            return [ref.name]
        addresses = [str((pod.get("status") or {}).get("podIP") or "") for pod in self._pods(target, ref.kind, found)]
        if not any(addresses):
            raise ImpossibleTarget(f"{ref} has no ready pod")
        return [address for address in addresses if address]

    def _pods(self, target: FaultTarget, kind: str, found: ApiObject) -> list[ApiObject]:
        if kind == "Pod":
            return [found]
        if kind == "Service":
            selector = found["spec"].get("selector") or {}
            pods = target.api.store.objects("pods", self.namespace)
            return [pod for pod in pods if matches(selector, labels_of(pod))]
        return ready_pods_of(target.api.store, found)
