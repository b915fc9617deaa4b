from __future__ import annotations

from typing import Any

import pytest

from simcluster import tasks
from simcluster.api.objects import thaw
from simcluster.engine import SECOND
from simcluster.eval.oracles import Baseline, CheckResult, Mitigation, MitigationVerdict
from simcluster.eval.oracles.baseline import damage
from simcluster.eval.oracles.check import Context
from simcluster.eval.oracles.registry import checks
from simcluster.faults.steps import IncidentStep, mechanism_of
from simcluster.faults.survey import Key
from simcluster.models.machine.process import Answer
from simcluster.tasks.model import Task
from tests.clusters.shop import NAMESPACE, ShopWorld

STEP = {
    "at": "0s",
    "fault": "service_selector_mismatch",
    "target": {"kind": "Service", "name": "cart"},
    "params": {"label": "version", "value": "v2"},
}
POD = "cart-5d4f7c9b8-x2x9k"


class Trial:
    """A world with the selector of Service cart in question."""

    def __init__(self) -> None:
        self.world = ShopWorld()
        self.baseline = Baseline.take(self.world, NAMESPACE)  # type: ignore[arg-type]
        self.mechanism = mechanism_of(IncidentStep.model_validate(STEP), NAMESPACE)

    def check(self, name: str, **args: Any) -> CheckResult:
        kind = checks()[name]
        now = self.world.sim.now
        context = Context(self.world, NAMESPACE, self.baseline, (self.mechanism,), now)  # type: ignore[arg-type]
        check = kind(name, kind.Args.model_validate(args))
        check.begin(context)
        return check.evaluate(context)

    def patch(self, resource: str, name: str, patch: dict[str, Any]) -> None:
        namespace = "" if resource == "nodes" else NAMESPACE
        self.world.client("kubernetes-admin", "kubectl").patch(resource, namespace, name, patch, kind="merge")

    def change(self, **container: Any) -> None:
        obj = thaw(self.world.get("deployments.apps", "cart"))
        obj["spec"]["template"]["spec"]["containers"][0].update(container)
        self.patch("deployments.apps", "cart", {"spec": {"template": obj["spec"]["template"]}})


@pytest.fixture
def trial() -> Trial:
    return Trial()


HEALTHY: list[tuple[str, dict[str, Any]]] = [
    ("endpoints_are", {"service": "cart", "pods_of": "cart"}),
    ("users_succeed", {"entry": "frontend", "ratio": 0.99, "for": "60s"}),
    ("deployment_available", {"deployment": "cart"}),
    ("rollout_complete", {"deployment": "cart"}),
    ("image_is_not", {"deployment": "cart", "tag": "v9"}),
    ("env_value_is", {"deployment": "cart", "variable": "GEO_ADDR", "value": "geo:8080"}),
    ("env_value_is", {"deployment": "cart", "variable": "GEO_ADDR", "reaches": "geo"}),
    ("service_reachable", {"service": "cart"}),
    ("node_ready", {"node": "worker-1"}),
    ("unit_active", {"node": "worker-1", "unit": "kubelet"}),
    ("cpu_limit_at_least", {"deployment": "cart", "cpu": "200m"}),
    ("cause_gone", {}),
    ("nothing_worse_than_before", {}),
]


@pytest.mark.parametrize(("name", "args"), HEALTHY)
def test_a_healthy_world_passes(trial: Trial, name: str, args: dict[str, Any]) -> None:
    assert trial.check(name, **args) == CheckResult(name, True, "")


def test_endpoints(trial: Trial) -> None:
    trial.world.set_endpoints("cart", [])
    assert trial.check("endpoints_are", service="cart", pods_of="cart").why == "Service cart has no ready endpoint"
    trial.world.set_endpoints("cart", ["10.244.1.11"])
    assert "not the ready pods" in trial.check("endpoints_are", service="cart", pods_of="cart").why
    assert "does not exist" in trial.check("endpoints_are", service="none", pods_of="cart").why


def test_users(trial: Trial) -> None:
    trial.world.traffic.users["shop/frontend"].ratio = 0.98
    assert "588 of 600" in trial.check("users_succeed", entry="frontend", ratio=0.99).why
    assert trial.check("users_succeed", entry="frontend", ratio=0.97).passed
    assert "only 0 requests" in trial.check("users_succeed", entry="cart", ratio=0.5).why


