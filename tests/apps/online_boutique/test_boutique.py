"""Online Boutique: healthy ranges of a recorded cluster, failures as that cluster worded them."""

from __future__ import annotations

import cProfile
import json
import pstats

import pytest
import yaml

from simcluster.engine import SECOND, Snapshot, fork
from simcluster.testing.recordings import beside_checkout
from tests.clusters.boutique import boutique_manifests, place_boutique, place_deployment
from tests.clusters.handmade import HandmadeCluster

#: Requests per request of the frontend in the recorded cluster (medians of rps, 26.98 at the frontend).
RATIOS = {
    "adservice": 11.96,
    "cartservice": 27.13,
    "checkoutservice": 3.02,
    "currencyservice": 87.36,
    "emailservice": 2.96,
    "paymentservice": 3.04,
    "productcatalogservice": 124.11,
    "recommendationservice": 16.62,
    "shippingservice": 12.09,
}
#: Recorded medians: CPU in cores, working set in MiB.
CPU = {
    "adservice": 0.036,
    "cartservice": 0.019,
    "checkoutservice": 0.007,
    "currencyservice": 0.041,
    "emailservice": 0.003,
    "frontend": 0.073,
    "paymentservice": 0.004,
    "productcatalogservice": 0.029,
    "recommendationservice": 0.028,
    "redis-cart": 0.005,
    "shippingservice": 0.004,
}
MEMORY = {
    "adservice": 82,
    "cartservice": 45,
    "checkoutservice": 8,
    "currencyservice": 29,
    "emailservice": 43,
    "frontend": 13,
    "paymentservice": 15,
    "productcatalogservice": 9,
    "recommendationservice": 42,
    "redis-cart": 8,
    "shippingservice": 7,
}


def boutique(seconds: float = 60, rps: float = 27) -> HandmadeCluster:
    cluster = HandmadeCluster(1)
    place_boutique(cluster)
    cluster.run(15)
    cluster.traffic.add_users("users", "boutique", "frontend", rps=rps)
    cluster.run(seconds)
    return cluster


@pytest.fixture(scope="module")
def healthy() -> Snapshot[HandmadeCluster]:
    return Snapshot(boutique(200))


def test_every_service_gets_its_share_of_requests(healthy: Snapshot[HandmadeCluster]) -> None:
    cluster = healthy.restore()
    sent: dict[str, int] = {}
    ended: dict[object, int] = {}
    for edge in cluster.traffic.history.between(0, cluster.sim.now):
        sent[edge.key.host] = sent.get(edge.key.host, 0) + edge.sent
        ended[edge.key] = ended.get(edge.key, 0) + edge.ok - edge.sent
        assert not edge.errors
    assert sum(ended.values()) == -sum(cluster.traffic.accounts.open.tolist())

    for service, rps in RATIOS.items():
        assert sent[service] / sent["frontend"] == pytest.approx(rps / 26.98, rel=0.08), service


def test_cpu_and_memory_are_those_of_the_recorded_cluster(healthy: Snapshot[HandmadeCluster]) -> None:
    cluster = healthy.restore()
    before = {name: cluster.container(name).cpu_ns for name in CPU}
    cluster.run(100)

    for name, cores in CPU.items():
        container = cluster.container(name)
        assert (container.cpu_ns - before[name]) / (100 * SECOND) == pytest.approx(cores, rel=0.15, abs=0.001), name
        assert container.memory_bytes / (1 << 20) == pytest.approx(MEMORY[name], abs=1.0), name


def test_latencies_are_those_of_the_recorded_cluster(healthy: Snapshot[HandmadeCluster]) -> None:
    cluster = healthy.restore()
    by_service: dict[str, list] = {}
    for edge in cluster.traffic.history.between(0, cluster.sim.now):
        by_service.setdefault(edge.key.host, []).append(edge)
    summary = {name: cluster.traffic.history.summary(edges) for name, edges in by_service.items()}

    assert 14.0 < summary["frontend"].latency_ms_p50 < 17.5  # recorded: 15.8
    assert 27.0 < summary["frontend"].latency_ms_p95 < 43.2
    assert 16.0 < summary["checkoutservice"].latency_ms_p50 < 18.5  # recorded: 17.4
    for name in ("currencyservice", "productcatalogservice", "shippingservice"):
        assert summary[name].latency_ms_p50 < 0.5  # first bucket of the recorded histogram
    for name in ("adservice", "emailservice", "paymentservice", "recommendationservice", "cartservice"):
        assert 1.0 < summary[name].latency_ms_p50 < 5.0  # second bucket


