"""Hotel Reservation in a whole cluster: healthy, and under what operators and accidents do to it."""

from __future__ import annotations

import json

import pytest
import yaml

from simcluster.apps.hotel_reservation.traits import CONFIG, CONFIG_FILE
from simcluster.engine import SECOND, Snapshot
from simcluster.models.traffic.cluster.users import UserStats
from simcluster.world import World

NAMESPACE = "hotel-reservation"


def kubectl(world: World, command: str, stdin: str = "") -> str:
    result = world.kubectl(namespace=NAMESPACE).run(command, stdin)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def users(world: World, seconds: int) -> UserStats:
    return world.traffic.users[f"{NAMESPACE}/frontend"].window(world.now - seconds * SECOND, world.now)


def restarts(world: World, app: str) -> int:
    pods = json.loads(kubectl(world, f"get pods -l io.kompose.service={app} -o json"))["items"]
    return sum(status["restartCount"] for pod in pods for status in pod["status"]["containerStatuses"])


def calls(world: World, operation: str, seconds: int) -> int:
    edges = world.traffic.history.between(world.now - seconds * SECOND, world.now)
    return sum(edge.sent for edge in edges if edge.key.operation == operation)


def test_users_are_served(served: Snapshot[World]) -> None:
    world = served.restore()
    world.run_for(20 * SECOND)
    stats = users(world, 30)

    assert world.available(NAMESPACE)
    assert "hotel-reservation" in world.catalog.apps()
    assert stats.success_ratio > 0.999
    assert 4.0 < stats.latency_ms_p50 < 12.0 < stats.latency_ms_p99 < 40.0
    assert stats.sent == pytest.approx(3000, rel=0.1)
    searches = calls(world, "GetRates", 30)
    assert searches == pytest.approx(0.6 * stats.sent, rel=0.1)
    assert calls(world, "GetRecommendations", 30) == pytest.approx(0.39 * stats.sent, rel=0.1)
    assert calls(world, "find-rate", 30) == calls(world, "find-profile", 30) == 0  # the caches hold everything
    assert all(restarts(world, app) <= 2 for app in ("geo", "rate", "search", "frontend"))


def test_the_volumes_lie_on_the_disks_of_the_nodes(served: Snapshot[World]) -> None:
    world = served.restore()
    volumes = json.loads(kubectl(world, "get pv -o json"))["items"]
    claims = json.loads(kubectl(world, "get pvc -o json"))["items"]

    assert len(claims) == 6
    assert all(claim["status"]["phase"] == "Bound" for claim in claims)
    assert all(volume["spec"]["hostPath"]["path"].startswith("/") for volume in volumes)


def test_only_searches_fail_without_geo_and_come_back_with_it(served: Snapshot[World]) -> None:
    world = served.restore()
    kubectl(world, "scale deployment geo --replicas=0")
    world.run_for(40 * SECOND)  # who waited for a pod that was just gone has timed out by then
    without = users(world, 10)
    assert without.success_ratio == pytest.approx(0.4, abs=0.06)
    assert set(without.errors) == {"5xx"}

    kubectl(world, "scale deployment geo --replicas=1")
    world.run_for(15 * SECOND)
    assert users(world, 5).success_ratio == 1.0
    consul = kubectl(world, "exec deploy/frontend -- wget -qO- http://consul:8500/v1/catalog/service/srv-geo")
    assert len(json.loads(consul)) == 2  # nobody deregisters


def test_two_replicas_share_the_calls(served: Snapshot[World]) -> None:
    world = served.restore()
    kubectl(world, "scale deployment geo --replicas=2")
    world.run_for(15 * SECOND)
    shares = {}
    for edge in world.traffic.history.between(world.now - 5 * SECOND, world.now):
        if edge.key.operation == "Nearby" and edge.key.port == 8083:
            shares[edge.key.host] = shares.get(edge.key.host, 0) + edge.sent

    assert len(shares) == 2
    assert min(shares.values()) / sum(shares.values()) > 0.4
    assert users(world, 5).success_ratio == 1.0


def test_a_dead_cache_makes_its_service_panic_and_a_cold_one_asks_the_store(served: Snapshot[World]) -> None:
    world = served.restore()
    kubectl(world, "scale deployment memcached-rate --replicas=0")
    world.run_for(30 * SECOND)
    assert restarts(world, "rate") >= 1
    log = kubectl(world, "logs deploy/rate --previous")
    assert "PNC services/rate/server.go:221 > Memmcached error while trying to get hotel [id: [" in log
    assert "connect: connection refused" in log
    assert "panic: Memmcached error" in log

    kubectl(world, "scale deployment memcached-rate --replicas=1")
    world.run_for(90 * SECOND)
    assert calls(world, "find-rate", 90) > 20  # what the new cache lacked
    assert calls(world, "find-rate", 20) == 0
    assert users(world, 10).success_ratio == 1.0


