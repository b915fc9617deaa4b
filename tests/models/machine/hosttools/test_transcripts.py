"""Every program of a node's host on a machine that is well, at work, and broken: all that it prints."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.hardware import MachineSpec
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.linux import LinuxMachine
from simcluster.models.machine.storage import slow
from simcluster.models.machine.storage.service import Rates
from simcluster.models.userland.outcome import Outcome
from tests.clusters.nodes import ScriptedCatalog
from tests.clusters.onemachine import one_machine, start
from tests.transcripts import check

_HERE = Path(__file__).parent
_GIB = 1 << 30
#: So many reports are waited for of a program that would go on for ever.
_PATIENCE = 4
_LOG = "/var/local-path-provisioner/volume/log"


class Scene:
    """A node with two containers, and what happens to it."""

    def __init__(self) -> None:
        self.node = one_machine()
        self.web = start(
            self.node, "web", command=("/usr/bin/web",), ports=(8080,), env=(("LISTEN", "8080"),),
            memory_limit=256 << 20, memory_request=64 << 20, cpu_limit=1.5,
        )  # fmt: skip
        self.db = start(self.node, "db", command=("/usr/bin/db", "-x"), env=(("MEMORY", str(90 << 20)),))
        self.disk = next(disk for disk in self.node.disks.values() if not disk.model.is_nvme)

    def run(self, line: str):
        line = line.replace("WEB", self.web.container_id).replace("DBPID", str(self.db.pid))
        command, _, given = line.partition(" <<< ")
        return self.node.run(shlex.split(command), given)

    def follow(self, line: str):
        """A command to its end, with all that it prints while time goes by."""
        result = self.run(line)
        stdout, stderr = "", ""
        for _ in range(_PATIENCE):
            if result is None:
                return None
            stdout, stderr = stdout + result.stdout, stderr + result.stderr
            if not result.delay_ns:
                break
            self.node.sim.run_for(result.delay_ns)
            if not result.then:
                break
            result = self.node.run(list(result.then), result.then_stdin)
        return Outcome(stdout, stderr, result.code)

    def neighbour(self) -> None:
        """Another machine on the network."""
        node = self.node
        spec = MachineSpec("worker-2", "172.18.0.4")
        self.other = LinuxMachine(node.sim, spec, node.network, ImageRegistry(node.sim), ScriptedCatalog())

    def read_and_write(self) -> None:
        """What a container does with a drive, and counts as its own."""
        rates = Rates(25.0, 4096.0, writes=50.0, write_size=16384.0, fsyncs=2.0)
        self.disk.load(f"sda1/{self.db.container_id}/data", rates, 600 * SECOND)

    def wait(self, seconds: str) -> None:
        self.node.sim.run_for(int(float(seconds) * SECOND))

    def work(self) -> None:
        """Processes, connections, CPU time, writes."""
        node = self.node
        node.burden("backup", 1.5, memory_bytes=_GIB, user="backup")
        node.report_demand(self.web, 1.2)
        node.os.connections(self.web, 1.0, 4.0)
        node.os.litter(self.web, 3)
        node.os.backlog(self.web, 8080, 900.0, 500.0, 128)
        node.os.shared_file(self.web, 8 << 20)
        node.nics["eth0"].report("people", 2.5e6, 4e6)
        files = node.files_at(_LOG)
        files.allocate(_LOG, 5 * _GIB)
        self.disk.load("db", Rates(40.0, 16384.0, 120.0, 8192.0), SECOND)

    def wear(self) -> None:
        """Everything breaks a little."""
        node = self.node
        node.nics["eth0"].degrade(bandwidth_bps=100_000_000, loss=0.02, big_loss=0.1, delay_ns=3_000_000)
        files = node.files_at(_LOG)
        files.spoil_random(_LOG, 3, "x")
        self.disk.scrub()
        node.cooling.impair(0.3)
        node.os.clock.set_drift(200.0)
        node.os.clock.step(700_000_000)
        node.os.hung("db", self.db.pid, 120)
        node.os.lockup(1, 22, "web", self.web.pid)

    def slow_disk(self) -> None:
        self.disk.fail_slow(slow.on_drive(slow.read_retries(0.5, 3), self.disk.model))

    def kill_disk(self) -> None:
        self.disk.fail_stop()

    def stop(self, unit: str) -> None:
        self.node.control("stop", unit)

    def end_db(self) -> None:
        self.db.exit(137, "OOMKilled")


@pytest.mark.parametrize("name", sorted(path.stem for path in _HERE.glob("*.transcript")))
def test_all_that_is_printed(request: pytest.FixtureRequest, name: str) -> None:
    scene = Scene()
    verbs = {
        "wait": scene.wait, "work": scene.work, "wear": scene.wear, "slow_disk": scene.slow_disk,
        "kill_disk": scene.kill_disk, "stop": scene.stop, "end_db": scene.end_db, "neighbour": scene.neighbour,
        "read_and_write": scene.read_and_write,
    }  # fmt: skip
    run = scene.follow if name.startswith("in_time") else scene.run
    check(request, _HERE / f"{name}.transcript", run, verbs)
