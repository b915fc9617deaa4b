"""Server processes: start, probes, SIGTERM, environment, undescribed images, the catalog."""

from __future__ import annotations

import re

import pytest

from simcluster.apps.registry import applications
from simcluster.engine import MILLISECOND, SECOND, fork
from simcluster.models.machine.imagereference import repository_of
from simcluster.models.machine.process import Call, StartFailure
from simcluster.models.machine.shell.container import ShellProgram
from tests.clusters.handmade import HandmadeCluster

DEMO = "us-central1-docker.pkg.dev/google-samples/microservices-demo/"
ANY = "registry.example.com/team/thing:1.0"


def test_start_up_takes_longer_under_a_low_cpu_limit() -> None:
    cluster = HandmadeCluster()
    for name, limit in (("fast", 1.0), ("slow", 0.1)):
        cluster.pod(name, DEMO + "paymentservice:v0.10.3", env={"PORT": "50051"}, cpu_limit=limit)
    cluster.run(1.5)
    assert [cluster.pods[n].listens_on(50051) for n in ("fast", "slow")] == [True, False]
    cluster.run(8)
    assert not cluster.pods["slow"].listens_on(50051)
    cluster.run(3)

    assert cluster.pods["slow"].listens_on(50051)
    assert cluster.container("slow").cpu_ns == pytest.approx(1.1 * SECOND, rel=0.02)


def test_probes_are_answered_according_to_what_the_program_speaks() -> None:
    cluster = HandmadeCluster()
    container = cluster.pod("catalog", DEMO + "productcatalogservice:v0.10.3", env={"PORT": "3550"})
    program = container.program

    assert program.answer(Call("grpc", 3550)).outcome == "refused"
    cluster.run(2)
    assert program.answer(Call("grpc", 3550)).status == 200
    assert program.answer(Call("grpc", 3551)).outcome == "refused"
    assert program.answer(Call("tcp", 3550)).outcome == "ok"
    assert program.answer(Call("http", 3550)).status == 0  # HTTP/2 frames, no HTTP/1 status
    assert program.answer(Call("grpc", 3550)).delay_ns < 10 * MILLISECOND


def test_http_paths_of_a_described_program() -> None:
    cluster = HandmadeCluster()
    env = {
        f"{name}_ADDR": "nowhere:1"
        for name in (
            *("PRODUCT_CATALOG_SERVICE", "CURRENCY_SERVICE", "CART_SERVICE", "RECOMMENDATION_SERVICE"),
            *("CHECKOUT_SERVICE", "SHIPPING_SERVICE", "AD_SERVICE", "SHOPPING_ASSISTANT_SERVICE"),
        )
    }
    program = cluster.pod("front", DEMO + "frontend:v0.10.3", env={"PORT": "8080", **env}).program
    cluster.run(2)

    statuses = {path: program.answer(Call("http", 8080, path)).status for path in ("/_healthz", "/", "/nothing")}

    assert statuses == {"/_healthz": 200, "/": 500, "/nothing": 404}
    assert program.answer(Call("http", 8080, "/product/L9ECAV7KIM?x=1")).status == 500


def test_a_missing_variable_ends_the_program_in_its_own_words() -> None:
    cluster = HandmadeCluster()
    container = cluster.pod("front", DEMO + "frontend:v0.10.3", env={"PORT": "8080"})

    assert (container.state, container.exit_code) == ("exited", 2)
    [line] = container.log.read()
    assert line.text == 'panic: environment variable "PRODUCT_CATALOG_SERVICE_ADDR" not set'


def test_less_memory_than_the_program_needs_kills_it() -> None:
    cluster = HandmadeCluster()
    container = cluster.pod("ad", DEMO + "adservice:v0.10.3", env={"PORT": "9555"}, memory_limit=50 << 20)

    assert (container.state, container.reason) == ("exited", "OOMKilled")


