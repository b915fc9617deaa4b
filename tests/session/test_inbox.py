"""Requests enter at a defined instant, are charged, are cut off where a budget or patience ends, and are logged."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from simcluster.api.backends import ProxyCall, ProxyReply
from simcluster.engine import SECOND, Snapshot
from simcluster.session import Sandbox, sandbox
from simcluster.session.clock import Budget, Clock
from simcluster.session.inbox import CRASHED
from simcluster.session.kinds import Request
from simcluster.session.log import answer_digest
from simcluster.surface.protocols import BudgetExceeded, Outcome

POD = """
apiVersion: v1
kind: Pod
metadata: {name: talker}
spec:
  containers:
  - name: c
    image: busybox
    command: [sh, -c, "while true; do date; sleep 40; done"]
    volumeMounts: [{name: host, mountPath: /host}]
  volumes: [{name: host, hostPath: {path: /}}]
---
apiVersion: v1
kind: Pod
metadata: {name: held, finalizers: [example.com/hold]}
spec: {containers: [{name: c, image: busybox}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: stuck}
spec:
  selector: {matchLabels: {app: stuck}}
  template:
    metadata: {labels: {app: stuck}}
    spec: {containers: [{name: c, image: registry.invalid/none:1}]}
"""


@pytest.fixture(scope="module")
def warm() -> Snapshot[Sandbox]:
    box = sandbox(nodes=1)
    assert box.kubectl("apply -f -", POD).exit_code == 0
    box.wait("15s")
    return box.snapshot()


@pytest.fixture
def box(warm: Snapshot[Sandbox]) -> Sandbox:
    return warm.restore()


def limit(box: Sandbox, budget: str = "10h", patience: str = "10m") -> None:
    """From now on."""
    box.inbox.opened_ns = box.world.sim.now
    box.inbox.budget = Budget(commands=100, time=budget)
    box.inbox.policy = Clock(patience=patience)


class Silent:
    """A network behind which a backend never answers (a `ProxyTransport`)."""

    def send(self, call: ProxyCall) -> ProxyReply:
        """Take it, and say nothing for an hour."""
        return ProxyReply("", 200, "too late", "text/plain", 3600 * SECOND)


class Case(NamedTuple):
    """A command that does not end by itself, and what it has printed when it is cut off after 90 seconds."""

    tool: str
    target: str
    text: str
    shown: str = ""


#: Commands that block, by where time passes in them.
BLOCKING = [
    Case("node", "worker-1", "sleep 100000"),
    Case("node", "worker-1", "echo first; sleep 100000 | cat; echo never", "first\n"),
    Case("node", "worker-1", "text=$(sleep 100000); touch /root/never"),
    Case("node", "worker-1", "while true; do echo again; sleep 50; done", "again\nagain\n"),
    Case("node", "worker-1", "while true; do :; done; echo never"),
    Case("node", "worker-1", "until false; do :; done"),
    Case("node", "worker-1", "echo first; dd if=/dev/sda of=/dev/null bs=1M; echo never", "first\n"),
    Case("node", "worker-1", "badblocks -v /dev/sda"),
    Case("node", "worker-1", "echo 80 80 | xargs -n 1 sleep; echo never"),
    Case("kubectl", "", "wait --for=condition=Ready pod -l app=stuck --timeout=24h"),
    Case("kubectl", "", "wait --for=create configmap/nothing --timeout=24h"),
    Case("kubectl", "", "delete pod held", 'pod "held" deleted\n'),
    Case("kubectl", "", "exec talker -- sleep 100000"),
    Case("kubectl", "", "exec talker -- sh -c 'echo one; sleep 60; echo two; sleep 60; echo three'", "one\ntwo\n"),
    Case("kubectl", "", "exec talker -- sh -c 'while true; do :; done'"),
    Case("kubectl", "", "exec talker -- tail -f /dev/null"),
    Case("kubectl", "", "exec talker -- chroot /host sh -c 'echo in; sleep 100000; touch /root/never'", "in\n"),
    Case("kubectl", "", "get --raw /api/v1/namespaces/default/pods/talker:80/proxy/"),
    Case("container", "default/talker", "sleep 100000; touch /tmp/never"),
    Case("container", "default/talker/c", "until false; do sleep 30; echo x; done", "x\nx\nx\n"),
]


@pytest.mark.parametrize("case", BLOCKING, ids=str)
@pytest.mark.parametrize("by", ["budget", "patience"])
def test_what_blocks_is_cut_off(box: Sandbox, case: Case, by: str) -> None:
    box.world.api.proxy = Silent()
    charge_s = {"wait": 0.5, "get": 0.5, "delete": 1.0}.get(case.text.split()[0], 2)
    if by == "budget":
        limit(box, budget=f"{90 + charge_s}s")
    else:
        limit(box, patience="90s")
    began_s = box.now_s
    result = box.submit(case.tool, case.text, case.target)
    assert result[:3] == (case.shown, "^C\n", 130)
    assert box.now_s - began_s == 90 + charge_s
    if by == "budget":
        count = len(box.commands)
        with pytest.raises(BudgetExceeded, match="of simulated time"):
            box.kubectl("get pods")
        assert len(box.commands) == count
    else:
        assert box.kubectl("get pods talker -o name").stdout == "pod/talker\n"
    assert box.commands[-1].answer == answer_digest(result if by == "budget" else Outcome("pod/talker\n"))


def test_nothing_happens_after_the_cut(box: Sandbox) -> None:
    limit(box, patience="60s")
    box.node("worker-1").sh("x=$(sleep 100000); touch /root/never")
    box.container("default/talker").sh("sleep 100000; touch /tmp/never")
    box.inbox.policy = Clock()
    assert "No such file" in box.node("worker-1").sh("ls /root/never").stderr
    assert "No such file" in box.container("default/talker").sh("ls /tmp/never").stderr


@pytest.mark.parametrize(
    "command", ["rollout status deploy/stuck", "logs -f talker", "get pods -w", "port-forward talker 80"]
)
def test_what_is_watched_is_cut_off_by_the_budget(box: Sandbox, command: str) -> None:
    free = box.fork()
    whole = free.kubectl(command).stdout
    limit(box, budget="5s")
    result = box.kubectl(command)
    assert (result.stderr, result.exit_code) == ("^C\n", 130)
    assert whole.startswith(result.stdout)
    assert box.world.sim.now == box.inbox.ends_ns


def test_a_rollout_that_does_not_end_is_left_alone_after_ten_minutes(box: Sandbox) -> None:
    began_s = box.now_s
    assert box.kubectl("rollout status deploy/stuck").exit_code in (1, 130)
    assert box.now_s - began_s <= 600.5


def test_what_ends_in_time_is_not_cut_off(box: Sandbox) -> None:
    limit(box, budget="100s", patience="20s")
    assert box.node("worker-1").sh("sleep 20; echo done")[:3] == ("done\n", "", 0)
    assert box.kubectl("exec talker -- sleep 20")[:3] == ("", "", 0)
    assert box.node("worker-1").sh("timeout 5 sleep 100; echo $?").stdout == "124\n"
    box.wait("49s")
    assert box.world.sim.now == box.inbox.ends_ns


def test_a_wait_longer_than_the_budget_ends_with_it(box: Sandbox) -> None:
    limit(box, budget="30s", patience="1s")
    with pytest.raises(BudgetExceeded, match="the 30s of simulated time"):
        box.wait("31s")
    assert box.world.sim.now == box.inbox.ends_ns
    assert (box.commands[-1].tool, box.commands[-1].exit_code) == ("wait", 130)


def test_a_charge_that_uses_up_the_budget_lets_nothing_happen(box: Sandbox) -> None:
    limit(box, budget="700ms")
    assert box.kubectl("delete pod talker --wait=false")[:3] == ("", "^C\n", 130)
    assert box.world.api.store.get("pods", "default", "talker") is not None
    assert box.world.sim.now == box.inbox.ends_ns


def test_the_number_of_commands_is_a_budget(box: Sandbox) -> None:
    limit(box)
    box.inbox.budget = Budget(commands=len(box.commands) + 1)
    box.kubectl("get pods")
    with pytest.raises(BudgetExceeded, match="commands of this episode"):
        box.wait("1s")


def test_while_loops_read_all_their_lines(box: Sandbox) -> None:
    numbers = " ".join(map(str, range(1500)))
    script = f"for i in {numbers}; do echo $i; done | while read n; do echo $n; done | tail -1"
    assert box.node("worker-1").sh(script).stdout == "1499\n"


@pytest.mark.parametrize(
    ("policy", "spent"),
    [(Clock(), [0.5, 1, 2, 2]), (Clock(think="3s"), [3.5, 4, 5, 5]), (Clock(policy="manual"), [0, 0, 0, 0])],
)
def test_commands_cost_what_the_policy_says(box: Sandbox, policy: Clock, spent: list[float]) -> None:
    box.inbox.policy = policy
    found = []
    for tool, text, target in (
        ("kubectl", "get pods", ""),
        ("kubectl", "label pod talker a=b", ""),
        ("container", "true", "default/talker"),
        ("node", "true", "worker-1"),
    ):
        before_s = box.now_s
        box.submit(tool, text, target)
        found.append(box.now_s - before_s)
    assert found == spent
    box.wait("2s")
    assert box.commands[-1].at_ns == box.world.sim.now - 2 * SECOND


def test_in_real_time_the_pacer_says_when_a_request_arrives(box: Sandbox) -> None:
    box.inbox.policy = Clock(policy="realtime:2.5")
    now = box.world.sim.now
    arrives = now + box.inbox.policy.simulated_ns(4 * SECOND)
    box.inbox.submit(Request("kubectl", "get pods", at_ns=arrives))
    assert box.commands[-1].at_ns == box.world.sim.now == now + 10 * SECOND
    with pytest.raises(ValueError, match="cannot arrive at"):
        box.inbox.submit(Request("kubectl", "get pods", at_ns=now))
    limit(box, budget="5s")
    box.inbox.policy = Clock(policy="realtime:1")
    with pytest.raises(BudgetExceeded):
        box.inbox.submit(Request("kubectl", "get pods", at_ns=box.world.sim.now + 5 * SECOND))
    box.inbox.policy = Clock()
    with pytest.raises(ValueError, match="under a realtime clock, and under no other"):
        box.inbox.submit(Request("kubectl", "get pods", at_ns=box.world.sim.now))


def test_requests_are_done_in_the_name_that_is_given(box: Sandbox) -> None:
    who = "system:serviceaccount:default:default"
    asked = "auth whoami -o yaml"
    for name in ("", who, "jane"):
        answer = box.inbox.submit(Request("kubectl", asked, identity=name)).stdout
        assert f"username: {name or 'kubernetes-admin'}\n" in answer
    refused = box.inbox.submit(Request("container", "true", "default/talker", identity="jane"))
    assert 'User "jane" cannot' in refused.stderr
    assert box.commands[-1].identity == "jane"
    with pytest.raises(ValueError, match="not done in anybody's name"):
        box.inbox.submit(Request("node", "true", "worker-1", identity="jane"))


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        (
            Request("telepathy", "x"),
            "unknown tool 'telepathy'; there are kubectl, http, follow, sh, node, container, wait, deploy, load",
        ),
        (Request("diagnose", '"x"'), "unknown tool 'diagnose'"),
        (Request("kubectl", "get \ud800"), "text of kubectl holds a lone surrogate at character 4"),
        (Request("node", "ls", "\udfff"), "target of node holds a lone surrogate"),
        (Request("container", "ls", "talker"), "a container is NAMESPACE/POD"),
        (Request("wait", "25h"), "wait takes a duration from 0s to 24h, not 25h"),
        (Request("wait", "-1s"), "wait takes a duration"),
        (Request("wait", "soon"), "soon"),
        (Request("load", "nan", "default/kubernetes"), "rps must be above zero"),
        (Request("load", "5", "default/nothing"), 'services "nothing" not found'),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_no_trace(box: Sandbox, request_: Request, complaint: str) -> None:
    before = (box.digest, box.world.sim.now, len(box.commands))
    with pytest.raises(ValueError, match=re.escape(complaint)):
        box.inbox.submit(request_)
    assert (box.digest, box.world.sim.now, len(box.commands)) == before


class Broken:
    """A network that was programmed wrongly (a `ProxyTransport`)."""

    def send(self, call: ProxyCall) -> ProxyReply:
        """Fall over."""
        raise ZeroDivisionError("ours")


def test_a_mistake_of_ours_is_part_of_the_run(box: Sandbox) -> None:
    box.world.api.proxy = Broken()
    before = box.digest
    with pytest.raises(ZeroDivisionError):
        box.kubectl("get --raw /api/v1/namespaces/default/pods/talker:80/proxy/")
    assert box.commands[-1].exit_code == CRASHED
    assert box.commands[-1].digest == box.digest != before
    assert box.kubectl("get pods").exit_code == 0


def test_a_fork_answers_alike_and_goes_its_own_way(box: Sandbox) -> None:
    twin = box.fork()
    assert box.kubectl("get pods -A") == twin.kubectl("get pods -A")
    assert box.digest == twin.digest
    twin.node("worker-1").sh("sleep 1")
    assert (box.digest, len(box.commands)) != (twin.digest, len(twin.commands))
    assert box.world.sim.now == twin.world.sim.now - 3 * SECOND
