"""`simcluster serve` from its start to its end: signals, clocks, what it shows and what it hides."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simcluster.cli.livestatus import line_of
from simcluster.eval.episode.replay import replay
from simcluster.eval.serving.service import Status
from simcluster.session import sandbox
from tests.kiosk import OPTIONS, TASK
from tests.surface.http.served import ServedCluster

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]},
        },
    },
}
needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., ServedCluster]]:
    """Starts servers, and ends those that still run."""
    started: list[ServedCluster] = []

    def begin(*arguments: str, **given: Any) -> ServedCluster:
        started.append(ServedCluster(tmp_path / f"out{len(started)}", *arguments, **given))
        return started[-1]

    yield begin
    for one in started:
        one.process.kill()
        one.process.communicate()


def create(served: ServedCluster) -> None:
    made = served.ask(
        "POST", "/apis/apps/v1/namespaces/default/deployments", json.dumps(DEPLOYMENT).encode(),
        content_type="application/json",
    )  # fmt: skip
    assert made.code == 201


def phases(served: ServedCluster) -> list[str]:
    return [pod["status"]["phase"] for pod in served.ask("GET", PODS).json["items"]]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_though_somebody_watches_and_its_log_repeats(
    serve: Callable[..., ServedCluster], number: int
) -> None:
    served = serve("--empty", "--nodes", "1")
    served.wait()
    create(served)
    events = served.watch("/apis/apps/v1/namespaces/default/deployments?watch=true")
    assert next(events)["type"] == "ADDED"
    lines = served.end(number)
    events.close()
    assert [line["tool"] for line in lines[1:-1]] == ["http", "http"]
    assert replay(served.out / "replay.jsonl").same


def test_under_a_realtime_clock_time_passes_for_those_who_only_listen(serve: Callable[..., ServedCluster]) -> None:
    served = serve("--empty", "--nodes", "1", "--clock", "realtime:60")
    served.wait()
    initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    events = served.watch(f"{PODS}?watch=true&{initial}")
    assert next(events)["type"] == "BOOKMARK"
    create(served)
    seen = []
    for event in events:
        seen.append(event["object"]["status"].get("phase"))
        if seen[-1] == "Running":
            break
    assert seen[0] == "Pending"
    events.close()
    served.end()
    assert replay(served.out / "replay.jsonl").same


def test_under_a_manual_clock_time_passes_at_the_desk_alone(serve: Callable[..., ServedCluster]) -> None:
    served = serve("--empty", "--nodes", "1", "--clock", "manual")
    served.wait()
    create(served)
    for _ in range(20):
        assert phases(served) == []
    assert json.loads(served.desk("/wait", "60s"))["exit_code"] == 0
    assert phases(served) == ["Running"]


def test_blind_names_the_task_nowhere_before_the_end(serve: Callable[..., ServedCluster]) -> None:
    served = serve(TASK, *OPTIONS, "--blind")
    said = [served.wait(), str(served.environment), (served.out / "kubeconfig").read_text()]
    said += [served.desk(path).decode() for path in ("/alert", "/status", "/get_app")]
    said.append(Path(f"/proc/{served.process.pid}/cmdline").read_bytes().decode())
    assert said[-1].rstrip("\0") == "simcluster serve"
    assert not [text for text in said if "wrong_image" in text]
    assert sorted(path.name for path in served.out.iterdir()) == ["kubeconfig"]
    served.end(signal.SIGTERM)
    report = json.loads((served.out / "report.json").read_text())
    assert (report["task"], report["passed"]) == (TASK, False)


def test_a_terminal_shows_what_is_going_on(serve: Callable[..., ServedCluster]) -> None:
    ours, theirs = pty.openpty()
    served = serve("--empty", "--nodes", "1", stderr=theirs)
    os.close(theirs)
    shown = b""
    while b" 0 requests, 0 commands" not in shown:
        shown += os.read(ours, 4096)
    create(served)
    while b" 1 requests, 1 commands" not in shown:
        shown += os.read(ours, 4096)
    assert b"alerts" not in shown  # of a sandbox: nobody is paged
    os.close(ours)


def test_the_line_of_a_task_says_what_is_left() -> None:
    line = "simulated 1:02:03, 7 requests, 3 commands, left 197 commands and 0:59:30, 2 alerts firing"
    assert line_of(Status(3723.4, 7, 3, 197, 3570.0, 2)) == line


@needs_kubectl
def test_a_session_over_sockets_leaves_the_world_that_it_leaves_in_process(serve: Callable[..., ServedCluster]) -> None:
    """The real kubectl over TLS, ours in this process: the same writes at the same instants."""
    script = (
        "create deployment web --image=nginx",
        "get pods",
        "scale deployment/web --replicas=2",
        "label deployment web tier=front",
        "get deployments -o yaml",
        "set image deployment/web nginx=nginx:1.27",
        "describe deployment web",
        "create configmap x --from-literal=a=b",
        "create service clusterip web --tcp=80:80",
        "create job once --image=busybox",
        "create cronjob often --image=busybox --schedule=@hourly",
        "create role reader --verb=get --resource=pods",
        "get events",
        "delete configmap x",
        "delete deployment web --wait=false",
        "get pods",
    )
    box = sandbox(1)
    for line in script:
        assert box.kubectl(line).exit_code == 0
    served = serve("--empty", "--nodes", "1")
    served.wait()
    for line in script:
        assert served.kubectl(*line.split()).returncode == 0
    served.end()
    repeated = replay(served.out / "replay.jsonl")
    assert repeated.same
    assert repeated.live.now_s == box.now_s
    assert repeated.live.world_digest == box.world_digest
