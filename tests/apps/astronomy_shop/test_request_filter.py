"""A filter of requests before the shop: what its rule costs, who waits for it, and what ends that."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.process import Call
from simcluster.world import World
from tests.apps.astronomy_shop.test_astronomy_shop import NAMESPACE, container, kubectl

SET = "set env deployment/frontend-proxy"
IMAGE = "ghcr.io/open-telemetry/demo:2.2.0-request-filter"


@pytest.fixture(scope="module")
def filtered() -> World:
    """A shop whose proxy is a filter with a rule that costs the square of a text's length, and a tenth of a core."""
    world = World(3, workers=3)
    world.deploy(NAMESPACE, NAMESPACE)
    world.run_for(150 * SECOND)
    kubectl(world, f"{SET} WAF_RULE_ENABLED=true WAF_RULE_REGEX=^([a-zA-Z]+)*$ WAF_RULE_ID=v2")
    kubectl(world, "set resources deployment/frontend-proxy --limits=cpu=100m,memory=65Mi")
    kubectl(world, f"set image deployment/frontend-proxy frontend-proxy={IMAGE}")
    world.run_for(60 * SECOND)
    return world


@pytest.fixture
def shop(filtered: World) -> World:
    return filtered.fork()


def share(world: World, seconds: int = 60, queries: float = 20.0) -> float:
    """Of users who want pages while others send long queries."""
    if queries:
        world.traffic.add_users("scan", NAMESPACE, "frontend-proxy", 8080, rps=queries, mix={"query": 1.0})
    users = world.traffic.add_users("people", NAMESPACE, "frontend-proxy", 8080, rps=8.0)
    world.run_for(seconds * SECOND)
    seen = users.window(world.now - seconds * SECOND, world.now)
    return seen.succeeded / (seen.succeeded + seen.failed)


def test_it_hands_on_what_has_no_text_for_the_rule(shop: World) -> None:
    assert share(shop, queries=0.0) == 1.0
    answer = container(shop, "frontend-proxy").program.answer(Call("http", 8080, "/"))
    assert "Otel Demo - Home" in answer.body


def test_long_queries_take_all_its_cpu_and_nobody_else_is_served(shop: World) -> None:
    one = container(shop, "frontend-proxy")
    used, asleep = one.cpu_ns, one.throttled_ns
    assert share(shop, 90) < 0.05
    assert 0.04 * 90 * SECOND < one.cpu_ns - used < 0.101 * 90 * SECOND
    assert one.throttled_ns - asleep > 0.6 * 90 * SECOND
    assert "1/1" in kubectl(shop, "get pods -l opentelemetry.io/name=frontend-proxy")
    assert '"event":"request_filter_eval","rule":"v2","candidateLength":5001' in kubectl(
        shop, "logs deploy/frontend-proxy --tail=5"
    )


@pytest.mark.parametrize("setting", ["WAF_RULE_REGEX=^[A-Za-z]+$", "WAF_RULE_ENABLED=false"])
def test_a_safe_rule_or_none_serves_all(shop: World, setting: str) -> None:
    kubectl(shop, f"{SET} {setting}")
    shop.run_for(40 * SECOND)
    assert share(shop) == 1.0


def test_another_rule_of_the_kind_costs_as_much(shop: World) -> None:
    kubectl(shop, f"{SET} WAF_RULE_REGEX=^([a-z]+)+$")
    shop.run_for(40 * SECOND)
    assert share(shop) < 0.5


def test_what_is_no_rule_ends_it(shop: World) -> None:
    kubectl(shop, f"{SET} WAF_RULE_REGEX=^([a-z]+")
    shop.run_for(40 * SECOND)
    pods = kubectl(shop, "get pods -l opentelemetry.io/name=frontend-proxy")
    assert "CrashLoopBackOff" in pods or "Error" in pods
    crashed = next(line.split()[0] for line in pods.splitlines() if "0/1" in line)
    assert "in regex m/^([a-z]+/" in kubectl(shop, f"logs {crashed}")


def test_a_single_request_waits_for_its_own_text(shop: World) -> None:
    program = container(shop, "frontend-proxy").program
    short, long = (program.answer(Call("http", 8080, "/?waf=" + "a" * n + "!")) for n in (10, 5000))
    assert (short.status, short.body, long.status) == (200, "ok\n", 200)
    assert long.delay_ns > SECOND > short.delay_ns
