from __future__ import annotations

from typing import Any

import pytest

from simcluster.engine import SECOND
from simcluster.faults import registry
from simcluster.faults.deployer import Deployer
from simcluster.faults.incident import Incident
from simcluster.faults.objects.object_change import ChangeParams, ObjectChange
from simcluster.faults.registry import FaultSpec
from simcluster.faults.restore import restore
from simcluster.faults.steps import Aim, IncidentStep
from simcluster.faults.survey import changes, survey
from simcluster.faults.target import ImpossibleTarget, ObjectRef
from simcluster.faults.values import Scene, computed, concrete, given
from tests.clusters.shop import NAMESPACE, ShopWorld

CART = ObjectRef(kind="Deployment", name="cart")
IMAGE = "spec.template.spec.containers[0].image"


def change(ref: ObjectRef = CART, **params: Any) -> ObjectChange:
    return ObjectChange(ref, NAMESPACE, ChangeParams.model_validate(params), Deployer())


def done(world: ShopWorld, one: ObjectChange) -> ObjectChange:
    before = survey(world)
    one.check(world)
    one.inject(world)
    return one.knowing(changes(before, survey(world)))


@pytest.mark.parametrize(
    ("ref", "params", "undo"),
    [
        ("ConfigMap/extra", {"create": {"data": {"a": "1"}}}, {"data": {"a": "2"}}),
        ("Service/cart", {"set": {"spec.type": "NodePort"}}, {"spec": {"type": "ClusterIP"}}),
        ("Deployment/cart", {"scale": 0}, {"spec": {"replicas": 1}}),
        ("Deployment/cart", {"patch": {"spec": {"paused": True}}}, {"spec": {"paused": False}}),
        (
            "Deployment/cart",
            {"patch": [{"op": "replace", "path": "/spec/replicas", "value": 7}], "type": "json"},
            {"spec": {"replicas": 6}},
        ),
    ],
)
def test_what_was_changed_stands_until_it_is_not_so_any_more(
    ref: str, params: dict[str, Any], undo: dict[str, Any]
) -> None:
    world, target = ShopWorld(), ObjectRef.parse(ref)
    one = done(world, change(target, **params))
    assert one.still_present(world)
    with pytest.raises(ImpossibleTarget, match="already"):
        one.check(world)
    client, key = world.client("kubernetes-admin", "kubectl"), target.key_in(world.api, NAMESPACE)
    client.patch(*key, {"metadata": {"labels": {"touched": "yes"}}}, kind="merge")
    assert one.still_present(world)  # a label mends nothing
    client.patch(*key, undo, kind="merge")
    assert one.still_present(world) == ""


def test_what_was_deleted_is_missing_until_it_is_made_again() -> None:
    world, ref = ShopWorld(), ObjectRef(kind="Service", name="cart")
    one = done(world, change(ref, delete=True))
    assert one.still_present(world) == "Service/cart is still missing"
    restore(world, one.changed)
    assert one.still_present(world) == ""
    assert world.get("services", "cart")["spec"]["selector"] == {"app": "cart"}


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"set": {"spec.replicsa": 3}}, "unknown field"),
        ({"set": {"spec.replicas": -1}}, "greater than or equal to 0"),
        ({"patch": {"spec": {"replicas": "many"}}}, "cannot be handled"),
    ],
)
def test_what_the_api_server_would_refuse_is_refused_before(params: dict[str, Any], why: str) -> None:
    with pytest.raises(ImpossibleTarget, match=why):
        change(**params).check(ShopWorld())


def test_a_missing_object_is_answered_by_the_nearest() -> None:
    with pytest.raises(ImpossibleTarget, match="the nearest are cart"):
        change(ObjectRef(kind="Deployment", name="crat"), delete=True).check(ShopWorld())


def test_exactly_one_deed() -> None:
    with pytest.raises(ValueError, match="exactly one of create"):
        change(delete=True, scale=0)
    with pytest.raises(ValueError, match="exactly one of create"):
        change()


def test_changes_of_one_value_and_of_what_is_gone_contradict_each_other() -> None:
    scaled, replicas, gone = change(scale=0), change(set={"spec.replicas": 5}), change(delete=True)
    paused = change(set={"spec.paused": True})
    assert "one way only" in scaled.contradiction(replicas)
    assert "made or deleted" in gone.contradiction(paused)
    assert scaled.contradiction(paused) == ""


def test_values_are_computed_from_the_world_for_each_target() -> None:
    world = ShopWorld()
    params = {"set": {IMAGE: "${{ old }}-broken", "spec.replicas": "${{ nodes + 2 * replicas }}"}}
    found = computed(params, Scene(world, NAMESPACE, CART))["set"]
    live = world.get("deployments.apps", "cart")
    container = live["spec"]["template"]["spec"]["containers"][0]
    assert found == {
        f"spec.template.spec.containers[{container['name']}].image": f"{container['image']}-broken",
        "spec.replicas": len(world.api.store.objects("nodes")) + 2 * live["spec"]["replicas"],
    }
    with pytest.raises(ImpossibleTarget, match=r"has no spec\.template\.spec\.volumes"):
        computed({"set": {"spec.template.spec.volumes[*].name": "x"}}, Scene(world, NAMESPACE, CART))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("${{ nods }}", "did you mean nodes"),
        ("${{ __import__('os') }}", "is no expression|unknown name"),
        ("${{ 1 / 0 }}", "divided by zero"),
        ("${{ 2 ** 3 }}", "only"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        given({"a": text}, {})


def test_entries_of_lists_by_number_and_all() -> None:
    service = {"spec": {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]}}
    assert concrete(service, "spec.ports[*].port") == ["spec.ports[a].port", "spec.ports[b].port"]
    assert concrete(service, "spec.ports[1].port") == ["spec.ports[b].port"]
    assert concrete(service, "spec.ports[7].port") == []


SPEC = {
    "id": "x", "mechanism": "object_change", "family": "scheduling", "description": "d", "symptoms": ["s"],
    "inputs": {"times": {"default": 2, "min": 1, "unit": "times"}},
    "params": {"set": {"spec.replicas": "${{ times * replicas }}"}},
}  # fmt: skip


def test_inputs_have_defaults_and_bounds() -> None:
    spec = FaultSpec.model_validate(SPEC)
    assert spec.complete({"times": 3})["set"] == {"spec.replicas": "${{ 3 * replicas }}"}
    with pytest.raises(ValueError, match="0 is out of range; the nearest that fits is 1 times"):
        spec.complete({"times": 0})
    with pytest.raises(ValueError, match="say of which `family`"):
        FaultSpec.model_validate({**SPEC, "family": ""})
    assert registry.build(spec, CART, NAMESPACE, {}).family == "scheduling"


def test_several_targets_are_steps_of_their_own_and_patterns_are_chosen_in_the_world() -> None:
    world = ShopWorld()
    step = IncidentStep.model_validate(
        {"at": "1s", "fault": "missing_service", "targets": ["Service/c*", "Service/cart", "Service/geo"]}
    )
    assert not step.resolved
    steps = tuple(step.each(world, NAMESPACE))
    assert [one.target for one in steps] == [Aim(kind="Service", name="cart"), Aim(kind="Service", name="geo")]
    incident = Incident(world, NAMESPACE, steps)
    incident.start()
    world.run_for(2 * SECOND)
    assert [(str(fact.place), fact.path) for fact in incident.facts()] == [("Service/cart", ""), ("Service/geo", "")]
    assert len(incident.still_present()) == 2
    with pytest.raises(ImpossibleTarget, match="unknown Service"):
        Aim(kind="Service", name="zz*").resolve(world, NAMESPACE)
