"""The proof itself, on a hand-made world: what it accepts and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

pytest.importorskip("simcluster.surface.kubectl.kubectl", reason="the kubectl room is not built")

from simcluster import tasks
from simcluster.apps.registry import applications
from simcluster.engine import SECOND, fork
from simcluster.engine.content import ContentError, UnknownName
from simcluster.eval.oracles import Baseline, Mitigation, MitigationVerdict
from simcluster.eval.proof import ProofReport, check, check_task
from simcluster.eval.proof.attempts import ATTEMPTS, attempt
from simcluster.eval.proof.edges import Way, ways_of
from simcluster.eval.proof.leaks import leaks, secret_words
from simcluster.eval.trajectory import Recorder, Verdict, verify
from simcluster.faults.incident import Incident
from simcluster.faults.target import ObjectRef
from simcluster.models.traffic.cluster.distribution import Latency
from simcluster.models.traffic.cluster.nodes import EdgeKey
from simcluster.models.traffic.cluster.statistics import EdgeStats
from simcluster.surface.protocols import Outcome
from simcluster.tasks.model import FORBIDDEN, Task
from simcluster.telemetry.logql.units import EPOCH_NS
from simcluster.telemetry.metrics.columns import Columns, Group, gauge, labels
from simcluster.world import World
from tests.clusters.shop import NAMESPACE, ShopWorld

ID = "shop_selector"


def document() -> dict[str, Any]:
    """A task on the shop, as its author writes it."""
    found: dict[str, Any] = yaml.safe_load(tasks.path_of("wrong_service_selector_online_boutique").read_text())
    found.update(id=ID, app="shop", namespace=NAMESPACE, users={"entry": "frontend", "rps": 10})
    found["incident"] = [{**found["incident"][0], "target": {"kind": "Service", "name": "cart"}}]
    found["protects"] = ["frontend"]
    found["accepted_when"][0]["args"] = {"service": "cart", "pods_of": "cart"}
    found["reference_fixes"] = [[{"kubectl": "repair"}, {"wait": "30s"}]]
    right = "The selector of Service cart has the label version=v2 that no pod carries, so frontend fails."
    wrong = "Deployment geo is out of memory."
    found["reference_diagnoses"] = {"right": [right], "plausible_but_wrong": [wrong]}
    return found


class ShopEpisode:
    """An episode on the shop; its controllers are this class."""

    def __init__(self, task: Task, seed: int) -> None:
        self.world: Any = ShopWorld(seed)
        self.task = task
        self.baseline = Baseline.take(self.world, NAMESPACE)
        self.recorder = Recorder(self.world, task)
        self.incident = Incident(self.world, NAMESPACE, task.incident)
        self.world.sim.after(min(step.at for step in task.incident), self.recorder.mark, "incident")
        self.incident.start()
        self.world.run_for(60 * SECOND)
        self.alert = "[FIRING] EntrySuccessLow"
        self.at_page = None  # nothing there can be replayed
        self.react()

    def react(self) -> None:
        broken = bool(self.incident.still_present())
        self.world.set_endpoints("cart", [] if broken else ["10.244.1.10"])
        self.world.traffic.users["shop/frontend"].ratio = 0.2 if broken else 1.0

    def fork(self) -> ShopEpisode:
        return fork(self)

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        if command not in ("repair", "repair roughly"):
            return Outcome("", "error: unknown command", 1)
        self.recorder.command("kubectl", write=True, at_ns=self.world.sim.now)
        if command == "repair roughly":
            for ready in (False, True):  # the pod is away for two records
                self.world.report_ready("cart-5d4f7c9b8-x2x9k", ready)
                self.world.run_for(10 * SECOND)
        client = self.world.client("kubernetes-admin", "kubectl")
        client.patch("services", NAMESPACE, "cart", {"spec": {"selector": {"version": None}}}, kind="merge")
        self.react()
        return Outcome("service/cart patched\n")

    def node(self, name: str) -> Any:
        raise AssertionError(name)

    def wait(self, duration: str) -> None:
        self.world.run_for(30 * SECOND)

    def examined(self, *, whole: bool = False) -> MitigationVerdict:
        found = Mitigation().judge(self.world, self.task, self.baseline)  # nothing there can be examined
        self.recorder.close()
        return found

    def verified(self) -> Verdict:
        return verify(self.recorder.header(), list(self.recorder.records))


def prove(folder: Path, changed: dict[str, Any]) -> ProofReport:
    path = folder / f"{ID}.yaml"
    path.write_text(yaml.safe_dump(changed))
    task = tasks.load(str(path))

    def opener(task_id: str, seed: int) -> ShopEpisode:
        return ShopEpisode(task, seed)

    return check_task(str(path), 3, opener=opener, tries=(0, 0))


def failed(report: ProofReport) -> list[str]:
    return [finding.name for finding in report.findings if not finding.passed]


def test_a_good_task_is_proved(tmp_path: Path) -> None:
    report = prove(tmp_path, document())
    assert report.passed, report.explain()
    names = [finding.name for finding in report.findings]
    assert [f"{name} is refused" for name in FORBIDDEN] == [name for name in names if name.split()[0] in FORBIDDEN]
    assert "reference fix 1 is accepted" in names
    assert json.loads(json.dumps(report.to_dict()))["passed"] is True


def test_an_oracle_that_accepts_too_much_is_found(tmp_path: Path) -> None:
    changed = document()
    changed["accepted_when"] = [{"check": "deployment_available", "args": {"deployment": "geo"}}]
    assert "noop is refused" in failed(prove(tmp_path, changed))


def test_a_fix_that_does_not_work_is_found(tmp_path: Path) -> None:
    changed = document()
    changed["reference_fixes"] = [[{"wait": "30s"}], [{"kubectl": "nonsense"}]]
    report = prove(tmp_path, changed)
    assert failed(report) == ["reference fix 1 is accepted", "reference fix 2 is accepted"]
    assert "nonsense: exit status 1: error: unknown command" in report.explain()


def test_a_fix_that_does_harm_on_the_way_says_why(tmp_path: Path) -> None:
    changed = document()
    changed["reference_fixes"] = [[{"kubectl": "repair"}], [{"kubectl": "repair roughly"}, {"wait": "30s"}]]
    assert failed(prove(tmp_path, changed)) == ["reference fix 2 does no harm on the way"]
    changed["costs"] = {2: {"temporal": "the pod is taken away"}}
    assert failed(prove(tmp_path, changed)) == []


def test_wrong_reference_diagnoses_are_found(tmp_path: Path) -> None:
    changed = document()
    both = changed["reference_diagnoses"]
    changed["reference_diagnoses"] = {"right": both["plausible_but_wrong"], "plausible_but_wrong": both["right"]}
    assert failed(prove(tmp_path, changed)) == ["diagnosis right 1 is accepted", "diagnosis wrong 1 is refused"]


def test_what_only_grading_knows_names_the_line(tmp_path: Path) -> None:
    changed = document()
    changed["accepted_when"][1]["check"] = "user_succeed"
    with pytest.raises(ContentError, match=r"shop_selector.yaml:\d+: unknown check .*did you mean users_succeed"):
        prove(tmp_path, changed)
    changed = document()
    changed["truth"] = {"component": "Service/cart", "mechanism": "it is broken", "scope": ["cart"]}
    with pytest.raises(ContentError, match="no mechanism of the vocabulary"):
        prove(tmp_path, changed)


def test_leaks_are_found() -> None:
    task = Task.model_validate(document())
    world: Any = ShopWorld()
    assert leaks(world, task) == []
    patch = {"metadata": {"annotations": {"note": "Service-Selector-Mismatch"}}}
    world.client("a", "kubectl").patch("services", NAMESPACE, "geo", patch, kind="merge")
    assert leaks(world, task) == ["'service-selector-mismatch' stands in services geo"]
    assert "simcluster" in secret_words(task)


def test_metrics_are_read_for_leaks() -> None:
    task = Task.model_validate(document())
    world = World(2, workers=1)
    world.observe()
    world.run_for(30 * SECOND)
    assert leaks(world, task) == []
    store = world.series
    assert store is not None
    form = Columns((gauge("build_info", "What was built."),))
    store.log("app", ()).append(0, {Group(form, labels(version="service_selector_mismatch")): form.row((1,))})
    (found,) = leaks(world, task)
    assert found.startswith("'service_selector_mismatch' stands in the metrics of app")
    lines = world.lines
    assert lines is not None
    lines.append((("app", "gone"),), EPOCH_NS, "wrote shop-selector")
    assert leaks(world, task)[1].startswith("'shop-selector' stands in the lines of app=gone in Loki")


def test_every_forbidden_attempt_can_be_made() -> None:
    assert tuple(ATTEMPTS) == FORBIDDEN
    task = Task.model_validate(document())
    for name in FORBIDDEN:
        assert attempt(name, ShopWorld(), task) == ""  # type: ignore[arg-type]
    other = task.model_copy(update={"stated": task.truth.model_copy(update={"component": "Service/none"})})
    assert 'services "none" not found' in attempt("delete_target", ShopWorld(), other)  # type: ignore[arg-type]


def test_other_content(tmp_path: Path) -> None:
    assert check("default").passed
    with pytest.raises(UnknownName, match="did you mean kubelet_stopped"):
        check("kubelet_stoped")
    behaviour = next(folder.path for folder in applications() if folder.behaviour.users) / "behaviour.yaml"
    assert check(str(behaviour)).kind == "app"
    path = tmp_path / "calm.yaml"
    path.write_text("id: calm\ndescription: x\ndisturbances:\n  - {mechanism: pod_kill}\n")
    assert check(str(path)).passed


def test_ways_lead_to_whom_calls_name_or_to_whose_address_they_have() -> None:
    """Not to the caller's own pod, to no replica of its own, and to no pool of a proxy."""
    objects: dict[str, list[Any]] = {
        "deployments.apps": [{"metadata": {"name": name}} for name in ("web", "cart")],
        "pods": [
            {"metadata": {"name": f"{name}-5d4f7c9b8-x2x9k"}, "status": {"podIP": address}}
            for name, address in (("web", "10.244.1.2"), ("cart", "10.244.1.3"))
        ],
        "services": [{"metadata": {"name": "db"}, "spec": {"clusterIP": "10.96.0.7"}}],
    }
    hosts = ("db", "10.96.0.7", "10.244.1.3", "10.244.1.2", "localhost", "127.0.0.1", "0.0.0.1", "")
    keys = [EdgeKey("shop", "web-5d4f7c9b8-x2x9k", "server", host, 80, "get") for host in hosts]
    keys += [
        EdgeKey("shop", "people", "", "web", 80, "get"),
        EdgeKey("other", "web-5d4f7c9b8-x2x9k", "a", "x", 80, "get"),
    ]
    edges = [EdgeStats(0, key, 1, 1, {}, Latency(0.0, 0.0)) for key in keys]
    world: Any = SimpleNamespace(
        sim=SimpleNamespace(now=60 * SECOND),
        traffic=SimpleNamespace(history=SimpleNamespace(between=lambda since, until: edges)),
        api=SimpleNamespace(store=SimpleNamespace(objects=lambda kind, namespace: objects.get(kind, []))),
    )
    web = ObjectRef(kind="Deployment", name="web")
    assert ways_of(world, "shop") == [
        Way(web, "Deployment/cart", ("10.244.1.3",)),
        Way(web, "Service/db", ("10.96.0.7",)),
        Way(web, "db", ("db",)),
    ]
