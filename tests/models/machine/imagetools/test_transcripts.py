"""Commands and scripts inside a container: all that they print, their exit status and the time they take."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.containerspec import Mount
from simcluster.models.machine.imagetools.execute import timed
from simcluster.models.machine.network import ServiceKey
from simcluster.models.userland.outcome import Outcome
from tests.clusters.onemachine import one_machine, start
from tests.transcripts import check

_HERE = Path(__file__).parent


class Scene:
    """A container `cli`, servers behind Services, names of which some do not resolve."""

    def __init__(self) -> None:
        self.node = one_machine()
        network = self.node.network
        self.ok = start(self.node, "ok", ports=(8080,), env=(("LISTEN", "8080"), ("FAIL", "/bad"), ("DELAY_MS", "7")))
        self.slow = start(self.node, "slow", env=(("LISTEN", "80"), ("DELAY_MS", "4000"), ("STATUS", "500")))
        mounts = (
            Mount("/etc/config", "configMap", (("a.conf", "x=1\ny=2\n"), ("b.conf", "")), True, "config"),
            Mount("/cache", "emptyDir", (), False, "cache"),
        )
        self.cli = start(
            self.node, "cli", env=(("COLOUR", "blue"), ("EMPTY", "")), mounts=mounts, cpu_limit=0.5,
            memory_limit=64 << 20,
        )  # fmt: skip
        for number, (name, container, port) in enumerate(
            (("ok", self.ok, 8080), ("slow", self.slow, 80), ("none", None, 80), ("closed", self.slow, 81))
        ):
            address = f"10.96.1.{number + 1}"
            backends = () if container is None else ((container.sandbox.address, port),)
            network.set_rules("worker-1", ServiceKey(address, 80), backends)
            network.set_name(f"{name}.shop.svc.cluster.local", address)
        network.set_names("peers.shop.svc.cluster.local", ("10.244.1.2", "10.244.1.3"))
        network.set_alias("far.shop.svc.cluster.local", "db.example.com")
        network.more_records["peers.shop.svc.cluster.local", "SRV"] = ("0 50 8080 ok-0.peers.shop.svc.cluster.local.",)
        network.set_rules("worker-1", ServiceKey("10.96.1.9", 80), (), drop=True)
        network.set_name("dropped.shop.svc.cluster.local", "10.96.1.9")

    def run(self, line: str) -> Outcome | None:
        command, _, given = line.partition(" <<<< ")
        done = timed(self.cli, ["sh", "-c", command], given)
        if done is None:
            return None
        took = f"{done.delay_ns} ns\n" if done.delay_ns else ""
        return done.result._replace(stderr=done.result.stderr + took)

    def wait(self, seconds: str) -> None:
        self.node.sim.run_for(int(float(seconds) * SECOND))


@pytest.mark.parametrize("name", sorted(path.stem for path in _HERE.glob("*.transcript")))
def test_all_that_is_printed(request: pytest.FixtureRequest, name: str) -> None:
    scene = Scene()
    check(request, _HERE / f"{name}.transcript", scene.run, {"wait": scene.wait})