@pytest.mark.parametrize(
    ("image", "state", "code"),
    [
        ("productcatalogservice", "exited", 2),  # Go without a handler
        ("adservice", "exited", 143),  # the JVM
        ("emailservice", "running", 0),  # Python as process 1 ignores it
        ("currencyservice", "running", 0),
    ],
)
def test_sigterm_by_language(image: str, state: str, code: int) -> None:
    cluster = HandmadeCluster()
    container = cluster.pod("x", DEMO + image + ":v0.10.3")
    cluster.run(5)
    container.terminate()
    cluster.run(5)

    assert (container.state, container.exit_code) == (state, code)


def test_an_undescribed_image_drains_and_exits_cleanly() -> None:
    cluster = HandmadeCluster()
    container = cluster.pod("x", ANY, ports=(8080,))
    cluster.run(1)
    container.terminate()
    cluster.run(1.5)
    assert cluster.pods["x"].listens_on(8080)
    cluster.run(1)

    assert (container.state, container.exit_code, container.reason) == ("exited", 0, "Completed")


def test_an_undescribed_image_answers_everybody_on_its_ports() -> None:
    cluster = HandmadeCluster()
    program = cluster.pod("x", ANY, ports=(8080, 9090)).program
    cluster.run(1)

    assert program.answer(Call("http", 8080, "/any/path?q")).status == 200
    assert program.answer(Call("grpc", 9090)).status == 200
    assert program.answer(Call("http", 80)).outcome == "refused"
    assert cluster.pod("y", ANY, env={"PORT": "5000"}).program.listens_on(5000) is False
    cluster.run(1)
    assert cluster.pods["y"].listens_on(5000)


def test_an_undescribed_image_calls_a_service_that_appears_later() -> None:
    cluster = HandmadeCluster()
    cluster.pod("x", ANY, ports=(80,), env={"STORE_URL": "http://store:9000/v1", "MODE": "fast", "HOME": "/root"})
    cluster.service("x", 80, ("x",))
    users = cluster.traffic.add_users("people", "shop", "x", rps=20)
    cluster.run(5)
    cluster.pod("store", ANY, ports=(9000,))
    cluster.service("store", 9000, ("store",))
    cluster.run(20)

    stats = users.window(0, cluster.sim.now)
    hosts = {edge.key.host for edge in cluster.traffic.history.between(0, cluster.sim.now)}

    assert hosts == {"x", "store"}
    assert stats.ok == stats.sent


def test_an_undescribed_image_that_cannot_call_fails_but_is_not_restarted_for_it() -> None:
    cluster = HandmadeCluster()
    cluster.service("store", 9000, ())
    program = cluster.pod("x", ANY, ports=(80,), env={"STORE": "store:9000"}).program
    cluster.run(3)

    assert [program.answer(Call("http", 80, path)).status for path in ("/", "/healthz")] == [502, 200]


def test_a_rolling_replacement_loses_no_request() -> None:
    cluster = HandmadeCluster()
    cluster.pod("x-1", ANY, ports=(80,))
    cluster.service("x", 80, ("x-1",))
    users = cluster.traffic.add_users("people", "shop", "x", rps=50)
    cluster.run(10)
    cluster.pod("x-2", ANY, ports=(80,))
    cluster.run(2)
    cluster.service("x", 80, ("x-1", "x-2"))
    cluster.container("x-1").terminate()
    cluster.run(1.1)  # until endpoints and kube-proxies have learned
    cluster.service("x", 80, ("x-2",))
    cluster.run(1.3)
    cluster.remove("x-1")
    cluster.run(10)

    stats = users.window(2 * SECOND, cluster.sim.now)
    assert stats.sent > 900
    assert stats.failed == 0


def test_scripts_run_in_the_shell_and_may_start_the_server() -> None:
    cluster = HandmadeCluster()
    script = cluster.pod("job", ANY, command=("sh", "-c", "echo hello; exit 3"))
    server = cluster.pod("web", "nginx:1.27", ports=(80,), command=("sh", "-c", "echo go; exec nginx -g 'daemon off;'"))
    cluster.service("web", 80, ("web",))
    users = cluster.traffic.add_users("people", "shop", "web", rps=10)
    cluster.run(10)

    assert isinstance(script.program, ShellProgram)
    assert (script.exit_code, [line.text for line in script.log.read()]) == (3, ["hello"])
    assert server.log.read()[0].text == "go"
    assert cluster.pods["web"].listens_on(80)
    assert users.window(5 * SECOND, cluster.sim.now).failed == 0


