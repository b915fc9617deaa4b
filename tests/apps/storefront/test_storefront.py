"""Storefront: settings by variables, what its programs say of themselves, and how cold they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.apps import storefront
from simcluster.models.apps.behaviour import Behaviour
from simcluster.models.apps.folder import load_behaviour
from simcluster.models.apps.settings import WrongSetting, configured
from simcluster.models.traffic.graph.service import Call
from tests.clusters.handmade import HandmadeCluster

FILE = Path(storefront.__path__[0]) / "behaviour.yaml"
ENV = {"INVENTORY_ADDR": "inventory:8080"}


def program(name: str) -> Behaviour:
    return next(image for image in load_behaviour(FILE).images if image.name == name)


def call(environment: dict[str, str]) -> Call:
    found = configured(program("catalog"), environment).asked[0].steps[1].call
    assert found is not None
    return found


def test_without_variables_nothing_is_changed() -> None:
    catalog = program("catalog")

    assert configured(catalog, ENV) is catalog
    assert call(ENV).attempts == 4


def test_variables_set_time_out_attempts_and_back_off() -> None:
    found = call({"INVENTORY_TIMEOUT": "250ms", "INVENTORY_ATTEMPTS": "7", "INVENTORY_BACKOFF": "10ms"})

    assert (found.timeout, found.attempts) == (250_000_000, 7)
    assert found.retries is not None
    assert found.retries.backoff is not None
    assert (found.retries.backoff.base, found.retries.backoff.factor) == (10_000_000, 2.0)


def test_a_budget_and_a_breaker_are_there_when_they_are_asked_for() -> None:
    on = call({"INVENTORY_RETRY_BUDGET": "0.1", "INVENTORY_BREAKER": "0.5"})
    off = call({"INVENTORY_RETRY_BUDGET": "off", "INVENTORY_BREAKER": "off"})

    assert on.retries is not None
    assert on.retries.budget is not None
    assert (on.retries.budget.per_call, on.retries.budget.tokens) == (0.1, 10)
    assert on.breaker is not None
    assert (on.breaker.failure_ratio, on.breaker.open_for) == (0.5, 2_000_000_000)
    assert off.retries is not None
    assert off.retries.budget is None
    assert off.breaker is None


def test_a_variable_sets_a_key_of_the_program() -> None:
    assert configured(program("inventory"), {"QUEUE_LIMIT": "20"}).queue.bound == 20
    assert configured(program("catalog"), {"MAX_IN_FLIGHT": "64"}).workers == 64


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("INVENTORY_ATTEMPTS", "0"),
        ("INVENTORY_ATTEMPTS", "many"),
        ("INVENTORY_TIMEOUT", "-1s"),
        ("INVENTORY_BREAKER", "2"),
    ],
)
def test_a_value_of_no_use_is_refused_by_name(variable: str, value: str) -> None:
    with pytest.raises(WrongSetting, match=variable):
        call({variable: value})


def test_a_program_with_a_wrong_value_ends_and_says_why() -> None:
    cluster = HandmadeCluster(0)
    cluster.pod("catalog-0", "registry.example.com/storefront/catalog:v2.3.1", env={**ENV, "INVENTORY_ATTEMPTS": "x"})
    cluster.run(2)
    container = cluster.container("catalog-0")

    assert not container.running
    assert any('INVENTORY_ATTEMPTS: invalid value "x"' in line.text for line in container.log.read())


def test_the_catalog_tells_how_often_it_had_to_ask() -> None:
    cluster = HandmadeCluster(0)
    for name in ("catalog", "inventory"):
        cluster.service(name, 8080, ())
    cluster.pod("inventory-0", "registry.example.com/storefront/inventory:v5.0.3", env={})
    cluster.pod("catalog-0", "registry.example.com/storefront/catalog:v2.3.1", env=ENV)
    for name in ("catalog", "inventory"):
        cluster.service(name, 8080, (f"{name}-0",))
    cluster.run(10)
    cluster.traffic.add_users("people", "shop", "catalog", rps=10)
    cluster.run(20)
    reports = [line.text for line in cluster.container("catalog-0").log.read() if "attempts_per_request" in line.text]

    assert reports
    assert "upstream=inventory:8080" in reports[-1]
    assert "attempts_per_request=1.0" in reports[-1] or "attempts_per_request=0.9" in reports[-1]


def test_the_inventory_is_slow_at_first() -> None:
    inventory = program("inventory")

    assert inventory.cold().service().operations[0].cpu_ns == 2.5 * inventory.service().operations[0].cpu_ns
    assert program("gateway").cold() is program("gateway")


def test_the_inventory_gets_warm() -> None:
    cluster = HandmadeCluster(0)
    cluster.pod("inventory-0", "registry.example.com/storefront/inventory:v5.0.3", env={})
    cluster.run(10)
    costs = []
    for seconds in (0, 45):
        cluster.run(seconds)
        server = next(iter(cluster.traffic.servers.values()))
        costs.append(server.spec.operations[0].cpu_ns)

    assert costs == [25_000_000, 10_000_000]
