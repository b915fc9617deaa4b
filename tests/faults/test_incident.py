from __future__ import annotations

import pytest

from simcluster.engine import SECOND, fork
from simcluster.engine.content import UnknownName
from simcluster.faults.incident import Incident
from simcluster.faults.steps import Aim, IncidentStep, Scale
from simcluster.faults.target import ImpossibleTarget, ObjectRef
from tests.clusters.shop import NAMESPACE, ShopWorld


def selector_step(at: str = "60s") -> IncidentStep:
    target = {"kind": "Service", "name": "cart"}
    params = {"label": "version", "value": "v2"}
    return IncidentStep.model_validate(
        {"fault": "service_selector_mismatch", "at": at, "target": target, "params": params}
    )


def test_steps_happen_at_their_instants() -> None:
    world = ShopWorld()
    steps = (selector_step(), IncidentStep.model_validate({"at": "62s", "replace_pods": "cart"}))
    incident = Incident(world, NAMESPACE, steps)
    incident.start()
    world.run_for(59 * SECOND)
    assert incident.still_present() == []
    world.run_for(SECOND)
    assert len(incident.still_present()) == 1
    assert world.api.store.get("pods", NAMESPACE, "cart-5d4f7c9b8-x2x9k") is not None
    world.run_for(2 * SECOND)
    pod = world.api.store.get("pods", NAMESPACE, "cart-5d4f7c9b8-x2x9k")
    assert pod is None or "deletionTimestamp" in pod["metadata"]
    assert incident.done == 2
    assert incident.last_at_ns == 62 * SECOND
    assert incident.faulted() == [ObjectRef(kind="Service", name="cart")]


def test_a_scheduled_incident_happens_in_a_fork_too() -> None:
    world = ShopWorld()
    incident = Incident(world, NAMESPACE, (selector_step(),))
    incident.start()
    other_world, other = fork((world, incident))
    other_world.run_for(60 * SECOND)
    assert other.still_present()
    assert not incident.still_present()


def test_scaling_touches_replicas_only() -> None:
    world = ShopWorld()
    before = world.get("deployments.apps", "cart")
    incident = Incident(
        world, NAMESPACE, (IncidentStep(at=0, scale=Scale(deployment="cart", replicas=0)), selector_step())
    )
    incident.start()
    world.run_for(SECOND)
    after = world.get("deployments.apps", "cart")
    assert after["spec"] == {**before["spec"], "replicas": 0}
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]


def test_a_node_is_chosen_by_rule() -> None:
    world = ShopWorld()
    aim = Aim(kind="Node", node_of="frontend")
    assert aim.resolve(world, NAMESPACE) == [ObjectRef(kind="Node", name="worker-2")]
    world.report_ready("frontend-5d4f7c9b8-x2x9k", False)
    with pytest.raises(ImpossibleTarget, match="no ready pod"):
        aim.resolve(world, NAMESPACE)


def test_impossible_steps_are_refused_before_the_run() -> None:
    world = ShopWorld()
    with pytest.raises(ImpossibleTarget, match="there is no Deployment/nobody"):
        Incident(world, NAMESPACE, (IncidentStep(at=0, replace_pods="nobody"),)).start()
    step = IncidentStep(at=0, fault="kublet_stopped", target=Aim(kind="Node", name="worker-1"))
    with pytest.raises(UnknownName, match="did you mean kubelet_stopped"):
        Incident(world, NAMESPACE, (step,))


def test_contradictions_are_refused_with_the_reason_and_the_nearest_that_fits() -> None:
    def of(fault: str, node: str) -> IncidentStep:
        return IncidentStep(at=0, fault=fault, target=Aim(kind="Node", name=node))

    world = ShopWorld()
    Incident(world, NAMESPACE, (of("kubelet_stopped", "worker-1"), of("kubelet_stopped", "worker-2"))).check()
    twice = Incident(world, NAMESPACE, (of("kubelet_stopped", "worker-1"), of("kubelet_stopped", "worker-1")))
    with pytest.raises(ImpossibleTarget, match=r"in one way only; the nearest that fits is Node/") as refused:
        twice.check()
    assert refused.value.step == 1


@pytest.mark.parametrize(
    ("faults", "why"),
    [
        (("missing_service", "service_selector_mismatch"), "missing_service leaves nothing to which service_selector_"),
        (("service_selector_mismatch", "missing_service"), "missing_service undoes service_selector_mismatch on Serv"),
    ],
)
def test_a_cause_that_undoes_another_or_leaves_it_nothing_is_refused(faults: tuple[str, str], why: str) -> None:
    steps = []
    for late, fault in enumerate(faults):
        params = {"label": "version", "value": "v2"} if fault == "service_selector_mismatch" else {}
        step = {"at": f"{late}s", "fault": fault, "target": "Service/cart", "params": params}
        steps.append(IncidentStep.model_validate(step))
    world = ShopWorld()
    with pytest.raises(ImpossibleTarget, match=rf"{why}.*; the nearest that fits is Service/") as refused:
        Incident(world, NAMESPACE, tuple(steps)).start()
    assert refused.value.step == 1
    assert world.get("services", "cart")  # it was tried in a copy


def test_what_is_not_there_is_named_with_where_it_is() -> None:
    world = ShopWorld()
    aim = Aim(kind="Service", name="cart", namespace="elsewhere")
    step = selector_step().model_copy(update={"target": aim})
    with pytest.raises(ImpossibleTarget, match=f"there is one in namespace {NAMESPACE}"):
        Incident(world, NAMESPACE, (step,)).start()


@pytest.mark.parametrize(
    "step",
    [
        {"at": 0},
        {"at": 0, "fault": "kubelet_stopped"},
        {"at": 0, "replace_pods": "cart", "scale": {"deployment": "cart", "replicas": 0}},
        {"at": 0, "fault": "kubelet_stopped", "target": {"kind": "Service", "node_of": "cart"}},
        {"at": 0, "fault": "kubelet_stopped", "target": {"kind": "Node"}},
    ],
)
def test_a_step_is_one_deed_with_one_target(step: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"exactly one|needs a target|chooses a Node|either name or"):
        IncidentStep.model_validate(step)
