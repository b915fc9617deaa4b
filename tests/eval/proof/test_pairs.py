from __future__ import annotations

import pytest

from simcluster.engine.content import UnknownName
from simcluster.eval.proof.pairs import OVER, Pair, check_pair, fits, sampled, task_of
from simcluster.faults import registry
from simcluster.faults.cases import case_of
from simcluster.faults.target import ObjectRef


def test_every_fault_is_tried_on_every_component_and_samples_have_every_fault_once_before_any_twice() -> None:
    found = {one.fault: one for one in fits("storefront")}
    assert list(found) == registry.ids()
    assert {str(pair.ref) for pair in found["missing_service"].pairs} >= {"Service/catalog", "Service/gateway"}
    assert [str(pair.ref) for pair in found["load_spike"].pairs] == ["Service/gateway"]
    wrong = found["wrong_env_address"].pairs  # each address of each program, at the port beside it
    assert {"variable": "CATALOG_ADDR", "value": "catalog:8081"} in [pair.params for pair in wrong]
    assert found["pvc_claim_mismatch"].pairs == ()
    assert "has no spec.template.spec.volumes[0]" in found["pvc_claim_mismatch"].why_not
    every = [pair for one in found.values() for pair in one.pairs]
    some = sampled(every, 3, 12)
    assert some == sampled(every, 3, 12) != sampled(every, 4, 12)
    assert len({pair.fault for pair in some}) == 12
    pair = next(pair for pair in every if pair.fault == "resource_request_too_large" and pair.ref.name == "catalog")
    task = task_of("storefront", pair)
    assert task.truth.ref == ObjectRef(kind="Deployment", name="catalog")
    assert (task.truth.family, task.reference_fixes, task.users.entry) == ("scheduling", (), "gateway")


@pytest.mark.parametrize(("fault", "kind"), [("load_spike", "Service"), ("noisy_neighbour", "Deployment")])
def test_what_is_over_by_itself_is_no_incident(fault: str, kind: str) -> None:
    case = case_of(fault)
    assert case is not None
    found = check_pair("storefront", Pair(fault, ObjectRef(kind=kind, name="gateway"), case.params))
    assert [(one.name, one.passed) for one in found.findings] == [(OVER, True)]
    assert "nothing of the incident lasts" in found.findings[0].why


def test_an_unknown_application_is_answered_by_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean storefront"):
        fits("storefrnt")
