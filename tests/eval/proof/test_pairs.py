from __future__ import annotations

import pytest

from simcluster.engine.content import UnknownName
from simcluster.eval.proof.pairs import fits, sampled, task_of
from simcluster.faults import registry
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


def test_an_unknown_application_is_answered_by_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean storefront"):
        fits("storefrnt")
