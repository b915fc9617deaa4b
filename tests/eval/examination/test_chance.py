"""What is chance is no harm: races that end otherwise under other draws, and containers that wait to be tried again."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar, cast

import yaml

import simcluster
from simcluster.engine import SECOND, Snapshot
from simcluster.eval.examination.examiner import _by_chance
from simcluster.eval.examination.trials import Norm, Trial
from simcluster.eval.oracles.mitigation import PATIENCE_NS, _tried_again
from simcluster.world import World

POD = """
apiVersion: v1
kind: Pod
metadata: {generateName: lot-, namespace: default}
spec: {containers: [{name: c, image: "busybox:1.36", args: [sleep, "9"]}]}
"""
CAREFUL = """
apiVersion: v1
kind: Pod
metadata: {name: careful, namespace: default}
spec:
  nodeName: worker-1
  containers:
    - name: c
      image: busybox:1.36
      args: [sh, -c, "cat /data/ok && sleep 100000"]
      volumeMounts: [{name: d, mountPath: /data}]
  volumes: [{name: d, hostPath: {path: /srv/careful, type: DirectoryOrCreate}}]
"""


def lot(world: World) -> str:
    """What is drawn: how long a pod's image takes to be pulled."""
    world.client("kubernetes-admin", "kubectl").create("pods", "default", yaml.safe_load(POD))
    world.run_for(60 * SECOND)
    pulled = [one["message"] for one in world.api.store.objects("events", "default") if one["reason"] == "Pulled"]
    return str(pulled[0])


@dataclass(frozen=True)
class Lottery(Trial):
    """Survived by whoever draws something else."""

    bad: tuple[str, ...] = ()
    group: ClassVar[str] = "loss"
    verb: ClassVar[str] = "is drawn"

    def begin(self, world: World, norm: Norm) -> str:
        """Nothing."""
        return ""

    def take(self, world: World, norm: Norm) -> str:
        """Draw."""
        drawn = lot(world)
        return "bad luck" if not self.bad or drawn in self.bad else ""


@dataclass(frozen=True)
class Passing(Lottery):
    """The same, where nothing is done to a world."""

    group: ClassVar[str] = "at rest"


def test_what_is_survived_under_other_draws_is_chance() -> None:
    rest, norm = (
        Snapshot(simcluster.sandbox(nodes=1).world),
        cast("Norm", SimpleNamespace(task=SimpleNamespace(namespace="default"), critical=[])),
    )
    bad = lot(rest.restore())
    assert lot(rest.restore()) == bad
    assert Lottery("lot", (bad,)).take(rest.restore(), norm) == "bad luck"
    assert _by_chance(Lottery("lot", (bad,)), rest, norm) == "under other draws it does"
    assert _by_chance(Lottery("lot"), rest, norm) == ""  # nobody survives it
    assert _by_chance(Passing("lot", (bad,)), rest, norm) == ""  # there is no race in what comes by itself


def test_who_waits_out_a_back_off_is_tried_again_before_anybody_judges() -> None:
    box = simcluster.sandbox(nodes=1)
    box.kubectl("apply -f -", stdin=CAREFUL)
    box.wait("20m")
    assert "CrashLoopBackOff" in box.kubectl("get pod careful").stdout
    hopeless = box.fork()
    box.node("worker-1").sh("touch /srv/careful/ok")
    began = box.world.sim.now
    _tried_again(box.world, "default")
    assert 0 < box.world.sim.now - began < PATIENCE_NS
    box.world.run_for(20 * SECOND)
    assert "1/1" in box.kubectl("get pod careful").stdout
    began = box.world.sim.now
    _tried_again(box.world, "default")
    assert box.world.sim.now == began  # nobody waits
    began = hopeless.world.sim.now
    _tried_again(hopeless.world, "default")
    assert hopeless.world.sim.now - began < PATIENCE_NS  # tried once more, and that is that
    assert "1/1" not in hopeless.kubectl("get pod careful").stdout