def test_rollouts(trial: Trial) -> None:
    trial.change(image="x:v2")
    assert "not been observed" in trial.check("rollout_complete", deployment="cart").why
    trial.patch("deployments.apps", "cart", {"spec": {"replicas": 0}})
    assert trial.check("rollout_complete", deployment="cart").why == "scaled to 0"


def test_images_and_limits(trial: Trial) -> None:
    trial.change(image="x:v9", resources={"limits": {"cpu": "10m"}})
    assert not trial.check("image_is_not", deployment="cart", tag="v9").passed
    assert "is 10m, under 50m" in trial.check("cpu_limit_at_least", deployment="cart", cpu="50m").why
    trial.change(resources={})
    assert trial.check("cpu_limit_at_least", deployment="cart", cpu="50m").passed


@pytest.mark.parametrize(
    ("value", "passes"),
    [
        ("geo:8080", True),
        ("geo.shop:8080", True),
        ("10.96.0.12:8080", False),  # the test's network knows names only
        ("geo:8081", False),
        ("goe:8080", False),
        ("cart:8080", False),
        ("", False),
    ],
)
def test_an_address_may_be_spelled_in_several_ways(trial: Trial, value: str, passes: bool) -> None:
    trial.change(env=[{"name": "GEO_ADDR", "value": value}])
    assert trial.check("env_value_is", deployment="cart", variable="GEO_ADDR", reaches="geo").passed is passes


def test_nodes_and_units(trial: Trial) -> None:
    trial.world.report_node("worker-1", False)
    trial.world.machines["worker-1"].control("stop", "kubelet")
    assert not trial.check("node_ready", node="worker-1").passed
    assert not trial.check("unit_active", node="worker-1", unit="kubelet").passed
    assert not trial.check("node_ready", node="worker-9").passed


def test_requests(trial: Trial) -> None:
    trial.world.traffic.answer = Answer("ok", 500, "", 1_000_000)
    assert "status 500" in trial.check("service_reachable", service="cart").why
    trial.world.traffic.answer = Answer("ok", 200, "", 3_500_000_000)
    assert not trial.check("service_reachable", service="cart").passed


def test_the_cause(trial: Trial) -> None:
    trial.mechanism.inject(trial.world)
    assert "still selects version=v2" in trial.check("cause_gone").why
    assert trial.check("nothing_worse_than_before").passed


@pytest.mark.parametrize(
    ("resource", "name", "patch", "why"),
    [
        ("deployments.apps", "geo", {"spec": {"replicas": 0}}, "scaled from 1 to 0"),
        ("deployments.apps", "geo", {"spec": {"paused": True}}, "deployments.apps geo was changed"),
        ("services", "geo", {"spec": {"selector": {"app": "cart"}}}, "services geo was changed"),
        ("services", "cart", {"spec": {"ports": [{"port": 1}]}}, "its ports were changed"),
        ("nodes", "worker-1", {"spec": {"unschedulable": True}}, "nodes worker-1 was changed"),
        ("nodes", "worker-1", {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}}, "was changed"),
    ],
)
def test_collateral_damage(trial: Trial, resource: str, name: str, patch: dict[str, Any], why: str) -> None:
    trial.patch(resource, name, patch)
    assert why in trial.check("nothing_worse_than_before").why


def test_deleted_objects_and_stopped_units_are_damage(trial: Trial) -> None:
    trial.world.api.store.remove("deployments.apps", NAMESPACE, "geo")
    trial.world.machines["worker-2"].control("stop", "containerd")
    why = trial.check("nothing_worse_than_before").why
    assert why == "deployments.apps geo was deleted; containerd.service no longer runs on worker-2"


def test_a_repaired_deployment_may_have_another_name(trial: Trial) -> None:
    store, key = trial.world.api.store, ("deployments.apps", NAMESPACE, "geo")
    again = thaw(store.remove(*key))

    def found(faulted: tuple[Key, ...]) -> list[str]:
        return damage(trial.baseline, trial.world, faulted)  # type: ignore[arg-type]

    assert found((key,)) == ["deployments.apps geo was deleted"]
    again["metadata"] = {**again["metadata"], "name": "geo-again", "uid": "another"}
    again["spec"]["replicas"] = 1
    store.put("deployments.apps", again)
    assert found((key,)) == []
    assert found(()) == ["deployments.apps geo was deleted"]
    store.put("deployments.apps", {**again, "spec": {**again["spec"], "replicas": 0}})
    assert found((key,)) == ["deployments.apps geo: scaled from 1 to 0"]


