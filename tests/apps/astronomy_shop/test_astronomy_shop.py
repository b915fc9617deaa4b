"""Astronomy Shop: what its feature flags change, what its orders go through, and what it waits for at its start."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from simcluster.apps.registry import applications
from simcluster.engine import SECOND
from simcluster.models.apps.flags.flagd import FlagdProgram
from simcluster.models.machine.container import Container
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.process import Call
from simcluster.world import UserLoad, World

NAMESPACE = "astronomy-shop"
KAFKA = "/opt/kafka/bin/kafka-consumer-groups.sh --bootstrap-server localhost:9092"


@pytest.fixture(scope="module")
def healthy() -> World:
    world = World(3, workers=3)
    world.deploy(NAMESPACE, NAMESPACE)
    world.run_for(180 * SECOND)
    return world


@pytest.fixture
def shop(healthy: World) -> World:
    return healthy.fork()


def kubectl(world: World, command: str) -> str:
    result = world.kubectl().run(f"-n {NAMESPACE} {command}")
    return result.stdout + result.stderr


def container(world: World, workload: str, name: str = "") -> Container:
    for machine in world.machines.values():
        for one in machine.runtime.containers() if isinstance(machine, Machine) else ():
            known = one.spec.pod_name.startswith(f"{workload}-") and one.spec.name == (name or workload)
            if known and one.running and one.spec.namespace == NAMESPACE:
                return one
    raise LookupError(workload)


def switch(world: World, flag: str, variant: str) -> None:
    """On the page of the flags, whose file flagd watches."""
    text = kubectl(world, "get configmap flagd-config -o jsonpath={.data}")
    flags = json.loads(json.loads(text)["demo.flagd.json"])
    flags["flags"][flag]["defaultVariant"] = variant
    page = container(world, "flagd", "flagd-ui")
    answer = page.program.answer(
        Call("http", 4000, "/feature/api/write", method="POST", body=json.dumps({"data": flags}))
    )
    assert answer.status == 200
    world.run_for(3 * SECOND)


def asked(world: World, operation: str, seconds: int = 30, rps: float = 20.0) -> UserLoad:
    """Users who want one thing, for a while."""
    users = world.traffic.add_users(operation, NAMESPACE, "frontend-proxy", 8080, rps=rps, mix={operation: 1.0})
    world.run_for(seconds * SECOND)
    return users


def share(world: World, operation: str, seconds: int = 30) -> float:
    since = world.now
    seen = asked(world, operation, seconds, 5.0 if operation == "ask-assistant" else 20.0).window(since, world.now)
    return seen.succeeded / (seen.succeeded + seen.failed)


def lag(world: World, group: str) -> int:
    rows = kubectl(world, f"exec deploy/kafka -- {KAFKA} --describe --group {group}").splitlines()
    return int(next(row for row in rows if row.startswith(group)).split()[5])


def test_users_of_its_own_buy_and_orders_are_accounted_for(shop: World) -> None:
    users = shop.add_users(NAMESPACE, "frontend-proxy", 8.0)
    since = shop.now
    shop.run_for(60 * SECOND)
    seen = users.window(since, shop.now)
    assert seen.failed == 0 < seen.succeeded
    assert 5.0 < seen.mean_ms < 60.0
    own = next(load for name, load in shop.traffic.users.items() if "locust" in name).window(since, shop.now)
    assert own.failed == 0 < own.succeeded
    assert "Order details" in kubectl(shop, "logs deploy/accounting --tail=1")
    assert lag(shop, "accounting") <= 5
    assert (
        kubectl(shop, "logs deploy/checkout")
        == 'Defaulted container "checkout" out of: checkout, wait-for-kafka (init)\n'
    )


@pytest.mark.parametrize(
    ("flag", "variant", "operation", "low", "high"),
    [
        ("adFailure", "on", "ads", 0.83, 0.96),
        ("paymentFailure", "50%", "checkout", 0.4, 0.6),
        ("paymentUnreachable", "on", "checkout", 0.0, 0.0),
        ("productCatalogFailure", "on", "products", 0.84, 0.96),
        ("cartFailure", "on", "checkout", 1.0, 1.0),
        ("cartFailure", "on", "empty-cart", 0.0, 0.0),
        ("llmRateLimitError", "on", "ask-assistant", 1.0, 1.0),
        ("imageSlowLoad", "10sec", "image", 0.0, 0.6),
    ],
)
def test_a_flag_changes_what_its_program_answers(
    shop: World, flag: str, variant: str, operation: str, low: float, high: float
) -> None:
    switch(shop, flag, variant)
    assert low <= share(shop, operation) <= high
    switch(shop, flag, "off")
    shop.run_for(15 * SECOND)
    shop.traffic.remove_users(shop.traffic.users[f"{NAMESPACE}/{operation}"])
    assert share(shop, operation, 10) == 1.0


def test_failures_are_worded_by_those_who_meet_them(shop: World) -> None:
    switch(shop, "paymentUnreachable", "on")
    asked(shop, "checkout", 5)
    said = kubectl(shop, "logs deploy/frontend --tail=5")
    assert "Error: 13 INTERNAL: failed to charge card: could not charge the card: rpc error: code = Unavailable" in said
    switch(shop, "paymentUnreachable", "off")
    switch(shop, "paymentFailure", "100%")
    asked(shop, "checkout-2", 0)
    shop.run_for(5 * SECOND)
    assert '"message":"Payment request failed. Invalid token.' in kubectl(shop, "logs deploy/payment --tail=1")


def test_threads_spin_until_a_request_sees_that_they_should_not(shop: World) -> None:
    before = container(shop, "ad").cpu_ns
    switch(shop, "adHighCpu", "on")
    asked(shop, "ads", 20)
    assert container(shop, "ad").cpu_ns - before > 30 * SECOND
    assert "High CPU-Load problempattern enabled" in kubectl(shop, "logs deploy/ad --tail=10")


def test_requests_wait_while_the_heap_is_collected(shop: World) -> None:
    switch(shop, "adManualGc", "on")
    since = shop.now
    seen = asked(shop, "ads", 40).window(since, shop.now)
    assert seen.quantile_ms(0.99) > 1000.0 > seen.quantile_ms(0.5)
    assert "The artificially triggered GCs took: 1980 ms" in kubectl(shop, "logs deploy/ad --tail=400")


@pytest.mark.parametrize(
    ("flag", "variant", "workload", "operation"),
    [
        ("emailMemoryLeak", "1000x", "email", "checkout"),
        ("recommendationCacheFailure", "on", "recommendation", "recommendations"),
    ],
)
def test_memory_grows_until_the_kernel_takes_the_process(
    shop: World, flag: str, variant: str, workload: str, operation: str
) -> None:
    switch(shop, flag, variant)
    asked(shop, operation, 25, rps=10.0)
    assert "OOMKilled" in kubectl(shop, f"get pods -l opentelemetry.io/name={workload} -o yaml")


def test_a_consumer_that_sleeps_falls_behind_and_catches_up(shop: World) -> None:
    switch(shop, "kafkaQueueProblems", "on")
    shop.run_for(60 * SECOND)
    behind = lag(shop, "fraud-detection")
    assert behind > 300
    assert lag(shop, "accounting") < behind // 3
    switch(shop, "kafkaQueueProblems", "off")
    shop.run_for(20 * SECOND)
    assert lag(shop, "fraud-detection") < 20


def test_the_load_generator_floods_the_home_page(shop: World) -> None:
    switch(shop, "loadGeneratorFloodHomepage", "on")
    own = next(load for name, load in shop.traffic.users.items() if "locust" in name)
    since = shop.now
    shop.run_for(30 * SECOND)
    assert own.window(since, shop.now).sent > 10 * 30
    kubectl(shop, "scale deploy/load-generator --replicas=0")
    shop.run_for(40 * SECOND)
    assert not any("locust" in name for name in shop.traffic.users)


def test_the_health_service_of_the_cart_has_a_switch(shop: World) -> None:
    probe = {"grpc": {"port": 8080}, "periodSeconds": 5, "failureThreshold": 2}
    cart = {"spec": {"template": {"spec": {"containers": [{"name": "cart", "readinessProbe": probe}]}}}}
    kubectl(shop, f"patch deploy cart -p '{json.dumps(cart)}'")
    shop.run_for(40 * SECOND)
    assert "1/1" in kubectl(shop, "get deploy cart")
    switch(shop, "failedReadinessProbe", "on")
    shop.run_for(15 * SECOND)
    assert "0/1" in kubectl(shop, "get deploy cart")


def test_an_edited_configmap_reaches_flagd_with_its_next_pod(shop: World) -> None:
    flagd = container(shop, "flagd").program
    assert isinstance(flagd, FlagdProgram)
    text = kubectl(shop, "get configmap flagd-config -o yaml").replace(
        '"defaultVariant": "off"', '"defaultVariant": "on"', 1
    )
    assert "replaced" in shop.kubectl().run(f"-n {NAMESPACE} replace -f -", text).stdout
    shop.run_for(120 * SECOND)
    assert flagd.flags["llmInaccurateResponse"] is False
    kubectl(shop, "rollout restart deploy/flagd")
    shop.run_for(40 * SECOND)
    anew = container(shop, "flagd").program
    assert isinstance(anew, FlagdProgram)
    assert anew.flags["llmInaccurateResponse"] is True


def test_flagd_answers_and_keeps_what_it_has_when_the_file_is_wrong(shop: World) -> None:
    there = container(shop, "flagd")
    flagd, page = there.program, container(shop, "flagd", "flagd-ui").program
    answer = flagd.answer(Call("http", 8016, "/ofrep/v1/evaluate/flags/paymentFailure", method="POST"))
    assert json.loads(answer.body) == {
        "value": 0,
        "key": "paymentFailure",
        "reason": "STATIC",
        "variant": "off",
        "metadata": {},
    }
    assert flagd.answer(Call("http", 8016, "/ofrep/v1/evaluate/flags/none")).status == 404
    body = '{"flagKey": "adFailure"}'
    answer = flagd.answer(Call("http", 8013, "/flagd.evaluation.v1.Service/ResolveBoolean", method="POST", body=body))
    assert json.loads(answer.body)["value"] is False
    assert page.answer(Call("http", 4000, "/api/write", method="POST", body='{"data": {"flags": 1}}')).status == 200
    shop.run_for(2 * SECOND)
    assert "invalid flag configuration" in kubectl(shop, "logs deploy/flagd -c flagd --tail=1")
    assert flagd.answer(Call("http", 8016, "/ofrep/v1/evaluate/flags/adFailure")).status == 200


def test_without_flagd_the_defaults_hold(shop: World) -> None:
    switch(shop, "paymentUnreachable", "on")
    kubectl(shop, "scale deploy/flagd --replicas=0")
    shop.run_for(40 * SECOND)
    assert share(shop, "checkout", 10) == 1.0


def test_the_catalogue_ends_without_its_database_and_the_cart_tries_for_long(shop: World) -> None:
    kubectl(shop, "scale deploy/postgresql deploy/valkey-cart --replicas=0")
    kubectl(shop, "rollout restart deploy/product-catalog")
    kubectl(shop, "set env deploy/cart A=b")
    shop.run_for(60 * SECOND)
    assert "CrashLoopBackOff" in kubectl(shop, "get pods -l opentelemetry.io/name=product-catalog")
    assert "Init:0/1" in kubectl(shop, "get pods -l opentelemetry.io/name=cart")
    said = kubectl(shop, "logs deploy/product-reviews --tail=20")
    assert "Receive GetProductReviews for product id" in said


def test_products_are_shown_and_the_proxy_answers_for_others(shop: World) -> None:
    proxy = container(shop, "frontend-proxy").program
    ask: Callable[[str], str] = lambda path: proxy.answer(Call("http", 8080, path)).body  # noqa: E731
    assert "Otel Demo - Home" in ask("/")
    assert "OLJCESPC7Z" in ask("/api/products")
    assert '"Roof Binoculars"' in ask("/api/products/2ZYFJ3GM2N")
    assert "FlagdUi" in ask("/feature")
    kubectl(shop, "scale deploy/frontend --replicas=0")
    shop.run_for(20 * SECOND)
    answer = proxy.answer(Call("http", 8080, "/"))
    assert (answer.status, answer.body) == (503, "no healthy upstream")


def test_every_workload_is_described() -> None:
    found = next(folder.behaviour for folder in applications() if folder.behaviour.application == NAMESPACE)
    assert len(found.services) == 22  # the request filter is deployed by a task