def test_a_dead_store_is_missed_by_every_service_that_starts(served: Snapshot[World]) -> None:
    world = served.restore()
    kubectl(world, "scale deployment mongodb-rate --replicas=0")
    world.run_for(20 * SECOND)
    assert users(world, 10).success_ratio == 1.0  # the cache holds every rate

    kubectl(world, "rollout restart deployment rate")
    kubectl(world, "delete pod -l io.kompose.service=rate")
    world.run_for(45 * SECOND)
    assert users(world, 10).success_ratio == pytest.approx(0.4, abs=0.06)
    log = kubectl(world, "logs deploy/rate --previous")
    assert "PNC cmd/rate/db.go:27 > no reachable servers" in log
    assert "WRN services/search/server.go:245 > downstream request failed dependency=rate grpc_code=Unavailable" in (
        kubectl(world, "logs deploy/search")
    )

    kubectl(world, "scale deployment mongodb-rate --replicas=1")
    world.run_for(90 * SECOND)
    assert users(world, 10).success_ratio == 1.0


def test_a_deleted_claim_waits_for_its_pod_and_then_keeps_the_next_one_from_starting(served: Snapshot[World]) -> None:
    world = served.restore()
    kubectl(world, "delete pvc geo-pvc --wait=false")
    world.run_for(5 * SECOND)
    assert "Terminating" in kubectl(world, "get pvc geo-pvc")
    assert users(world, 5).success_ratio == 1.0

    kubectl(world, "delete pod -l io.kompose.service=mongodb-geo")
    world.run_for(30 * SECOND)
    assert 'persistentvolumeclaim "geo-pvc" not found' in kubectl(
        world, "describe pod -l io.kompose.service=mongodb-geo"
    )
    assert users(world, 10).success_ratio == 1.0  # geo has its index in memory


def test_a_configuration_without_the_store_address_crashes_geo(served: Snapshot[World]) -> None:
    world = served.restore()
    config = {key: value for key, value in CONFIG.items() if key != "GeoMongoAddress"}
    world.apply(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "geo-config"},
                "data": {"config.json": json.dumps(config)},
            }
        ),
        namespace=NAMESPACE,
    )
    mount = [{"name": "config", "mountPath": CONFIG_FILE, "subPath": "config.json"}]
    spec = {
        "containers": [{"name": "hotel-reserv-geo", "volumeMounts": mount}],
        "volumes": [{"name": "config", "configMap": {"name": "geo-config"}}],
    }
    kubectl(world, f"patch deployment geo -p '{json.dumps({'spec': {'template': {'spec': spec}}})}'")
    world.run_for(60 * SECOND)
    pods = json.loads(kubectl(world, "get pods -l io.kompose.service=geo -o json"))["items"]
    crashed = [pod["metadata"]["name"] for pod in pods if pod["status"]["containerStatuses"][0]["restartCount"]]

    assert crashed
    log = kubectl(world, f"logs {crashed[0]} --previous")
    assert "cmd/geo/main.go:36 > Read database URL:\n" in log
    assert "PNC cmd/geo/db.go:26 > no reachable servers" in log


def test_a_wrong_port_in_the_image_is_logged(served: Snapshot[World]) -> None:
    world = served.restore()
    kubectl(world, "set image deployment/geo hotel-reserv-geo=yinfangchen/geo:app3")
    world.run_for(120 * SECOND)
    pods = json.loads(kubectl(world, "get pods -l io.kompose.service=geo -o json"))["items"]
    crashed = [pod["metadata"]["name"] for pod in pods if pod["status"]["containerStatuses"][0]["restartCount"]]

    assert "Read database URL: mongodb-geo:27777" in kubectl(world, f"logs {crashed[0]} --previous")


def test_the_wrong_program_leaves_its_service_without_instances(served: Snapshot[World]) -> None:
    world = served.restore()
    command = [{"op": "replace", "path": "/spec/template/spec/containers/0/command", "value": ["geo"]}]
    kubectl(world, f"patch deployment profile --type=json -p '{json.dumps(command)}'")
    world.run_for(40 * SECOND)

    assert "cmd/geo/main.go:23 > Reading config..." in kubectl(world, "logs deploy/profile")
    assert users(world, 10).success_ratio < 0.05  # searches and recommendations need profiles
    assert "SearchHandler GetProfiles failed" in kubectl(world, "logs deploy/frontend")


def test_without_consul_those_who_know_each_other_go_on(served: Snapshot[World]) -> None:
    world = served.restore()
    kubectl(world, "scale deployment consul --replicas=0")
    world.run_for(20 * SECOND)
    assert users(world, 10).success_ratio == 1.0
    assert "grpc/lb/consul: error retrieving instances from Consul" in kubectl(world, "logs deploy/search --tail=5")

    kubectl(world, "delete pod -l io.kompose.service=user")
    world.run_for(30 * SECOND)
    log = kubectl(world, "logs deploy/user --previous")
    assert 'failed register: Put "http://consul:8500/v1/agent/service/register": dial tcp 10.96.' in log

    kubectl(world, "scale deployment consul --replicas=1")
    world.run_for(90 * SECOND)
    assert users(world, 10).success_ratio > 0.98  # the waiting queries have not come back yet
    world.run_for(300 * SECOND)
    assert users(world, 10).success_ratio < 0.05  # the new agent knows nobody but user
    kubectl(world, "rollout restart deployment geo rate profile recommendation reservation search frontend")
    world.run_for(60 * SECOND)
    assert users(world, 10).success_ratio > 0.99