def test_settings_that_go_with_an_owner_made_anew_are_no_damage(trial: Trial) -> None:
    store = trial.world.api.store
    owner = trial.world.get("deployments.apps", "cart")
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "cart", "uid": owner["metadata"]["uid"]}
    for name, owners in (("of-cart", [{**reference, "controller": True}]), ("of-nobody", [])):
        meta = {"namespace": NAMESPACE, "name": name, "uid": name, "ownerReferences": owners}
        store.put("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {}})
    baseline = Baseline.take(trial.world, NAMESPACE)  # type: ignore[arg-type]
    for name in ("of-cart", "of-nobody"):
        store.remove("configmaps", NAMESPACE, name)

    def found() -> list[str]:
        return damage(baseline, trial.world, ())  # type: ignore[arg-type]

    assert found() == ["configmaps of-cart was deleted", "configmaps of-nobody was deleted"]
    store.put("deployments.apps", {**thaw(owner), "metadata": {**thaw(owner)["metadata"], "uid": "anew"}})
    assert found() == ["configmaps of-nobody was deleted"]


def test_other_namespaces_count_where_an_incident_is_aimed_at_them(trial: Trial) -> None:
    meta = {"namespace": "operator", "name": "manager", "uid": "manager"}
    trial.world.api.store.put("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {}})
    aimed = tasks.load("operator_wrong_operator_image_fleetcast").aimed_namespaces
    assert aimed == ("tidb-operator",)
    for also, counts in (((), False), (("operator",), True)):
        baseline = Baseline.take(trial.world, NAMESPACE, also)  # type: ignore[arg-type]
        assert (("configmaps", "operator", "manager") in baseline.objects) is counts


def test_more_replicas_restarts_and_repairs_are_no_damage(trial: Trial) -> None:
    annotation = {"kubectl.kubernetes.io/restartedAt": "2026-03-02T09:00:00Z"}
    template = {"metadata": {"annotations": annotation}}
    trial.patch("deployments.apps", "geo", {"spec": {"replicas": 2, "template": template}})
    trial.patch("services", "cart", {"spec": {"selector": {"app": "cart", "tier": "x"}}})
    trial.patch(
        "nodes", "worker-1", {"spec": {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}}
    )
    assert trial.check("nothing_worse_than_before").passed


def judge(world: ShopWorld, baseline: Baseline) -> MitigationVerdict:
    task = tasks.load("wrong_service_selector_online_boutique")
    data = task.model_dump(by_alias=True)
    data.update(namespace=NAMESPACE, incident=[STEP])
    data["accepted_when"][0]["args"] = {"service": "cart", "pods_of": "cart"}
    return Mitigation().judge(world, Task.model_validate(data), baseline)  # type: ignore[arg-type]


def test_the_whole_oracle(trial: Trial) -> None:
    assert judge(trial.world, trial.baseline).passed
    trial.mechanism.inject(trial.world)
    trial.world.set_endpoints("cart", [])
    verdict = judge(trial.world, trial.baseline)
    assert not verdict.passed
    assert [r.name for r in verdict.results if not r.passed] == ["endpoints_are", "cause_gone"]
    assert "FAIL endpoints_are" in verdict.explain()
    assert verdict.to_dict()["checks"][0]["passed"] is False


def test_a_relapse_within_the_window_is_seen(trial: Trial) -> None:
    trial.world.sim.after(100 * SECOND, trial.world.set_endpoints, "cart", [])
    trial.world.sim.after(120 * SECOND, trial.world.set_endpoints, "cart", ["10.244.1.10"])
    verdict = judge(trial.world, trial.baseline)
    assert verdict.results[0].why == "Service cart has no ready endpoint (after 40 s)"


def test_what_settles_in_time_is_fine(trial: Trial) -> None:
    trial.world.set_endpoints("cart", [])
    trial.world.sim.after(50 * SECOND, trial.world.set_endpoints, "cart", ["10.244.1.10"])
    assert judge(trial.world, trial.baseline).passed
