"""Probes: when they run, what they lead to, and their words."""

import pytest

from simcluster.engine import SECOND
from tests.clusters.nodes import NodeBench


def messages(bench, reason="Unhealthy", name="app"):
    return [(m, n) for r, m, n in bench.events(name) if r == reason]


def http(port=8080, path="/ok", **more):
    return {"httpGet": {"path": path, "port": port}, **more}


@pytest.fixture
def bench():
    bench = NodeBench()
    bench.machine.images.preload("acme/app:1.0")
    bench.run(30)  # so that the kubelet does not count as freshly started
    return bench


def test_readiness_is_probed_as_soon_as_the_container_runs(bench):
    bench.pod(env={"LISTEN": "8080"}, readinessProbe=http())
    bench.run(3)
    assert bench.conditions()["Ready"] == "True"


def test_unready_until_it_listens(bench):
    bench.pod(env={"LISTEN": "8080", "LISTEN_AFTER": "15"}, readinessProbe=http(periodSeconds=5))
    bench.run(10)
    assert bench.conditions()["Ready"] == "False"
    ready = next(c for c in bench.get()["status"]["conditions"] if c["type"] == "Ready")
    assert ready["message"] == "containers with unready status: [c]"
    address = bench.get()["status"]["podIP"]
    text = (
        f'Readiness probe failed: Get "http://{address}:8080/ok": dial tcp {address}:8080: connect: connection refused'
    )
    assert messages(bench)[0][0] == text
    bench.run(15)
    assert bench.conditions()["Ready"] == "True"
    assert bench.container_status()["restartCount"] == 0


def test_liveness_failure_restarts_after_three_periods(bench):
    bench.pod(env={"LISTEN": "8080", "FAIL": "/live"}, livenessProbe=http(path="/live"))
    bench.run(3)
    uid = bench.get()["metadata"]["uid"]
    began = bench.machine.runtime.newest(uid, "c").started_ns
    bench.run(37)
    status = bench.container_status()
    assert status["restartCount"] == 1
    lived = bench.machine.runtime.previous(uid, "c").finished_ns - began
    assert 20 * SECOND < lived <= 30 * SECOND
    assert messages(bench) == [("Liveness probe failed: HTTP probe failed with statuscode: 503", 3)]
    assert messages(bench, "Killing") == [("Container c failed liveness probe, will be restarted", 1)]


def test_liveness_kill_ignoring_sigterm_takes_the_grace_period(bench):
    spec = {"terminationGracePeriodSeconds": 5}
    env = {"LISTEN": "8080", "FAIL": "/live", "TERM": "ignore"}
    bench.pod(env=env, spec=spec, livenessProbe=http(path="/live", periodSeconds=1, failureThreshold=1))
    bench.run(12)
    assert bench.container_status()["lastState"]["terminated"]["exitCode"] == 137


def test_slow_answer_is_a_timeout(bench):
    bench.pod(env={"LISTEN": "8080", "DELAY_MS": "1500"}, readinessProbe=http())
    bench.run(15)
    address = bench.get()["status"]["podIP"]
    assert messages(bench)[0][0] == (
        f'Readiness probe failed: Get "http://{address}:8080/ok": '
        "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    )


def test_grpc_on_a_closed_port(bench):
    bench.pod(env={"LISTEN": "9555", "PROTOCOL": "grpc"}, livenessProbe={"grpc": {"port": 9556}, "periodSeconds": 5})
    bench.run(15)
    address = bench.get()["status"]["podIP"]
    text = f'timeout: failed to connect service "{address}:9556" within 1s: context deadline exceeded'
    assert messages(bench)[0][0] == f"Liveness probe failed: {text}"


@pytest.mark.parametrize(
    ("env", "text"),
    [
        ({"STATUS": "503"}, 'service unhealthy (responded with "NOT_SERVING")'),
        ({"DELAY_MS": "1200"}, "timeout: health rpc did not complete within 1s: context deadline exceeded"),
    ],
)
def test_grpc_health(bench, env, text):
    bench.pod(env={"LISTEN": "9555", "PROTOCOL": "grpc", **env}, readinessProbe={"grpc": {"port": 9555}})
    bench.run(12)
    assert messages(bench)[0][0] == f"Readiness probe failed: {text}"


def test_http_probe_of_a_grpc_server(bench):
    bench.pod(env={"LISTEN": "9555", "PROTOCOL": "grpc"}, readinessProbe=http(9555, "/"))
    bench.run(12)
    assert "net/http: HTTP/1.x transport connection broken: malformed HTTP response" in messages(bench)[0][0]


def test_tcp_and_exec_and_named_ports(bench):
    bench.pod("tcp", {"LISTEN": "6379"}, readinessProbe={"tcpSocket": {"port": 5432}})
    bench.pod("exec", {}, readinessProbe={"exec": {"command": ["cat", "/tmp/healthy"]}})
    ports = [{"name": "web", "containerPort": 8080}]
    bench.pod("named", {"LISTEN": "8080"}, ports=ports, readinessProbe=http("web"))
    bench.run(12)
    address = bench.get("tcp")["status"]["podIP"]
    refused = f"Readiness probe failed: dial tcp {address}:5432: connect: connection refused"
    assert messages(bench, name="tcp")[0][0] == refused
    missing = "Readiness probe failed: cat: can't open '/tmp/healthy': No such file or directory\n"
    assert messages(bench, name="exec")[0][0] == missing
    assert bench.conditions("named")["Ready"] == "True"


def test_startup_probe_holds_the_others_back(bench):
    env = {"LISTEN": "8080", "LISTEN_AFTER": "25"}
    bench.pod(env=env, startupProbe=http(failureThreshold=10, periodSeconds=5), livenessProbe=http(periodSeconds=1))
    bench.run(20)
    assert not bench.container_status()["started"]
    assert all(m.startswith("Startup probe failed") for m, _ in messages(bench))
    bench.run(15)
    assert bench.container_status()["started"]
    assert bench.container_status()["restartCount"] == 0


def test_initial_delay(bench):
    bench.pod(readinessProbe=http(initialDelaySeconds=20, periodSeconds=2))
    bench.run(18)
    assert messages(bench) == []
    bench.run(10)
    assert messages(bench) != []


def test_losing_readiness_needs_three_failures(bench):
    bench.pod(env={"LISTEN": "8080"}, readinessProbe=http(periodSeconds=2))
    bench.run(5)
    program = bench.machine.runtime.newest(bench.get()["metadata"]["uid"], "c").program
    program.env["STATUS"] = "500"
    bench.run(3)
    assert bench.conditions()["Ready"] == "True"
    bench.run(5)
    assert bench.conditions()["Ready"] == "False"
    program.env["STATUS"] = "200"
    bench.run(3)
    assert bench.conditions()["Ready"] == "True"
