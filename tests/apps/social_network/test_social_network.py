"""Social Network: what its programs wait for at their start, who suffers when one is gone, and in which words."""

from __future__ import annotations

import re

import pytest

from simcluster.engine import SECOND
from simcluster.models.apps.nativewording import CLIENTS, words
from simcluster.models.traffic.cluster.causes import KINDS, Cause
from simcluster.world import UserLoad, World

NAMESPACE = "social-network"


@pytest.fixture(scope="module")
def healthy() -> World:
    world = World(3, workers=3)
    world.deploy(NAMESPACE, NAMESPACE)
    world.run_for(40 * SECOND)
    return world


@pytest.fixture
def network(healthy: World) -> tuple[World, UserLoad]:
    world = healthy.fork()
    return world, world.add_users(NAMESPACE, "nginx-thrift", 100.0)


def kubectl(world: World, command: str) -> str:
    return world.kubectl().run(f"-n {NAMESPACE} {command}").stdout


def share(world: World, users: UserLoad, seconds: int = 60) -> float:
    since = world.now
    world.run_for(seconds * SECOND)
    seen = users.window(since, world.now)
    return seen.succeeded / (seen.succeeded + seen.failed)


def test_users_are_served_and_the_log_is_quiet(network: tuple[World, UserLoad]) -> None:
    world, users = network
    assert share(world, users) == 1.0
    seen = users.window(world.now - 60 * SECOND, world.now)
    assert 1.0 < seen.mean_ms < 5.0
    assert "Starting the user-service server ..." in kubectl(world, "logs deploy/user-service")
    assert kubectl(world, "logs deploy/nginx-thrift -c nginx-thrift") == ""


def test_only_posts_need_the_user_service(network: tuple[World, UserLoad]) -> None:
    world, users = network
    kubectl(world, "scale deploy user-service --replicas=0")
    world.run_for(20 * SECOND)
    assert share(world, users) == pytest.approx(0.9, abs=0.02)  # posts are a tenth
    said = kubectl(world, "logs deploy/compose-post-service --tail=1")
    assert said.endswith("<error>: (ClientPool.h:111:Pop) Failed to connect user-service-client\n")
    gateway = kubectl(world, "logs deploy/nginx-thrift -c nginx-thrift --tail=1")
    assert "ComposePost(): compost_post failure: connect() failed: Connection refused" in gateway


def test_a_service_waits_for_its_store_and_for_the_agent_of_traces(network: tuple[World, UserLoad]) -> None:
    world, _ = network
    kubectl(world, "scale deploy user-mongodb --replicas=0")
    kubectl(world, "delete svc jaeger")
    world.run_for(40 * SECOND)
    kubectl(world, "rollout restart deploy user-service text-service")
    world.run_for(30 * SECOND)
    for name in ("user-service", "text-service"):  # both need the agent; the index is made after that
        assert "Failed to connect to jaeger, retrying ..." in kubectl(world, f"logs deploy/{name} --tail=1")
    kubectl(world, "expose deploy jaeger --port=6831 --protocol=UDP")
    world.run_for(45 * SECOND)
    assert "Starting the text-service server" in kubectl(world, "logs deploy/text-service")
    said = kubectl(world, "logs deploy/user-service --tail=2")
    assert "[connection refused calling ismaster on 'user-mongodb:27017']" in said
    assert "Failed to create mongodb index, try again" in said
    kubectl(world, "scale deploy user-mongodb --replicas=1")
    world.run_for(40 * SECOND)
    assert "Starting the user-service server" in kubectl(world, "logs deploy/user-service --tail=1")


def test_without_its_files_and_without_a_name_server_programs_exit(network: tuple[World, UserLoad]) -> None:
    world, _ = network
    kubectl(world, 'patch configmap media-service --type=merge -p \'{"data":{"service-config.json":"{"}}\'')
    world.kubectl().run("-n kube-system delete svc kube-dns")
    world.run_for(30 * SECOND)
    kubectl(world, "delete pod -l service=media-service")
    kubectl(world, "delete pod -l service=nginx-thrift")
    world.run_for(60 * SECOND)
    assert "terminate called after throwing" in kubectl(world, "logs -l service=media-service -p")
    init = kubectl(world, "logs -l service=nginx-thrift -c alpine-container -p")
    assert "Could not resolve host: github.com" in init


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_has_words_for_every_cause(client: str) -> None:
    said = {kind: words(client, Cause(kind, "user-mongodb", 27017)) for kind in KINDS}
    assert all(text and not re.search(r"\{(?!time)\w+\}", text) for text in said.values()), said