def errors_logged(cluster: HandmadeCluster, pod: str, seconds: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in cluster.container(pod).log.read(since_ns=cluster.sim.now - seconds * SECOND):
        entry = json.loads(line.text)
        text = entry.get("error") or (entry["message"] if entry["severity"] == "warning" else "")
        if text:
            found[text] = found.get(text, 0) + 1
    return found


def test_a_service_without_endpoints_is_refused_in_the_words_of_go(healthy: Snapshot[HandmadeCluster]) -> None:
    cluster = healthy.restore()
    address = cluster.service("cartservice", 7070, (), namespace="boutique")
    cluster.run(10)
    dial = f"dial tcp {address}:7070: connect: connection refused"
    dial = f'connection error: desc = "transport: Error while dialing: {dial}"'

    errors = errors_logged(cluster, "frontend", 8)

    assert errors.keys() == {
        f"could not retrieve cart: rpc error: code = Unavailable desc = {dial}",
        f"failed to add to cart: rpc error: code = Unavailable desc = {dial}",
        "failed to complete the order: rpc error: code = Internal desc = cart failure: failed to get user cart "
        f"during checkout: rpc error: code = Unavailable desc = {dial}",
    }
    users = cluster.traffic.users["boutique/users"].window(cluster.sim.now - 8 * SECOND, cluster.sim.now)
    assert users.errors.keys() == {"5xx"}
    assert 0.8 < users.failed / users.sent < 0.97  # only changing the currency needs no cart


def test_payments_that_fail_break_orders_only(healthy: Snapshot[HandmadeCluster]) -> None:
    cluster = healthy.restore()
    address = cluster.service("paymentservice", 50051, (), namespace="boutique")
    cluster.run(30)

    assert errors_logged(cluster, "frontend", 25).keys() == {
        "failed to complete the order: rpc error: code = Internal desc = failed to charge card: could not charge the "
        'card: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial '
        f'tcp {address}:50051: connect: connection refused"'
    }
    users = cluster.traffic.users["boutique/users"].window(cluster.sim.now - 25 * SECOND, cluster.sim.now)
    assert users.failed / users.sent == pytest.approx(0.112, abs=0.05)


def test_what_is_not_essential_degrades_with_a_warning(healthy: Snapshot[HandmadeCluster]) -> None:
    cluster = healthy.restore()
    for name, port in (("adservice", 9555), ("emailservice", 5000)):
        cluster.service(name, port, (), namespace="boutique")
    cluster.run(20)

    users = cluster.traffic.users["boutique/users"].window(cluster.sim.now - 15 * SECOND, cluster.sim.now)
    assert users.failed == 0
    assert all(text.startswith("failed to get ads: ") for text in errors_logged(cluster, "frontend", 15))
    assert all(
        text.startswith('failed to send order confirmation to "')
        for text in errors_logged(cluster, "checkoutservice", 15)
    )
    assert errors_logged(cluster, "checkoutservice", 15)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("productcatalogservices:3550", "dial tcp: lookup productcatalogservices on 10.96.0.10:53: no such host"),
        ("productcatalogservice:3551", "dial tcp {address}:3551: connect: connection refused"),
    ],
)
def test_a_wrong_address_in_the_environment(healthy: Snapshot[HandmadeCluster], value: str, reason: str) -> None:
    cluster = healthy.restore()
    cluster.remove("frontend")
    deployment = next(
        d for d in boutique_manifests() if d["kind"] == "Deployment" and d["metadata"]["name"] == "frontend"
    )
    env = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    next(e for e in env if e["name"] == "PRODUCT_CATALOG_SERVICE_ADDR")["value"] = value
    place_deployment(cluster, deployment, "n1")
    cluster.run(3)
    cluster.service("frontend", 80, ("frontend",), 8080, namespace="boutique")
    cluster.run(10)
    address = cluster.network.lookup("productcatalogservice", "boutique")

    texts = errors_logged(cluster, "frontend", 8)

    transport = f'connection error: desc = "transport: Error while dialing: {reason.format(address=address)}"'
    assert f"could not retrieve products: rpc error: code = Unavailable desc = {transport}" in texts


