"""No decoration: every value of /proc, /sys and of tools for hardware moves with the machine, or says why not."""

from __future__ import annotations

import pytest

from simcluster.engine import MINUTE, SECOND
from simcluster.models.machine.container import Container
from simcluster.models.machine.containerspec import ContainerSpec
from simcluster.models.machine.hosttools.constants import CONSTANTS
from simcluster.models.machine.kernel.sysctltable import PARAMETERS
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage import IoDemand, load_file, slow
from tests.clusters.counting import Cell, cells
from tests.clusters.onemachine import one_machine, start

MIB = 1 << 20


def work(node: Machine, seconds: int) -> None:
    """A while of work on whatever runs."""
    for second in range(seconds):
        for container in node.containers():
            if container.running:
                node.report_demand(container, 0.7)
                container.use_cpu(SECOND * 7 // 10, SECOND // 10)
                node.os.connections(container, 20.0 + second % 3, 30.0, outgoing_per_s=5.0)
                if "sda" in node.disks and node.disks["sda"].present:
                    files = node.files_at("/var/local-path-provisioner/x")
                    demand = IoDemand(random_reads=20.0, read_bytes=81920.0, writes=10.0, fsyncs=2.0, depth=8)
                    load_file(files, container.container_id, demand)
        node.nics["eth0"].report("pods", 2e6 + second * 1e4, 3e6)
        node.sim.run_for(SECOND)


@pytest.fixture(scope="module")
def seen() -> dict[Cell, dict[str, None]]:
    """Every value that a large and a small machine have shown through faults of all kinds."""
    found: dict[Cell, dict[str, None]] = {}

    def look(node: Machine) -> None:
        for cell, values in cells(node).items():
            found.setdefault(cell, {}).update(dict.fromkeys(values))

    small = one_machine(name="control-plane", cpu_cores=2, memory_bytes=4 << 30)
    start(small, "web", cpu_limit=0.25)
    work(small, 5)
    look(small)
    node = one_machine()
    web, database = start(node, "web", cpu_limit=1.0, memory_limit=256 * MIB, cpu_request=0.5), start(node, "db")
    look(node)
    beside = ContainerSpec("shop", "web", "uid-web", "sidecar", "acme/app:1.0")
    node.runtime.start_container(node.runtime.create_container(node.runtime.sandboxes["uid-web"], beside, 0))
    web.set_memory(100 * MIB)
    work(node, 10)
    look(node)
    break_everything(node, web, database)
    work(node, 60)
    web.set_memory(255 * MIB)
    database.set_memory(3000 * MIB)  # little is left: everybody reclaims
    work(node, 6)
    look(node)
    for disk in node.disks.values():
        disk.hang(3 * SECOND)
    look(node)
    work(node, 5)
    node.disks["nvme0n1"].read(4096, 60_000)
    node.disks["sda"].fail_stop()
    node.disks["sda"].read(0, 8)
    web.set_memory(300 * MIB)  # the kernel kills it
    node.nics["eth0"].cut()
    node.sim.run_for(4 * MINUTE)
    look(node)
    node.disks["sda"].recover()
    node.power.cut()
    node.power.give()
    node.sim.run_for(2 * MINUTE)
    start(node, "again")
    work(node, 5)
    look(node)
    return found


def break_everything(node: Machine, web: Container, database: Container) -> None:
    """A fault of everything that can have one."""
    os = node.os
    os.fork(web, 3)
    os.pids.set_limit("uid-web", 16)
    os.fork(web, 9)
    os.shared_memory(database, MIB)
    os.descriptors.set_limit(web, 4096)
    os.failing(web, 1.0, 1.0)
    os.sysctls.set("net.netfilter.nf_conntrack_max", 170)
    os.backlog(web, 80, 9000.0, 300.0)
    node.steal_cpu(0.3)
    node.burden("batch", 3.0, memory_bytes=4 << 30)
    node.nics["eth0"].degrade(loss=0.05, bandwidth_bps=20_000_000)
    node.cooling.impair(0.1)
    node.dimms.err(1.0)
    for disk in node.disks.values():
        disk.fail_slow(slow.constant(50.0))
    drive = node.disks["sda"]
    drive.sectors.go_bad(40, 24)
    for lba in (40, 48):
        drive.read(lba, 8)
    drive.scrub()
    drive.write(48, 8)


def moves(cell: Cell, values: dict[str, None]) -> bool:
    """Whether a value is more than decoration: it moves, or the kernel's parameters have a test of their own."""
    return len(values) > 1 or cell.path.removeprefix("/proc/sys/").replace("/", ".") in PARAMETERS


def test_every_value_moves_or_stands_in_the_table(seen: dict[Cell, dict[str, None]]) -> None:
    stiff = [cell for cell, values in seen.items() if not moves(cell, values)]
    unknown = [cell for cell in stiff if not any(constant.names(*cell) for constant in CONSTANTS)]
    assert not [(cell, *seen[cell]) for cell in unknown]
    assert len(seen) > 900
    assert len(stiff) < 0.6 * len(seen)


def test_every_row_of_the_table_names_something_that_stays(seen: dict[Cell, dict[str, None]]) -> None:
    stiff = [cell for cell, values in seen.items() if not moves(cell, values)]
    idle = [constant for constant in CONSTANTS if not any(constant.names(*cell) for cell in stiff)]
    assert not idle
    assert all(constant.why for constant in CONSTANTS)
