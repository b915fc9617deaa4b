"""Logs of a living cluster: what stands in files on nodes is what Loki has, later; and where lines are lost."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence

import pytest

from simcluster.engine import MINUTE, SECOND
from simcluster.engine.clock import DAY
from simcluster.models.machine.container import Container
from simcluster.models.machine.containerlogs import files
from simcluster.telemetry.logql.evaluation import query, query_range
from simcluster.telemetry.logql.store import LogStore
from simcluster.telemetry.logql.units import EPOCH_NS
from simcluster.telemetry.logs import MAX_BYTES
from simcluster.telemetry.promql.storage import Matcher
from simcluster.world import World, bootstrap

CHAT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, labels: {app: chat}}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
        - name: sh
          image: busybox
          command: [sh, -c, 'echo hello; echo oops >&2; sleep 40; echo bye; exit 3']
"""


@pytest.fixture(scope="module", name="logged")
def with_application() -> World:
    world = World(3, workers=1)
    world.client("kubernetes-admin", "helm").create("namespaces", "", bootstrap.namespace("observe"))
    world.apply(bootstrap.manifest("logging.yaml"))
    world.deploy("online-boutique", "boutique")
    world.apply(CHAT)
    world.add_users("boutique", "frontend", 10.0)
    world.run_for(2 * MINUTE)
    return world


@pytest.fixture(name="world")
def copied(logged: World) -> World:
    return logged.fork()


def store_of(world: World) -> LogStore:
    found = world.lines
    assert found is not None
    return found


def lines(world: World, text: str, span_ns: int = 30 * MINUTE) -> list[tuple[int, str]]:
    """Simulated instant and text of every line, oldest first."""
    now = EPOCH_NS + world.sim.now
    found = query_range(store_of(world), text, (now - span_ns, now + 1), SECOND, 1_000_000, forward=True)
    return sorted((at - EPOCH_NS, line) for stream in found.streams for at, line in stream.entries)


def count(world: World, text: str) -> float:
    found = query(store_of(world), text, EPOCH_NS + world.sim.now)
    return sum(row[0] or 0.0 for _, row in found.series)  # integers


def run_of(world: World, app: str) -> Container:
    found = [run for machine in world.machines.values() for run in machine.runtime.containers()]
    return next(run for run in found if run.spec.pod_name.startswith(f"{app}-"))


def printed(run: Container) -> list[tuple[int, str]]:
    """What stands in its file, those of one instant by text."""
    return sorted((line.t_ns, line.text) for line in run.log.read())


def kubectl(world: World, text: str) -> str:
    result = world.kubectl().run(text)
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("app", ["frontend", "checkoutservice", "adservice"])
def test_loki_has_the_lines_of_the_file_a_second_or_two_later(world: World, app: str) -> None:
    kept = lines(world, f'{{namespace="boutique", app="{app}"}}')
    assert len(kept) > 100
    assert kept == [one for one in printed(run_of(world, app)) if one[0] <= kept[-1][0]]
    assert world.sim.now - kept[-1][0] < 5 * SECOND
    shown = kubectl(world, f"logs -n boutique deploy/{app}").splitlines()
    assert sorted(shown[: len(kept)]) == sorted(text for _, text in kept)


def test_labels_are_those_of_the_chart(world: World) -> None:
    (labels,) = store_of(world).streams([], EPOCH_NS, EPOCH_NS + world.sim.now)[:1]
    assert set(dict(labels)) >= {"service_name"}
    run = run_of(world, "frontend")
    found = [dict(one) for one in store_of(world).streams([], 0, 1 << 62) if dict(one).get("app") == "frontend"]
    assert found == [
        {
            "app": "frontend", "container": "server", "filename": run.log_path, "job": "boutique/frontend",
            "namespace": "boutique", "node_name": run.machine.name, "pod": run.spec.pod_name,
            "service_name": "frontend", "stream": "stdout",
        }
    ]  # fmt: skip
    chat = store_of(world).streams([Matcher("app", "=", "chat")], 0, 1 << 62)
    assert {dict(one)["stream"] for one in chat} == {"stdout", "stderr"}


