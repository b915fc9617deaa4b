"""Tools that show the same thing show the same: drives, mounts, processes, connections, boots."""

from __future__ import annotations

import json
import re

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.machine import Machine
from tests.clusters.onemachine import one_machine, start


@pytest.fixture
def node() -> Machine:
    return one_machine()


def out(machine: Machine, line: str) -> str:
    answer = machine.run(line.split())
    assert answer is not None, line
    return answer.stdout


def test_a_booted_node_has_said_so(node: Machine) -> None:
    node.sim.run_for(5 * SECOND)
    lines = out(node, "dmesg").splitlines()
    assert lines[0].startswith("[    0.000000] Linux version 6.8.0-45-generic ")
    stamps = [float(line[1:13]) for line in lines]
    assert stamps == sorted(stamps)
    assert f"smp: Brought up 1 node, {node.cpu_cores} CPUs" in out(node, "dmesg")
    serial = next(disk for disk in node.disks.values() if not disk.model.is_nvme)
    assert f"[{serial.name}] {serial.model.sectors} 512-byte logical blocks" in out(node, "dmesg")
    assert out(node, "dmesg --level=err,warn") == ""
    assert out(node, "dmesg -C") == ""
    assert out(node, "dmesg") == ""


def test_each_boot_has_its_lines_and_dmesg_shows_the_last() -> None:
    node = one_machine()
    node.sim.run_for(60 * SECOND)
    node.kernel("before")
    node.power.cut()
    node.power.give()
    node.sim.run_for(120 * SECOND)
    assert "before" not in out(node, "dmesg")
    kernel = [line.text for line in node.journal() if line.identifier == "kernel"]
    assert sum(1 for text in kernel if text.startswith("Linux version")) == 2
    assert "before" in kernel
    assert out(node, "last reboot").count("system boot") == 2


def test_smart_as_text_in_brief_and_as_json(node: Machine) -> None:
    found = json.loads(out(node, "smartctl -j -x /dev/sda"))
    table = {row["id"]: row["raw"]["value"] for row in found["ata_smart_attributes"]["table"]}
    for option in ("-A", "-x"):
        for line in out(node, f"smartctl {option} /dev/sda").splitlines():
            cells = line.split()
            if len(cells) > 6 and cells[0].isdigit() and int(cells[0]) in table:
                assert int(cells[-1]) == table[int(cells[0])], line
    assert found["smart_status"] == {"passed": True}
    assert found["serial_number"] in out(node, "smartctl -i /dev/sda")
    health = json.loads(out(node, "smartctl -j -A /dev/nvme0n1"))["nvme_smart_health_information_log"]
    assert f"power_on_hours                         : {health['power_on_hours']:,}" in out(
        node, "nvme smart-log /dev/nvme0"
    ).replace(str(health["power_on_hours"]), f"{health['power_on_hours']:,}")


def test_mounts_alike_in_all_places(node: Machine) -> None:
    start(node, "web")
    points = [line.split()[2] for line in out(node, "mount").splitlines()]
    assert points == [line.split()[1] for line in out(node, "cat /proc/mounts").splitlines()]
    assert {line.split()[-1] for line in out(node, "df").splitlines()[1:]} <= set(points)
    assert out(node, "df -h -t ext4").count("\n") == 3
    assert "64M" in next(line for line in out(node, "df -h").splitlines() if line.startswith("shm"))


def test_connections_are_between_addresses_that_there_are(node: Machine) -> None:
    web, other = start(node, "web", ports=(8080,)), start(node, "other", ports=(6379,))
    node.os.connections(web, 20.0, 40.0)
    known = {web.sandbox.address, other.sandbox.address, node.address}
    for line in out(node, "conntrack -L").splitlines():
        source, destination = re.findall(r"(?:src|dst)=(\S+)", line)[:2]
        assert {source, destination} <= known, line
    assert f"dst={web.sandbox.address} sport=" in out(node, f"conntrack -L -d {web.sandbox.address} --dport 8080")


def test_trees_of_processes(node: Machine) -> None:
    container = start(node, "web", command=("/usr/bin/web",))
    assert node.os.litter(container, 3) == ""
    tree = out(node, "pstree -p")
    assert f"web({container.pid})" in tree
    assert "3*[web]" in out(node, f"pstree {container.pid}")
    forest = out(node, "ps axf")
    assert "\\_ /usr/bin/web" in forest
    assert forest.count("<defunct>") == 3
    assert "  3 zombie" in out(node, "top -b -n 1")
    assert out(node, "ps -eo wchan:12,comm").splitlines()[1].startswith("do_epoll_wai ")
