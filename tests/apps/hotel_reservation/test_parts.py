"""The parts of Hotel Reservation's programs by themselves: variables, caches, discovery, pages, the registry."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcluster.apps import hotel_reservation
from simcluster.apps.hotel_reservation import pages, wiring
from simcluster.apps.hotel_reservation.stores import credentials_of
from simcluster.apps.hotel_reservation.traits import CONFIG, TRAITS, config_of
from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.apps.folder import load_behaviour
from simcluster.models.apps.instances import environment_of, spread
from simcluster.models.apps.stores.aside import Cached, Warmth, missed
from simcluster.models.traffic.cluster.operations import ServiceSpec
from tests.clusters.handmade import HandmadeCluster
from tests.clusters.storebench import StoreBench

FILE = Path(hotel_reservation.__path__[0]) / "behaviour.yaml"
IMAGE = "ghcr.io/sregym/hotel-reservation:latest"


def spec_of(name: str) -> ServiceSpec:
    images = load_behaviour(FILE).images
    return next(image for image in images if image.name == name).service()


def test_every_program_is_described() -> None:
    described = {image.program for image in load_behaviour(FILE).images if image.logic}
    assert described == {*TRAITS, "consul"}
    assert len(CONFIG) == 20
    for traits in TRAITS.values():
        assert {key for key in (traits.port, traits.mongo, traits.memcached) if key} <= CONFIG.keys()


def test_the_limiter_follows_its_variables() -> None:
    paced = wiring.paced(spec_of("rate"), {"RATE_BACKEND_QPS_LIMIT": "50", "RATE_QUEUE_CAPACITY": "nonsense"})
    assert paced.workers == 1
    assert paced.queue == wiring.QUEUE
    assert paced.operations[0].latency_ns == pytest.approx(SECOND // 50, rel=0.06)


def test_retries_follow_their_variables() -> None:
    names = {"RATE_RPC_TIMEOUT_MS": "1000", "RATE_RPC_MAX_ATTEMPTS": "2", "RATE_RPC_BACKOFF_MULTIPLIER": "1.5"}
    call = wiring.retrying(spec_of("search"), names).operations[0].steps[1][0]
    assert (call.timeout_ns, call.retries) == (SECOND, 1)
    assert call.policy is not None
    assert call.policy.retries is not None
    assert call.policy.retries.backoff is not None
    assert (call.policy.retries.backoff.base, call.policy.retries.backoff.factor) == (50 * MILLISECOND, 1.5)
    defaults = wiring.retrying(spec_of("search"), {}).operations[0].steps[1][0]
    assert (defaults.timeout_ns, defaults.retries) == (750 * MILLISECOND, 2)


def test_calls_are_spread_over_instances() -> None:
    spec = spread(spec_of("search"), {"srv-geo": 3, "srv-rate": 1})
    calls = [call for step in spec.operations[0].steps for call in step]
    assert [call.env for call in calls] == ["srv-geo", "srv-geo#2", "srv-geo#3", "srv-rate"]
    assert [call.count for call in calls] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1.0])
    places = {"srv-geo": (("10.244.1.2", 8083), ("10.244.2.2", 8083)), "srv-rate": ()}
    assert environment_of(places) == {
        "srv-geo": "10.244.1.2:8083",
        "srv-geo#2": "10.244.2.2:8083",
        "srv-rate": "",
    }


def test_a_full_cache_needs_no_store() -> None:
    def asked(share: float) -> list[float]:
        spec = missed(spec_of("rate"), {"RateMongoAddress": ("find",)}, share)
        return [call.count for step in spec.operations[0].steps for call in step]

    assert asked(1.0) == [1.0, 5.0]
    assert asked(0.1) == [1.0, 0.5]
    assert asked(0.0) == [1.0]


def test_a_cache_belongs_to_its_own_process_and_not_to_who_asks_it() -> None:
    made = StoreBench()
    for name in ("first", "second", "other"):
        image = "redis:8.2.1" if name == "other" else "memcached:1.6.7"
        made.run_pod(name, image)
    made.run(5)
    first, second, other = (made.container(name) for name in ("first", "second", "other"))
    warmth = Warmth(Cached(80, 5), "rate")
    assert warmth.follow(first, 10.0)
    assert warmth.missing == pytest.approx((1 - 5 / 80) ** 10)
    restarted = Warmth(Cached(80, 5), "rate")  # the program starts anew and finds what it left
    assert restarted.follow(first, 0.0)
    assert restarted.missing == warmth.missing
    assert Warmth(Cached(80, 5), "reserve").follow(first, 500.0)
    assert not restarted.follow(first, 0.0)  # others' keys are others'
    assert warmth.follow(first, 500.0)
    assert warmth.missing == 0.0
    assert not warmth.follow(first, 500.0)
    assert warmth.follow(second, 0.0)
    assert warmth.missing == 1.0
    assert not warmth.follow(other, 500.0)  # which does not speak memcached's protocol


@pytest.mark.parametrize(
    ("address", "host", "port", "user"),
    [
        ("mongodb-geo:27017", "mongodb-geo", 27017, "admin"),
        ("mongodb://other:secret@mongodb-geo", "mongodb-geo", 27017, "other"),
        ("", "", 27017, "admin"),
    ],
)
def test_addresses_of_stores(address: str, host: str, port: int, user: str) -> None:
    found = credentials_of(address, "admin", "admin")
    assert (found.host, found.port, found.user) == (host, port, user)


def test_one_image_has_a_wrong_port_inside() -> None:
    assert config_of(IMAGE) == CONFIG
    assert config_of("docker.io/yinfangchen/geo:app3")["GeoMongoAddress"] == "mongodb-geo:27777"


def test_pages_want_their_parameters() -> None:
    assert pages.complaint("/hotels?inDate=2015-04-09") == "Please specify inDate/outDate params\n"
    assert pages.complaint("/recommendations?lat=1&lon=2") == "Please specify require params\n"
    assert pages.complaint("/recommendations?lat=1&lon=2&require=dis") == ""
    assert json.loads(pages.body("/recommendations", 7))["type"] == "FeatureCollection"
    assert json.loads(pages.body("/user", 7)) == {"message": "Login successfully!"}


def handmade() -> HandmadeCluster:
    """Consul, Jaeger and a store without users, placed by hand."""
    cluster = HandmadeCluster(1)
    for name, image, port in (
        ("consul", "hashicorp/consul:1.22.3", 8500),
        ("mongodb-recommendation", "mongo:4.4.6", 27017),
        ("jaeger", "jaegertracing/all-in-one:latest", 6831),
    ):
        cluster.pod(name, image, ports=(port,))
        cluster.service(name, port, (name,))
    cluster.run(20)
    return cluster


def text_of(cluster: HandmadeCluster, pod: str) -> str:
    return "\n".join(line.text for line in cluster.container(pod).log.read())


def test_a_service_starts_registers_and_serves_from_memory() -> None:
    cluster = handmade()
    service = cluster.pod("one", IMAGE, command=("recommendation",))
    cluster.run(5)

    assert service.running
    assert service.program.listens_on(8085)
    assert "Successfully registered in consul" in text_of(cluster, "one")
    services = cluster.container("consul").program.services
    assert [(each.address, each.port) for each in services["srv-recommendation"]] == [(service.sandbox.address, 8085)]
    assert "Synced service: service=" in text_of(cluster, "consul")


def test_without_its_store_a_service_panics_after_ten_seconds() -> None:
    cluster = handmade()
    cluster.remove("mongodb-recommendation")
    service = cluster.pod("one", IMAGE, command=("recommendation",))
    cluster.run(9)
    assert service.running
    cluster.run(3)

    assert (service.state, service.exit_code) == ("exited", 2)
    assert "PNC cmd/recommendation/db.go:26 > no reachable servers\npanic: no reachable servers" in text_of(
        cluster, "one"
    )


def test_without_consul_a_service_exits_and_the_front_end_goes_on() -> None:
    cluster = handmade()
    cluster.remove("consul")
    cluster.service("consul", 8500, ())
    service = cluster.pod("one", IMAGE, command=("recommendation",))
    front = cluster.pod("front-1", IMAGE, command=("frontend",))
    cluster.run(6)

    assert (service.state, service.exit_code) == ("exited", 1)
    assert (
        'FTL cmd/recommendation/main.go:80 > failed register: Put "http://consul:8500/v1/agent/service/register"'
        in text_of(cluster, "one")
    )
    assert front.running
    assert "grpc/lb/consul: error retrieving instances from Consul" in text_of(cluster, "front-1")


def test_a_latent_page_fails_only_with_its_flag() -> None:
    cluster = handmade()
    cluster.pod("front-1", IMAGE, command=("frontend",), env={"SEARCH_BACKEND_VERSION": "true"})
    cluster.run(2)
    cluster.service("frontend", 5000, ("front-1",))
    load = cluster.traffic.add_users("users", "shop", "frontend", rps=20, mix={"search": 1.0})
    cluster.run(5)

    assert load.window(0, cluster.sim.now).ok == 0
    assert "ERR services/frontend/server.go:151 > hotel search failed" in text_of(cluster, "front-1")