def test_what_is_looked_for_is_found_without_wording_the_rest(world: World) -> None:
    every = lines(world, '{namespace="boutique"}')
    for needle in ("Conversion", "conversion request successful", "/cart", 'took_ms\\":1', "GetCart"):
        wanted = needle.replace('\\"', '"')
        assert lines(world, f'{{namespace="boutique"}} |= "{needle}"') == [one for one in every if wanted in one[1]]
    assert count(world, 'sum(count_over_time({namespace="boutique"} |= "took_ms" [10m]))') == sum(
        "took_ms" in text for _, text in every
    )


def test_a_request_that_fails_is_in_the_logs_of_those_it_went_through(world: World) -> None:
    kubectl(world, "scale deployment -n boutique productcatalogservice --replicas=0")
    world.run_for(30 * SECOND)
    failed = [(at, json.loads(text)) for at, text in lines(world, '{app="frontend"} |= "could not retrieve"', MINUTE)]
    at, line = failed[-1]
    assert "connection refused" in line["error"]
    request = line["http.req.id"]
    own = [(when, json.loads(text)["message"]) for when, text in lines(world, f'{{app="frontend"}} |= "{request}"')]
    assert [message for _, message in own][:1] == ["request started"]
    assert "request error" in [message for _, message in own]
    assert own[0][0] <= at <= own[-1][0]
    # as many as its users saw
    world.run_for(5 * SECOND)
    counted = sum('"request error"' in text for _, text in lines(world, '{app="frontend"} |= "request error"', MINUTE))
    shown = kubectl(world, "logs -n boutique deploy/frontend --since=1m").count('"request error"')
    assert counted == pytest.approx(shown, rel=0.2)
    assert counted > 50


def test_a_container_that_crashed_is_there_with_its_runs(world: World) -> None:
    world.run_for(MINUTE)
    found = lines(world, '{app="chat"}')
    assert [text for _, text in found if text == "bye"]
    files = {dict(one)["filename"].rpartition("/")[2] for one in store_of(world).streams([], 0, 1 << 62)
             if dict(one).get("app") == "chat"}  # fmt: skip
    assert {"0.log", "1.log"} <= files
    pod = run_of(world, "chat").spec.pod_name
    assert kubectl(world, f"logs {pod} -p").split() == ["hello", "oops", "bye"]