def test_without_redis_carts_wait_five_seconds_and_fail(healthy: Snapshot[HandmadeCluster]) -> None:
    cluster = healthy.restore()
    cluster.service("redis-cart", 6379, (), namespace="boutique")
    cluster.run(20)

    edges = list(cluster.traffic.history.between(cluster.sim.now - 5 * SECOND, cluster.sim.now))
    to_cart = [e for e in edges if e.key.host == "cartservice"]
    assert {kind for e in to_cart for kind in e.errors} == {"5xx"}
    assert not any(e.ok for e in to_cart)
    lines = [line.text for line in cluster.container("cartservice").log.read(tail=4)]
    assert lines[0] == "fail: Grpc.AspNetCore.Server.ServerCallHandler[7]"
    assert "UnableToConnect on redis-cart:6379/Interactive" in lines[1]


def test_a_cpu_limit_far_too_low_makes_the_shop_unusable(healthy: Snapshot[HandmadeCluster]) -> None:
    cluster = healthy.restore()
    cluster.remove("currencyservice")
    cluster.pod(
        "currencyservice",
        "us-central1-docker.pkg.dev/google-samples/microservices-demo/currencyservice:v0.10.3",
        env={"PORT": "7000"},
        cpu_limit=0.02,
    )
    cluster.run(20)
    assert not cluster.pods["currencyservice"].listens_on(7000)  # .9 s of work take 45 s
    cluster.run(30)
    assert cluster.pods["currencyservice"].listens_on(7000)
    cluster.service("currencyservice", 7000, ("currencyservice",), namespace="boutique")
    cluster.run(60)

    users = cluster.traffic.users["boutique/users"].window(cluster.sim.now - 30 * SECOND, cluster.sim.now)
    assert users.ok < 0.4 * users.sent


def test_the_recorded_manifests_live_the_same_way() -> None:
    folder = beside_checkout()
    if folder is None:
        pytest.skip("the recorded manifests are not here")
    documents = []
    for path in sorted((folder / "data/online-boutique").glob("*.yaml")):
        documents += list(yaml.safe_load_all(path.read_text()))
    cluster = HandmadeCluster(1)
    place_boutique(cluster, documents)
    cluster.run(15)
    users = cluster.traffic.add_users("users", "boutique", "frontend", rps=27)
    cluster.run(30)

    stats = users.window(cluster.sim.now - 30 * SECOND, cluster.sim.now)

    assert stats.sent > 600
    assert stats.failed == 0


def test_our_manifests_say_what_the_recorded_ones_say() -> None:
    folder = beside_checkout()
    if folder is None:
        pytest.skip("the recorded manifests are not here")
    ours = {(d["kind"], d["metadata"]["name"]): d for d in boutique_manifests()}
    for path in sorted((folder / "data/online-boutique").glob("*.yaml")):
        for theirs in yaml.safe_load_all(path.read_text()):
            mine = ours.pop((theirs["kind"], theirs["metadata"]["name"]))
            if theirs["kind"] == "Deployment":
                assert _essence(mine) == _essence(theirs)
            elif theirs["kind"] == "Service":
                assert mine["spec"] == theirs["spec"]
    assert ours == {}


def _essence(deployment: dict) -> dict:
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    kept = ("name", "image", "env", "resources", "readinessProbe", "livenessProbe")
    return {**{key: container.get(key) for key in kept}, "ports": [p["containerPort"] for p in container["ports"]]}


def test_cost_does_not_depend_on_the_request_rate() -> None:
    calls = []
    for rps in (27, 2700):
        cluster = HandmadeCluster(1)
        place_boutique(cluster)
        for name in cluster.pods:
            container = cluster.container(name)
            object.__setattr__(container.spec, "cpu_limit", None)
        cluster.run(15)
        cluster.traffic.add_users("users", "boutique", "frontend", rps=rps)
        cluster.run(60)
        profile = cProfile.Profile()
        profile.enable()
        cluster.run(20)
        profile.disable()
        calls.append(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]

    assert calls[1] < 1.5 * calls[0]


def test_a_fork_has_the_same_future_and_the_world_stays_small(healthy: Snapshot[HandmadeCluster]) -> None:
    cluster = healthy.restore()
    twin = fork(cluster)
    for shop in (cluster, twin):
        shop.service("adservice", 9555, (), namespace="boutique")
        shop.run(15)

    now = cluster.sim.now
    assert list(cluster.traffic.history.between(0, now)) == list(twin.traffic.history.between(0, now))
    for name in cluster.pods:
        assert cluster.container(name).log.read(tail=50) == twin.container(name).log.read(tail=50)
        assert cluster.container(name).cpu_ns == twin.container(name).cpu_ns
    assert Snapshot(cluster).size_bytes < 200_000
