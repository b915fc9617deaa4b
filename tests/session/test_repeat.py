"""A log that is lived again gives the same answers and the same world, however it ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcluster.api.backends import ProxyCall, ProxyReply
from simcluster.engine import SECOND, Snapshot
from simcluster.session import Sandbox, log, sandbox
from simcluster.session.clock import Budget, Clock
from simcluster.session.kinds import Request
from simcluster.session.replay import repeat
from simcluster.session.sandbox import begun_by
from simcluster.surface.protocols import BudgetExceeded

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: acme/web:1, ports: [{containerPort: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""


@pytest.fixture(scope="module")
def fresh() -> Snapshot[Sandbox]:
    return sandbox(nodes=1, seed=3).snapshot()


def worked(box: Sandbox) -> None:
    """Somebody did this and that."""
    box.kubectl("apply -f -", WEB)
    box.wait("20s")
    box.load("web", 5)
    box.kubectl("get pods -o name # \u2028 \x85 \r ü")
    box.node("worker-1").sh("echo '\u2029' > /root/x; cat /root/x")
    box.container("default/web").sh("true")
    box.kubectl("exec deploy/web -- sleep 5")
    box.inbox.submit(Request("kubectl", "get pods", identity="jane"))


def repeated(fresh: Snapshot[Sandbox], path: Path) -> tuple[Sandbox, list[str]]:
    box = fresh.restore()
    return box, repeat(box, log.read(path))


def test_a_sandbox_repeats(fresh: Snapshot[Sandbox], tmp_path: Path) -> None:
    box, path = fresh.restore(), tmp_path / "a.jsonl"
    worked(box)
    box.world.run_for(7 * SECOND)  # the operator left some time later
    box.write_log(path)
    again, differences = repeated(fresh, path)
    assert differences == []
    assert again.digest == box.digest == log.read(path).end.digest  # type: ignore[union-attr]
    assert list(again.commands) == list(box.commands)


def test_a_session_that_its_budget_ended_repeats(fresh: Snapshot[Sandbox], tmp_path: Path) -> None:
    box, path = fresh.restore(), tmp_path / "a.jsonl"
    box.inbox.budget = Budget(commands=50, time="100s")
    worked(box)
    assert box.node("worker-1").sh("echo a; sleep 1000").exit_code == 130
    with pytest.raises(BudgetExceeded):
        box.wait("1s")
    box.write_log(path, "budget")
    again, differences = repeated(fresh, path)
    assert (differences, again.digest) == ([], box.digest)
    assert log.read(path).end.outcome == "budget"  # type: ignore[union-attr]


def test_waits_and_charges_that_the_budget_cut_repeat(fresh: Snapshot[Sandbox], tmp_path: Path) -> None:
    for number, last in enumerate((Request("wait", "1m"), Request("kubectl", "delete pods -A --all"))):
        box, path = fresh.restore(), tmp_path / f"{number}.jsonl"
        box.inbox.budget = Budget(time="750ms")
        assert box.inbox.submit(last).exit_code == 130
        box.write_log(path, "budget")
        again, differences = repeated(fresh, path)
        assert (differences, again.digest) == ([], box.digest)


class Broken:
    """A network that was programmed wrongly (a `ProxyTransport`)."""

    def send(self, call: ProxyCall) -> ProxyReply:
        """Fall over."""
        raise ZeroDivisionError("ours")


def test_a_session_that_crashed_repeats(fresh: Snapshot[Sandbox], tmp_path: Path) -> None:
    box, path = fresh.restore(), tmp_path / "a.jsonl"
    box.world.api.proxy = Broken()
    start = box.snapshot()
    worked(box)
    with pytest.raises(ZeroDivisionError):
        box.kubectl("get --raw /api/v1/namespaces/default/services/web:80/proxy/")
    box.write_log(path, "error")
    again, differences = repeated(start, path)
    assert (differences, again.digest) == ([], box.digest)
    _, differences = repeated(fresh, path)
    assert [text for text in differences if "was answered differently" in text] == differences[:1] != []


def test_a_session_in_real_time_repeats(fresh: Snapshot[Sandbox], tmp_path: Path) -> None:
    box, path = fresh.restore(), tmp_path / "a.jsonl"
    box.inbox.policy = Clock(policy="realtime:60")
    for wall_ns in (7, 130_000_000, 3):
        arrives = box.world.sim.now + box.inbox.policy.simulated_ns(wall_ns)
        box.inbox.submit(Request("kubectl", "get nodes", at_ns=arrives))
    box.write_log(path)
    again, differences = repeated(fresh, path)
    assert (differences, again.digest) == ([], box.digest)


def test_what_is_not_the_same_is_named(fresh: Snapshot[Sandbox], tmp_path: Path) -> None:
    box, path = fresh.restore(), tmp_path / "a.jsonl"
    worked(box)
    box.write_log(path)
    lines = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
    lines[5]["answer"] = "0" * 16
    lines[2]["text"] = "21s"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    _, differences = repeated(fresh, path)
    assert "command 2 (21s) was answered alike, but the world is another from here on" in differences
    assert any("command 3" in text and "took effect at" in text for text in differences)


def test_a_log_whose_writer_was_killed_repeats_up_to_there(fresh: Snapshot[Sandbox], tmp_path: Path) -> None:
    box, path = fresh.restore(), tmp_path / "a.jsonl"
    worked(box)
    box.write_log(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"sleep 5")])
    again, differences = repeated(fresh, path)
    kept = len(again.commands)
    assert differences == [f"{path}:{kept + 2}: the last line is cut off"]
    assert list(again.commands) == list(box.commands)[:kept]
    assert 0 < kept < len(box.commands)


def test_a_log_of_a_sandbox_says_what_it_began_with() -> None:
    box = sandbox(nodes=1, seed=3, cpu=2, memory="4Gi", telemetry=True, images=["registry.acme.io/api:1"])
    again = begun_by(box.log_header())
    assert (*again.size, again.telemetry, again.images) == (2, "4Gi", True, {"registry.acme.io/api:1": None})
    assert again.world.sim.now == box.world.sim.now
    assert again.kubectl("get pods -n observe -o name").stdout == box.kubectl("get pods -n observe -o name").stdout
