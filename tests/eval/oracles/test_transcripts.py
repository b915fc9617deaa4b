"""Every check on a small world at and around the boundary of what it accepts: its whole answer."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from pydantic import ValidationError

from simcluster.api.objects import thaw
from simcluster.engine import SECOND
from simcluster.eval.oracles import Baseline
from simcluster.eval.oracles.check import Context
from simcluster.eval.oracles.registry import checks
from simcluster.faults.steps import IncidentStep, mechanism_of
from simcluster.models.machine.containerspec import ContainerSpec
from simcluster.models.machine.process import Answer
from simcluster.models.userland.outcome import Outcome
from tests.clusters.shop import NAMESPACE, ShopWorld
from tests.transcripts import check

_HERE = Path(__file__).parent
_STEP = {
    "at": "0s", "fault": "service_selector_mismatch", "target": {"kind": "Service", "name": "cart"},
    "params": {"label": "version", "value": "v2"},
}  # fmt: skip


class Edge(NamedTuple):
    """Calls of somebody to a host, in the tick that ends then."""

    t_ns: int
    namespace: str
    host: str
    sent: int

    @property
    def key(self) -> Edge:
        return self


class Calls:
    """What the traffic remembers of its edges."""

    def __init__(self) -> None:
        self.edges: list[Edge] = []

    def between(self, from_ns: int, to_ns: int) -> list[Edge]:
        return [edge for edge in self.edges if from_ns < edge.t_ns <= to_ns]


class Running(NamedTuple):
    """A container that the quota has stopped for so long."""

    container_id: str
    running: bool
    spec: ContainerSpec
    throttled_ns: int


class Runtime(NamedTuple):
    """Containers of a node."""

    found: list[Running]

    def containers(self) -> list[Running]:
        return self.found


class Scene:
    """A healthy shop of which a baseline was taken."""

    def __init__(self) -> None:
        self.world = ShopWorld()
        self.baseline = Baseline.take(self.world, NAMESPACE)  # type: ignore[arg-type]
        self.later = self.nothing
        self.mechanism = mechanism_of(IncidentStep.model_validate(_STEP), NAMESPACE)

    def nothing(self) -> None:
        """What happens while a check watches."""

    def while_watched(self, *words: str) -> None:
        """The containers are stopped so long while a check watches."""
        self.later = partial(self.throttled, *words)

    def run(self, line: str) -> Outcome:
        """`CHECK {ARGUMENTS}`: the answer, or what is wrong with the arguments."""
        name, _, text = line.partition(" ")
        kind = checks()[name]
        args = yaml.safe_load(text) if text else {}
        try:
            made = kind(name, kind.Args.model_validate(args))
        except ValidationError as problem:
            first = problem.errors()[0]
            return Outcome("", f"{first['loc']} {first['msg']}\n", 1)
        context = Context(
            self.world, NAMESPACE, self.baseline, (self.mechanism,), self.world.sim.now  # type: ignore[arg-type]
        )  # fmt: skip
        if name == "not_throttled":
            made.begin(context)
            self.world.run_for(100 * SECOND)
            self.later()
        answer = made.evaluate(context)
        return Outcome(f"{answer.passed} {answer.why}\n")

    def patch(self, resource: str, name: str, *text: str) -> None:
        namespace = "" if resource == "nodes" else NAMESPACE
        client = self.world.client("kubernetes-admin", "kubectl")
        client.patch(resource, namespace, name, yaml.safe_load(" ".join(text)), kind="merge")

    def container(self, name: str, *text: str) -> None:
        template = thaw(self.world.get("deployments.apps", name))["spec"]["template"]
        template["spec"]["containers"][0].update(yaml.safe_load(" ".join(text)))
        self.patch("deployments.apps", name, yaml.safe_dump({"spec": {"template": template}}))

    def status(self, name: str, *text: str) -> None:
        """Set fields of a Deployment's status as its controller would."""
        found: Any = thaw(self.world.get("deployments.apps", name))
        found["status"] = {**found.get("status", {}), **yaml.safe_load(" ".join(text))}
        self.world.api.store.put("deployments.apps", found)

    def calls(self, namespace: str, host: str, sent: str, ago_s: str) -> None:
        """The history of the traffic has calls to a host, so long ago."""
        traffic: Any = self.world.traffic
        if not isinstance(traffic.history, Calls):
            traffic.history = Calls()
        traffic.history.edges.append(Edge(self.world.sim.now - int(ago_s) * SECOND, namespace, host, int(sent)))

    def throttled(self, pod: str, container: str, seconds: str, state: str = "running") -> None:
        """A container of a pod runs, and its quota stopped it for so long since it began."""
        found = self.world.get("pods", pod)
        machine: Any = self.world.machines[found["spec"]["nodeName"]]
        spec = ContainerSpec(NAMESPACE, pod, found["metadata"]["uid"], container, "x")
        known = [one for one in machine.runtime.containers() if one.container_id != f"id-{container}"]
        made = Running(f"id-{container}", state == "running", spec, int(float(seconds) * SECOND))
        machine.runtime = Runtime([*known, made])

    def answer(self, status: str, milliseconds: str) -> None:
        self.world.traffic.answer = Answer("ok", int(status), "", int(milliseconds) * 1_000_000)


def test_whole_answers(request: pytest.FixtureRequest) -> None:
    scene = Scene()
    verbs = {
        "patch": scene.patch, "container": scene.container, "status": scene.status, "answer": scene.answer,
        "endpoints": lambda name, *addresses: scene.world.set_endpoints(name, list(addresses)),
        "ready": lambda pod, value: scene.world.report_ready(pod, value == "yes"),
        "node": lambda name, value: scene.world.report_node(name, value == "yes"),
        "unit": lambda node, action, name: scene.world.machines[node].control(action, name),
        "ratio": lambda value: setattr(scene.world.traffic.users["shop/frontend"], "ratio", float(value)),
        "remove": lambda resource, name: scene.world.api.store.remove(resource, NAMESPACE, name),
        "inject": lambda: scene.mechanism.inject(scene.world), "wait": lambda s: scene.world.run_for(int(s) * SECOND),
        "again": scene.__init__, "calls": scene.calls, "throttled": scene.throttled,
        "while_watched": scene.while_watched,  # type: ignore[misc]
    }  # fmt: skip
    check(request, _HERE / "checks.transcript", scene.run, verbs)
