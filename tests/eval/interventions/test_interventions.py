"""Claims judged by intervening, on real incidents: what was changed, what set it going, and what nobody changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from simcluster import tasks
from simcluster.eval.interventions import Court, diagnosed
from simcluster.eval.interventions.claim import court_of
from simcluster.eval.interventions.grade import truths_of
from simcluster.eval.interventions.named import covers
from simcluster.eval.interventions.victims import victims
from simcluster.eval.interventions.worlds import set_right
from simcluster.eval.judge import Claim, ClaimVerdict
from simcluster.faults.facts import ChangedFact, Place

SELECTOR = "wrong_service_selector_online_boutique"
SPIKE = "metastable_load_spike_storefront"
INVENTORY = [f"{kind}/{name}service" for kind in ("Deployment", "Service") for name in ("cart", "checkout", "email")]
INVENTORY += ["Deployment/frontend", "Service/frontend", "Node/worker-1"]
ATTEMPTS = "spec.template.spec.containers[server].env[INVENTORY_ATTEMPTS].value"


@pytest.fixture(scope="module")
def selector() -> Court:
    return court_of(SELECTOR, 3)


@pytest.fixture(scope="module")
def spike() -> Court:
    return court_of(SPIKE, 3)


def seen(verdict: ClaimVerdict) -> tuple[bool, bool, bool | None, bool | None]:
    return verdict.localization, verdict.family, verdict.but_for, verdict.in_place


@pytest.mark.parametrize("where", ["spec.selector.version", "selector", ".spec.selector"])
def test_what_was_changed_is_a_cause(selector: Court, where: str) -> None:
    verdict = selector.judge(Claim("service/cartservice", "service_selector", where, ("v2",)))
    assert verdict.passed, verdict.explain()
    assert seen(verdict) == (True, True, True, True)
    assert [fact.after for fact in verdict.facts] == ["v2"]
    assert verdict.to_dict()["passed"] is True


@pytest.mark.parametrize(
    ("claim", "earned"),
    [
        (Claim("service/cartservice", "service_selector"), (True, False, None, None)),  # it does not say where
        (Claim("service/cartservice", "service_port", "spec.ports"), (True, False, None, None)),
        (Claim("service/cartservice", "service_port", "spec.selector"), (True, False, None, None)),
        (Claim("service/frontend", "service_selector", "spec.selector"), (False, False, None, None)),
        (Claim("deployment/frontend", "cpu_limit", "resources.limits.cpu"), (False, False, None, None)),
        (Claim("service/cartservice", "service_selector", "selector", ("v3",)), (True, True, None, None)),
    ],
)
def test_what_nobody_changed_is_none(
    selector: Court, claim: Claim, earned: tuple[bool, bool, bool | None, bool | None]
) -> None:
    verdict = selector.judge(claim)
    assert seen(verdict) == earned, verdict.explain()
    assert not verdict.passed


def test_a_trigger_that_is_over_is_no_cause_and_what_sustains_the_incident_is(spike: Court) -> None:
    trigger = spike.judge(Claim("service/gateway", "load", "load"))
    assert seen(trigger) == (True, True, True, False), trigger.explain()
    assert "it is so already" in trigger.explain()
    weakness = spike.judge(Claim("deployment/catalog", "retry_storm", ATTEMPTS, ("4",)))
    assert weakness.passed, weakness.explain()


CLAIM = {"component": "service/cartservice", "family": "service_selector", "where": "spec.selector", "values": ["v2"]}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (CLAIM, "right"),
        (json.dumps(CLAIM), "right"),
        (CLAIM | {"scope": ["cartservice", "frontend", "checkoutservice"]}, "right"),  # who calls it, listed with it
        (CLAIM | {"scope": ["cartservice", "emailservice"]}, "wrong"),
        (CLAIM | {"where": ""}, "wrong"),  # without a path the place alone is earned
        (CLAIM | {"where": "spec.ports"}, "wrong"),
        ({"claims": [CLAIM, {"component": "deployment/frontend", "family": "crash", "where": "image"}]}, "wrong"),
        ("The selector of Service cartservice has version=v2, which no pod carries.", "right"),
        ("Service cartservice selects version=v2; frontend and checkoutservice are victims.", "right"),
        ("Users see errors; cartservice, frontend and checkoutservice fail.", "unclear"),
        ("The CPU limit of Deployment cartservice is too low.", "wrong"),
        ("", "wrong"),
        (None, "wrong"),
    ],
)
def test_a_diagnosis_is_graded_by_what_it_names(selector: Court, answer: Any, outcome: str) -> None:
    verdict = diagnosed(answer, selector.paged, INVENTORY)
    assert verdict.outcome == outcome, verdict.explain()
    assert verdict.passed is (outcome == "right")
    replayed = verdict.claims is not None and verdict.claims.but_for is not None
    assert replayed is verdict.passed or "emailservice" in str(answer)


def test_a_weakness_may_be_named_and_a_trigger_that_is_over_may_not(spike: Court) -> None:
    inventory = [f"Deployment/{name}" for name in ("gateway", "catalog", "inventory", "reviews")]
    text = "Deployment catalog retries far too often: INVENTORY_ATTEMPTS=4 keeps the storm going."
    verdict = diagnosed(text, spike.paged, inventory)
    assert verdict.passed, verdict.explain()
    trigger = {"component": "service/gateway", "family": "load", "where": "load"}
    assert not diagnosed(trigger, spike.paged, inventory).passed
    task = spike.paged.task
    assert [one.component for one in truths_of(task)] == [one.component for one in task.sustained_by]


def test_victims_are_who_calls_transitively(selector: Court, spike: Court) -> None:
    def suffer(court: Court, name: str, family: str) -> list[str]:
        return sorted(victims(court.paged.world.restore(), court.paged.task.namespace, [name], family))

    assert suffer(selector, "cartservice", "service_selector") == ["checkoutservice", "frontend"]
    assert suffer(selector, "currencyservice", "cpu_limit") == ["checkoutservice", "frontend"]
    assert "frontend" in suffer(selector, "worker-1", "overheating")
    assert suffer(spike, "catalog", "retry_storm") == ["gateway", "inventory"]  # and whom it floods
    assert suffer(spike, "inventory", "cpu_limit") == ["catalog", "gateway"]


@pytest.mark.slow(first="online_boutique")
@pytest.mark.parametrize("task_id", tasks.ids())
def test_a_claim_made_from_the_record_passes(task_id: str) -> None:
    court = court_of(task_id, 3)
    meant = [one for one in court.causes if one.step < 0] or [
        one for one in court.causes if one.fact.place.kind != "Load"
    ]
    last = max(meant, key=lambda one: (one.family == court.paged.task.truth.family, one.fact.place.kind != "Image"))
    same = [one for one in meant if one.family == last.family]  # several faults of one kind are named together
    verdict = court.judge(*(Claim(one.fact.place.component, one.family, one.fact.where) for one in same))
    assert verdict.passed, verdict.explain()


@pytest.mark.parametrize(
    ("where", "part", "path", "whether"),
    [
        ("/dev/sda", "disk/sda", "slow", True),
        ("sdb", "disk/sda", "slow", False),
        ("kubelet.service", "unit/kubelet", "active", True),
        ("net.netfilter.nf_conntrack_max", "sysctl", "net.netfilter.nf_conntrack_max", True),
        ("nf_conntrack_max", "sysctl", "net.netfilter.nf_conntrack_max", True),
        ("net.core.somaxconn", "sysctl", "net.netfilter.nf_conntrack_max", False),
        ("eth0", "nic/eth0", "loss", True),
        ("fan FAN1", "fan/FAN1", "airflow", True),
        ("clock drift", "clock", "drift_ppm", True),
        ("/etc/chrony/chrony.conf", "file", "/etc/chrony/chrony.conf", True),
        ("server", "", "spec.template.spec.containers[server].image", False),
        ("image tag", "", "spec.template.spec.containers[server].image", True),
        ("container server image", "", "spec.template.spec.containers[server].image", True),
        ("env var CART_ADDR", "", "spec.template.spec.containers[server].env[CART_ADDR].value", True),
        ("cpu limit", "", "spec.template.spec.containers[server].resources.limits.cpu", True),
        ("memory limit", "", "spec.template.spec.containers[server].resources.limits.cpu", False),
    ],
)
def test_places_as_people_write_them(where: str, part: str, path: str, whether: bool) -> None:
    assert covers(where, ChangedFact(Place("Node", "", "worker-1", part), path, 0, 1)) is whether


@pytest.mark.parametrize(("where", "whether"), [("spec.hard.memory", True), ("missing", True), ("spec.ports", False)])
def test_an_object_that_is_new_is_named_by_itself_and_by_what_is_in_it(where: str, whether: bool) -> None:
    quota = Place("ResourceQuota", "shop", "small")
    assert covers(where, ChangedFact(quota, "", None, {"spec": {"hard": {"memory": "1Gi"}}})) is whether


def test_what_a_quota_kept_from_being_made_anew_is_made_once_it_is_gone(tmp_path: Path) -> None:
    steps = [{"at": "60s", "fault": "namespace_storage_quota_exceeded", "target": "ResourceQuota/storage-quota",
              "params": {"claim": "redis-cart-pvc"}}]  # fmt: skip
    task = {**tasks.load(SELECTOR).model_dump(mode="json", by_alias=True, exclude_defaults=True), "id": "storage"}
    task |= {"incident": steps, "reference_fixes": [], "exempt": [], "known_as": {}, "suites": [], "bystanders": False}
    task |= {"ticket": {"after": "90s", "text": "Carts fail."}, "age": "0s"}
    task |= {"accepted_when": [{"check": "users_succeed", "args": {"entry": "frontend", "ratio": 0.99, "for": "60s"}}]}
    task["reference_diagnoses"] = {"right": ["A quota."], "plausible_but_wrong": ["Nothing."]}
    (tmp_path / "storage.yaml").write_text(yaml.safe_dump(task))
    court = court_of(str(tmp_path / "storage.yaml"), 0)
    quota = [cause for cause in court.causes if cause.fact.place.kind == "ResourceQuota"]
    assert court.in_place(quota)[0]
    world = court.paged.world.restore()
    claim = court._missing(world)
    assert [str(one.place) for one in claim] == ["PersistentVolumeClaim/redis-cart-pvc"]
    assert "exceeded quota" in set_right(world, claim)


def test_a_password_that_is_set_back_is_met_by_those_who_come() -> None:
    court = court_of("secret_rotation_astronomy_shop", 0)
    by_place = {cause.fact.place.kind: cause for cause in court.causes}
    assert court.in_place([by_place["Deployment"]])[0]  # the pods have the password of before
    assert not court.in_place([by_place["Secret"]])[0]