def test_the_limiter_and_the_retries_collapse_after_a_spike(served: Snapshot[World]) -> None:
    world = served.restore()
    load = world.traffic.users[f"{NAMESPACE}/frontend"]
    load.mix, load.rps = (("search", 1.0),), 8.0
    kubectl(world, "set env deployment/rate RATE_BACKEND_QPS_LIMIT=20 RATE_QUEUE_CAPACITY=256")
    kubectl(
        world,
        "set env deployment/search RATE_RPC_TIMEOUT_MS=750 RATE_RPC_MAX_ATTEMPTS=3 RATE_RPC_INITIAL_BACKOFF_MS=50",
    )
    world.traffic.rewire()
    world.run_for(60 * SECOND)
    assert users(world, 20).success_ratio > 0.99

    load.rps = 40.0
    world.run_for(10 * SECOND)
    load.rps = 8.0
    world.run_for(60 * SECOND)
    collapsed = users(world, 20)
    assert collapsed.success_ratio < 0.1
    assert calls(world, "GetRates", 20) / collapsed.sent == pytest.approx(3.0, abs=0.3)
    metrics = kubectl(world, "exec deploy/frontend -- wget -qO- http://rate:9091/metrics")
    assert "rate_queue_capacity 256" in metrics
    assert int(metrics.partition("rate_queue_depth ")[2].split()[0]) > 200


def test_pages_say_what_they_want(served: Snapshot[World]) -> None:
    world = served.restore()
    wget = "exec deploy/consul -- curl -s"
    assert kubectl(world, f"{wget} http://frontend:5000/hotels") == "Please specify inDate/outDate params\n"
    query = "inDate=2015-04-09&outDate=2015-04-10&lat=38.0235&lon=-122.095"
    page = json.loads(kubectl(world, f"{wget} 'http://frontend:5000/hotels?{query}'"))
    assert page["type"] == "FeatureCollection"
    assert page["features"]
    missing = f"{wget} -o /dev/null -w '%{{http_code}}' http://frontend:5000/nothing"
    assert kubectl(world, missing) == "404"


def test_a_copy_lives_the_same_future(served: Snapshot[World]) -> None:
    world = served.restore()
    copy = world.fork()
    for each in (world, copy):
        kubectl(each, "scale deployment memcached-profile --replicas=0")
        each.run_for(30 * SECOND)

    assert users(world, 30) == users(copy, 30)
    assert kubectl(world, "logs deploy/profile --previous") == kubectl(copy, "logs deploy/profile --previous")


MONGO = "exec deploy/mongodb-{db} -- mongo admin -u root -p root --authenticationDatabase admin --quiet --eval"


def has_users(world: World) -> bool:
    """Whether the catalog's document store knows users."""
    for machine in world.machines.values():
        for container in machine.containers():
            if container.spec.image == "mongo:4.4.6":
                return hasattr(container.program, "login")
    return False


def test_a_dropped_user_keeps_geo_from_starting(served: Snapshot[World]) -> None:
    world = served.restore()
    if not has_users(world):
        pytest.skip("the catalog has no document store with users")
    kubectl(world, MONGO.format(db="geo") + " \"db.dropUser('admin')\"")
    world.run_for(10 * SECOND)
    assert users(world, 5).success_ratio == 1.0  # geo asks its store only when it starts

    kubectl(world, "delete pod -l io.kompose.service=geo")
    world.run_for(30 * SECOND)
    assert users(world, 10).success_ratio == pytest.approx(0.4, abs=0.06)
    log = kubectl(world, "logs deploy/geo --previous")
    assert "PNC cmd/geo/db.go:26 > server returned error on SASL authentication step: Authentication failed." in log
    assert "UserNotFound" in kubectl(world, "logs deploy/mongodb-geo") or "Authentication failed" in kubectl(
        world, "logs deploy/mongodb-geo"
    )

    created = "db.createUser({user: 'admin', pwd: 'admin', roles: [{role: 'readWrite', db: 'geo-db'}]})"
    kubectl(world, MONGO.format(db="geo") + f' "{created}"')
    world.run_for(120 * SECOND)
    assert users(world, 10).success_ratio == 1.0


def test_a_revoked_role_is_not_authorized(served: Snapshot[World]) -> None:
    world = served.restore()
    if not has_users(world):
        pytest.skip("the catalog has no document store with users")
    revoked = "db.revokeRolesFromUser('admin', [{role: 'readWrite', db: 'rate-db'}])"
    kubectl(world, MONGO.format(db="rate") + f' "{revoked}"')
    kubectl(world, "delete pod -l io.kompose.service=rate")
    world.run_for(30 * SECOND)

    assert "not authorized on rate-db to execute command" in kubectl(world, "logs deploy/rate --previous")
    assert users(world, 10).success_ratio == pytest.approx(0.4, abs=0.06)