def test_an_entry_point_that_a_described_image_does_not_have() -> None:
    cluster = HandmadeCluster()

    with pytest.raises(StartFailure, match='exec: "/no-such": stat /no-such: no such file or directory'):
        cluster.pod("x", DEMO + "adservice:v0.10.3", command=("/no-such",))


@pytest.mark.parametrize(
    ("image", "command", "why"),
    [
        ("busybox:1.36", "nosuchtool", 'exec: "nosuchtool": executable file not found in $PATH'),
        ("nginx:1.25", "/bin/nosuch", 'exec: "/bin/nosuch": stat /bin/nosuch: no such file or directory'),
    ],
)
def test_an_entry_point_that_an_image_everybody_knows_does_not_have(image: str, command: str, why: str) -> None:
    cluster = HandmadeCluster()
    with pytest.raises(StartFailure, match=re.escape(why)):
        cluster.pod("x", image, command=(command,))


def test_a_well_known_server_listens_where_it_always_does() -> None:
    cluster = HandmadeCluster()
    cluster.pod("web", "nginx:1.25", ports=(8080,))
    cluster.run(1)
    assert cluster.pods["web"].listens_on(80)
    assert not cluster.pods["web"].listens_on(8080)


def test_redis_answers_its_own_client() -> None:
    cluster = HandmadeCluster()
    program = cluster.pod("redis", "redis:alpine", ports=(6379,)).program

    refused = program.run(("redis-cli", "ping"))
    cluster.run(1)
    answer = program.run(("redis-cli", "-p", "6379", "ping"))
    info = program.run(("redis-cli", "info"))

    assert refused is not None
    assert answer is not None
    assert info is not None
    assert (refused.code, answer.stdout) == (1, "PONG\n")
    assert "redis_version:8.2.1" in info.stdout
    assert program.run(("psql",)) is None
    assert "Ready to accept connections tcp" in cluster.container("redis").log.read(tail=1)[0].text


def test_the_catalog_knows_tags_and_sizes() -> None:
    catalog = HandmadeCluster().catalog

    facts = catalog.describe(DEMO + "frontend")
    assert facts is not None
    assert "v0.10.3" in facts.tags
    assert "v0.10.33" not in facts.tags
    assert facts.size > 10_000_000
    assert catalog.describe("docker.io/library/redis") == catalog.describe("redis")
    assert catalog.describe("registry.example.com/x") is None
    deployable = [one.behaviour.application for one in applications() if one.text("manifests.yaml")]
    assert catalog.apps() == sorted(deployable)
    assert "kind: Deployment" in catalog.manifests("online-boutique")
    with pytest.raises(ValueError, match="unknown application 'online-boutiqe'; did you mean online-boutique"):
        catalog.manifests("online-boutiqe")


@pytest.mark.parametrize(
    ("image", "repository"),
    [
        ("redis:alpine", "redis"),
        ("docker.io/library/redis@sha256:00", "redis"),
        ("localhost:5000/a/b:c", "localhost:5000/a/b"),
        ("docker.io/grafana/k6", "grafana/k6"),
    ],
)
def test_repository_of(image: str, repository: str) -> None:
    assert repository_of(image) == repository


def test_a_program_that_is_starting_can_be_forked() -> None:
    cluster = HandmadeCluster()
    cluster.pod("ad", DEMO + "adservice:v0.10.3", env={"PORT": "9555"}, cpu_limit=0.3)
    cluster.run(3)
    twin = fork(cluster)
    for world in (cluster, twin):
        world.run(10)

    assert cluster.container("ad").cpu_ns == twin.container("ad").cpu_ns
    assert twin.pods["ad"].listens_on(9555)
