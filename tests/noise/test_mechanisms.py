"""Each disturbance in a living cluster: it bites, and it heals by itself."""

from __future__ import annotations

from typing import Any

import pytest

import simcluster
from simcluster.engine import SECOND, Snapshot
from simcluster.noise.plan import mechanisms
from simcluster.noise.spared import Spared
from simcluster.session.sandbox import Sandbox

SAID = 'i=0; while [ $i -lt 20 ]; do echo "row $i"; i=$((i+1)); sleep 1; done'


@pytest.fixture(scope="module")
def box() -> Snapshot[Sandbox]:
    made = simcluster.sandbox(nodes=3)
    made.kubectl("create deployment web --image=nginx:1.27 --replicas=2")
    made.kubectl("create deployment api --image=nginx:1.27 --replicas=1")
    made.kubectl("rollout status deployment/web")
    made.kubectl("rollout status deployment/api")
    return Snapshot(made)


def begun(box: Sandbox, name: str, **params: Any) -> tuple[Any, str]:
    kind = mechanisms()[name]
    made = kind("default", Spared(workloads=("api",)), kind.Params.model_validate(params))
    return made, made.begin(box.world, box.world.sim.stream("test"))


def test_a_pod_fails_and_comes_back(box: Snapshot[Sandbox]) -> None:
    here = box.restore()
    made, what = begun(here, "pod_failure")
    pod = what.split()[0]
    here.wait("20s")
    assert pod.startswith("web-")
    assert "registry.k8s.io/pause" in here.kubectl(f"get pod {pod} -o jsonpath='{{.spec.containers[*].image}}'").stdout
    made.end(here.world, what)
    here.wait("60s")
    got = here.kubectl(f"get pod {pod} --no-headers").stdout.split()
    assert got[1:3] == ["1/1", "Running"]
    assert int(got[3]) >= 2
    assert here.kubectl(f"get pod {pod} -o jsonpath='{{.spec.containers[*].image}}'").stdout == "nginx:1.27"


def test_a_pods_link_is_late_until_it_is_not(box: Snapshot[Sandbox]) -> None:
    here = box.restore()
    made, address = begun(here, "pod_link", delay_ms=500, jitter_ms=200)
    assert address in here.kubectl("get pods -l app=web -o wide").stdout
    assert here.world.network.links.shapes[address].delay_ns == 500_000_000
    again, other = begun(here, "pod_link", loss=0.5)
    assert other not in ("", address)
    for one, what in ((made, address), (again, other)):
        one.end(here.world, what)
    assert not here.world.network.links.shapes


def test_a_restart_replaces_all_pods_of_one_deployment(box: Snapshot[Sandbox]) -> None:
    here = box.restore()
    before = set(here.kubectl("get pods -l app=web -o name").stdout.split())
    assert begun(here, "restart")[1] == "web"
    here.wait("90s")
    after = set(here.kubectl("get pods -l app=web -o name").stdout.split())
    assert len(after) == 2
    assert not after & before


def test_another_teams_job_says_something_and_goes(box: Snapshot[Sandbox]) -> None:
    here = box.restore()
    made, name = begun(here, "errand", script=SAID)
    here.wait("30s")
    assert "row 19" in here.kubectl(f"logs -n reporting job/{name}").stdout
    made.end(here.world, name)
    here.wait("60s")
    assert "No resources found" in here.kubectl("get jobs,pods -n reporting").stderr


def test_a_job_without_a_node_is_pending(box: Snapshot[Sandbox]) -> None:
    here = box.restore()
    begun(here, "errand", script="true", node_selector={"accelerator": "a100"})
    here.wait("10s")
    assert here.kubectl("get pods -n reporting --no-headers").stdout.split()[2] == "Pending"


def test_a_note_is_young_and_changes_nothing(box: Snapshot[Sandbox]) -> None:
    here = box.restore()
    pods = here.kubectl("get pods -o name").stdout
    assert begun(here, "note")[1] == "web-settings"
    assert begun(here, "note")[1] == "web-settings"
    here.world.run_for(30 * SECOND)
    assert here.kubectl("get pods -o name").stdout == pods
    assert "prepare settings of web" in here.kubectl("rollout history deployment/web").stdout
