"""Facts: paths of objects, what is on the record of an incident, and that nobody has to write it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from simcluster.engine import SECOND, fork
from simcluster.faults import registry
from simcluster.faults.facts import ChangedFact, Place, differing, leaves, put_at, value_at
from simcluster.faults.families import cause_families, meanings
from simcluster.faults.incident import Incident
from simcluster.faults.restore import restore
from simcluster.faults.steps import Aim, IncidentStep
from simcluster.faults.survey import changes, net, survey, value_of
from tests.clusters.shop import NAMESPACE, ShopWorld

PLACE = Place("Deployment", NAMESPACE, "cart")
OBJECT: dict[str, Any] = {
    "metadata": {"labels": {"app.kubernetes.io/name": "cart"}},
    "spec": {
        "replicas": 2,
        "containers": [
            {"name": "server", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "args": ["-v", "2"]},
            {"name": "side", "ports": [{"containerPort": 80}]},
        ],
        "empty": {},
    },
}


def test_every_leaf_is_found_at_its_path() -> None:
    found = dict(leaves(OBJECT))
    assert found["spec.containers[server].env[B].value"] == "2"
    assert found["metadata.labels[app.kubernetes.io/name]"] == "cart"
    assert {path: value_at(OBJECT, path) for path in found} == found


def test_a_difference_leads_from_one_object_to_the_other_and_back() -> None:
    other = copy.deepcopy(OBJECT)
    other["spec"]["containers"][0]["env"] = [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]
    other["spec"]["containers"][0]["args"] = ["-q"]
    other["metadata"]["labels"]["tier"] = "back"
    facts = differing(PLACE, dict(leaves(OBJECT)), dict(leaves(other)))
    here, back = copy.deepcopy(OBJECT), copy.deepcopy(other)
    for fact in facts:
        put_at(here, fact.path, fact.after)
        put_at(back, fact.path, fact.before)
    assert dict(leaves(here)) == dict(leaves(other))
    assert dict(leaves(back)) == dict(leaves(OBJECT))


def step(fault: str, at: str, name: str, **params: Any) -> IncidentStep:
    kind = registry.mechanisms()[registry.load(fault).mechanism].kinds[0]
    return IncidentStep.model_validate(
        {"fault": fault, "at": at, "target": {"kind": kind, "name": name}, "params": params}
    )


def test_an_incident_records_what_its_faults_change_and_a_fork_keeps_the_record() -> None:
    world = ShopWorld()
    steps = (
        step("service_selector_mismatch", "10s", "cart", label="version", value="v2"),
        step("wrong_env_address", "20s", "cart", variable="GEO_ADDR", value="geo:8081"),
        IncidentStep.model_validate({"at": "5s", "replace_pods": "geo"}),
        IncidentStep.model_validate(
            {"fault": "kubelet_stopped", "at": "30s", "target": {"kind": "Node", "name": "worker-1"}}
        ),
    )
    incident = Incident(world, NAMESPACE, steps)
    before = survey(world)
    incident.start()
    world.run_for(11 * SECOND)
    service = Place("Service", NAMESPACE, "cart")
    assert incident.facts() == (ChangedFact(service, "spec.selector.version", None, "v2"),)
    other_world, other = fork((world, incident))
    other_world.run_for(30 * SECOND)
    places = [(str(fact.place), fact.before, fact.after) for fact in other.facts()[1:]]
    assert places == [("Deployment/cart", "geo:8080", "geo:8081"), ("Node/worker-1 unit/kubelet", True, False)]
    assert len(incident.facts()) == 1
    restore(other_world, other.facts()[:2])
    after = [fact.place.part for fact in changes(before, survey(other_world))]
    assert after == ["unit/kubelet"]
    assert value_of(other_world, service, "spec.selector.version") is None


def test_what_is_undone_within_the_incident_is_no_net_change() -> None:
    one = ChangedFact(PLACE, "spec.replicas", 2, 0)
    other = ChangedFact(PLACE, "spec.replicas", 0, 2)
    assert net([(one,), (other,)]) == ()
    assert net([(one,), (ChangedFact(PLACE, "spec.replicas", 0, 1),)]) == (ChangedFact(PLACE, "spec.replicas", 2, 1),)


def test_users_that_come_more_often_are_on_the_record_although_that_begins_a_moment_later() -> None:
    world = ShopWorld()
    target = Aim(kind="Service", name="frontend")
    params = {"factor": 2.0, "lasts": "5s"}
    spike = IncidentStep.model_validate({"fault": "load_spike", "at": "1s", "target": target, "params": params})
    incident = Incident(world, NAMESPACE, (spike,))
    incident.start()
    world.run_for(2 * SECOND)
    assert [(fact.before, fact.after) for fact in incident.facts()] == [(10.0, 20.0)]


@pytest.mark.parametrize("name", registry.mechanisms())
def test_every_mechanism_has_a_whole_data_sheet(name: str) -> None:
    mechanism = registry.mechanisms()[name]
    sheet = mechanism.sheet
    assert not sheet.family or sheet.family in meanings()  # the fault says it
    assert all((sheet.changes, sheet.follows.endswith("."), sheet.undone_by, sheet.source))
    assert set(sheet.units) <= set(mechanism.Params.model_fields)


def test_every_fault_is_of_one_published_family() -> None:
    listed = [fault for family in cause_families() for fault in family.faults]
    assert sorted(listed) == registry.ids()
    assert {one.id: one.layers for one in cause_families()}["retry_storm"] == ("configuration",)
