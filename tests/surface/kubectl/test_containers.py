"""logs, exec, top, events and describe pod against a server that answers as recorded."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.request import Request, Response
from simcluster.engine import SECOND
from simcluster.surface.kubectl import Kubectl

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-1", "namespace": "shop", "uid": "u1", "labels": {"app": "web"}},
    "spec": {
        "nodeName": "n1",
        "containers": [{"name": "web", "image": "web:1"}, {"name": "side", "image": "side:1"}],
        "initContainers": [{"name": "init", "image": "busybox"}],
    },
    "status": {"phase": "Running", "hostIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]},
}
EVENT = {
    "metadata": {"name": "e1", "namespace": "shop"},
    "involvedObject": {"kind": "Pod", "name": "web-1"},
    "type": "Warning",
    "reason": "BackOff",
    "message": "Back-off restarting failed container",
    "count": 3,
    "firstTimestamp": "2026-03-02T09:00:00Z",
    "lastTimestamp": "2026-03-02T09:01:00Z",
    "source": {"component": "kubelet"},
}


def usage(name: str, cpu: str, memory: str) -> dict[str, Any]:
    containers = [{"name": "web", "usage": {"cpu": cpu, "memory": memory}}]
    return {"metadata": {"name": name, "namespace": "shop"}, "containers": containers}


class Server:
    """Answers of one pod's cluster; the log grows by a line every simulated second."""

    def __init__(self) -> None:
        self.now = 90 * SECOND
        self.requests: list[Request] = []

    def advance(self, duration_ns: int) -> None:
        self.now += duration_ns

    def handle(self, request: Request) -> Response:
        self.requests.append(request)
        path = request.path
        if path.endswith("/pods/web-1"):
            return Response(200, POD)
        if path.endswith("/metrics.k8s.io/v1beta1/namespaces/shop/pods"):
            items = [usage("a", "5m", "24Mi"), usage("b", "42000001n", "30Mi")]
            return Response(200, {"kind": "PodMetricsList", "items": items})
        if path.endswith("/pods") and path.startswith("/api/v1"):
            return Response(200, {"kind": "PodList", "apiVersion": "v1", "items": [POD]})
        if path.endswith("/log"):
            if request.param("previous"):
                message = 'previous terminated container "web" in pod "web-1" not found'
                return Response(400, {"kind": "Status", "reason": "BadRequest", "message": message})
            return Response(200, text="".join(f"line {i}\n" for i in range(self.now // SECOND - 89)))
        if path.endswith("/exec"):
            command = request.params("command")
            return Response(
                200, {"stdout": " ".join(command) + "\n", "stderr": "oops\n", "code": int(command[0] == "false")}
            )
        if path.endswith("/events"):
            return Response(200, {"kind": "EventList", "apiVersion": "v1", "items": [EVENT]})
        if path == "/apis/metrics.k8s.io/v1beta1":
            return Response(200, {"kind": "APIResourceList"})
        message = f'pods "{path.rpartition("/")[2]}" not found'
        return Response(404, {"kind": "Status", "reason": "NotFound", "message": message})


@pytest.fixture
def server() -> Server:
    return Server()


def run(server: Server, line: str) -> tuple[str, str, int]:
    return Kubectl(server, server, namespace="shop").run(line)[:3]


def test_logs_name_the_default_container(server: Server) -> None:
    stdout, stderr, code = run(server, "logs web-1")
    assert stdout == "line 0\nline 1\n"[: len(stdout)]
    assert stderr == 'Defaulted container "web" out of: web, side, init (init)\n'
    assert code == 0
    assert server.requests[-1].target == "/api/v1/namespaces/shop/pods/web-1/log?container=web"


def test_logs_options_become_parameters(server: Server) -> None:
    run(server, "logs web-1 -c side --tail=5 --since=90s --timestamps")
    assert dict(server.requests[-1].query) == {
        "container": "side",
        "sinceSeconds": "90",
        "tailLines": "5",
        "timestamps": "true",
    }


def test_logs_of_all_containers_with_prefix(server: Server) -> None:
    stdout, _, _ = run(server, "logs web-1 --all-containers --prefix")
    assert [line.split("]")[0] for line in stdout.splitlines()] == [
        "[pod/web-1/init",
        "[pod/web-1/web",
        "[pod/web-1/side",
    ]


def test_logs_by_label_take_ten_lines(server: Server) -> None:
    run(server, "logs -l app=web -c web")
    assert server.requests[-1].param("tailLines") == "10"


def test_logs_follow_until_the_next_line(server: Server) -> None:
    started = server.now
    stdout, _, _ = run(server, "logs -f web-1 -c web")
    assert stdout == "line 0\nline 1\n"
    assert server.now - started == SECOND


def test_logs_errors(server: Server) -> None:
    assert (
        run(server, "logs nope")[1]
        == 'error: error from server (NotFound): pods "nope" not found in namespace "shop"\n'
    )
    assert run(server, "logs web-1 -c web --previous")[1] == (
        'Error from server (BadRequest): previous terminated container "web" in pod "web-1" not found\n'
    )


def test_exec(server: Server) -> None:
    assert run(server, "exec web-1 -c web -- cat /etc/hosts") == ("cat /etc/hosts\n", "oops\n", 0)
    assert server.requests[-1].params("command") == ["cat", "/etc/hosts"]
    assert run(server, "exec web-1 -c web -- false") == (
        "false\n",
        "oops\ncommand terminated with exit code 1\n",
        1,
    )


def test_there_is_no_terminal(server: Server) -> None:
    assert run(server, "exec -it web-1 -c web -- sh")[1].startswith("Unable to use a TTY - input is not a terminal")


def test_top_sorts_by_use(server: Server) -> None:
    assert run(server, "top pods --sort-by=cpu")[0] == (
        "NAME   CPU(cores)   MEMORY(bytes)   \n"
        "b      43m          30Mi            \n"
        "a      5m           24Mi            \n"
    )


def test_events(server: Server) -> None:
    assert run(server, "events")[0] == (
        "LAST SEEN           TYPE      REASON    OBJECT      MESSAGE\n"
        "30s (x3 over 90s)   Warning   BackOff   Pod/web-1   Back-off restarting failed container\n"
    )
    assert run(server, "events --types=Normal")[1] == "No events found in shop namespace.\n"


def test_describe_pod_shows_events(server: Server) -> None:
    stdout, _, _ = run(server, "describe pod web-1")
    assert "Node:             n1/10.0.0.1\n" in stdout or "Node:         n1/10.0.0.1\n" in stdout
    assert stdout.endswith("  Warning  BackOff  30s (x3 over 90s)  kubelet  Back-off restarting failed container\n")