def fill(run: Container, mark: str) -> None:
    """Print more than one file holds."""
    for number in range(12):
        run.log.write(run.sim.now, f"{mark}{number} " + "x" * (MAX_BYTES // 11))


def test_files_are_rotated_compressed_and_at_last_removed(world: World) -> None:
    run = run_of(world, "frontend")
    for mark in "abcdef":
        fill(run, mark)
        world.run_for(20 * SECOND)
    machine = world.machines[run.machine.name]
    mine = {path.rpartition("/")[2]: logged for path, logged in files(machine) if logged.run is run}
    rotated = sorted(name for name in mine if name.startswith("0.log."))
    assert len(rotated) == 4
    assert [name.endswith(".gz") for name in rotated] == [True, True, True, False]
    assert sum(text.split(" ", 3)[3][:1] == "c" for text in mine[rotated[0]].text().splitlines()) == 12
    assert all("xxxx" not in line.text for line in run.log.read())
    # an agent that keeps up has all of them, also those that are gone
    (kept,) = store_of(world).select([Matcher("app", "=", "frontend")], 0, 1 << 62)
    found = [text.partition(" ")[0] for _, text in kept.entries if "xxxx" in text]
    assert found == [f"{mark}{n}" for mark in "abcdef" for n in range(12)]


def stop_agents(world: World) -> None:
    kubectl(
        world, """patch ds -n observe promtail -p '{"spec":{"template":{"spec":{"nodeSelector":{"no":"where"}}}}}'"""
    )
    world.run_for(40 * SECOND)


def start_agents(world: World) -> None:
    kubectl(world, "patch ds -n observe promtail --type=json -p "
            """'[{"op":"remove","path":"/spec/template/spec/nodeSelector"}]'""")  # fmt: skip
    world.run_for(40 * SECOND)


def test_an_agent_goes_on_where_it_stopped(world: World) -> None:
    stop_agents(world)
    before = lines(world, '{app="frontend"}')
    world.run_for(MINUTE)
    assert lines(world, '{app="frontend"}') == before
    start_agents(world)
    kept = lines(world, '{app="frontend"}')
    assert kept == printed(run_of(world, "frontend"))[: len(kept)]
    assert len(kept) > len(before) + 1000


def test_what_is_rotated_while_no_agent_runs_is_lost(world: World) -> None:
    run = run_of(world, "frontend")
    stop_agents(world)
    fill(run, "lost")
    world.run_for(20 * SECOND)
    assert run.log.rotated
    run.log.write(run.sim.now, "kept xxxx")
    start_agents(world)
    assert [text for _, text in lines(world, '{app="frontend"} |= "xxxx"')] == ["kept xxxx"]


def test_without_loki_agents_try_again_and_at_last_drop(world: World) -> None:
    kubectl(world, "scale statefulset -n observe loki --replicas=0")
    world.run_for(20 * SECOND)
    before = len(lines(world, '{app="frontend"}'))
    path = "/api/v1/namespaces/observe/services/loki:3100/proxy/loki/api/v1/labels"
    assert "no endpoints available for service" in world.kubectl().run(f"get --raw {path}").stderr
    world.run_for(30 * SECOND)
    node = run_of(world, "frontend").machine.name
    (agent,) = [run for run in world.machines[node].runtime.containers() if run.spec.name == "promtail"]
    log = kubectl(world, f"logs -n observe {agent.spec.pod_name} --tail=30")
    assert (
        'msg="error sending batch, will retry" status=-1 tenant= error="Post \\"http://loki:3100/loki/api/v1/push'
        in log
    )
    assert "connect: connection refused" in log
    world.run_for(20 * MINUTE)
    assert "final error sending batch, no retries left" in kubectl(world, f"logs -n observe {agent.spec.pod_name}")
    assert len(lines(world, '{app="frontend"}', 2 * 60 * MINUTE)) == before


def test_lines_that_are_older_than_a_week_are_refused_and_dropped() -> None:
    world = World(3, workers=0)
    world.leap(9 * DAY)
    world.client("kubernetes-admin", "helm").create("namespaces", "", bootstrap.namespace("observe"))
    world.apply(bootstrap.manifest("logging.yaml"))
    world.run_for(MINUTE)
    (agent,) = [run for run in world.machines["control-plane"].runtime.containers() if run.spec.name == "promtail"]
    log = kubectl(world, f"logs -n observe {agent.spec.pod_name}")
    assert 'msg="final error sending batch, no retries left, dropping data" status=400' in log
    assert "has timestamp too old" in log


def test_its_disk_is_empty_after_the_pod_is_gone_and_full_after_the_container_is(world: World) -> None:
    before = store_of(world)
    run = run_of(world, "loki")
    run.exit(1)
    world.run_for(MINUTE)
    assert store_of(world) is before
    assert lines(world, '{app="frontend"}', 30 * SECOND)
    kubectl(world, "delete pod -n observe loki-0")
    world.run_for(MINUTE)
    assert store_of(world) is not before
    oldest = lines(world, '{app="frontend"}')[0][0]
    assert oldest > world.sim.now - 2 * MINUTE


def test_the_journal_of_every_node_is_read(world: World) -> None:
    units = {dict(one).get("unit") for one in store_of(world).streams([], 0, 1 << 62)}
    assert "kubelet.service" in units
    for name, machine in world.machines.items():
        kept = [text for _, text in lines(world, f'{{job="systemd-journal", node_name="{name}"}}')]
        written = [line.text for line in machine.log]
        assert sorted(kept) == sorted(written[: len(kept)])
        assert len(kept) > 20


def answers(world: World, texts: Sequence[str]) -> list[list[tuple[int, str]]]:
    return [lines(world, text) for text in texts]


def test_forks_and_pickles_have_the_same_logs_now_and_later(world: World) -> None:
    texts = ('{app="frontend"}', '{job="systemd-journal"}', '{app="chat"}')
    twin, frozen = world.fork(), pickle.loads(pickle.dumps(world))
    for other in (twin, frozen):
        assert answers(other, texts) == answers(world, texts)
    for each in (world, twin, frozen):
        each.run_for(20 * SECOND)
    assert answers(twin, texts) == answers(world, texts) == answers(frozen, texts)
    assert twin.sim.digest.hex() == world.sim.digest.hex() == frozen.sim.digest.hex()
