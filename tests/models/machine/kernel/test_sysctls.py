"""Every parameter that is shown acts, or refuses to be written: none takes a value that changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simcluster.engine import MINUTE, SECOND
from simcluster.models.machine.kernel import memory
from simcluster.models.machine.kernel.descriptors import SYSTEM_FILES
from simcluster.models.machine.kernel.sysctltable import ACTING, FIXED, PARAMETERS
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage import IoDemand, load_file
from tests.clusters.onemachine import one_machine, said, start


def _file_max(node: Machine) -> object:
    return node.os.open(start(node, "web"), count=500)


def _nr_open(node: Machine) -> object:
    web = start(node, "web")
    try:
        node.os.descriptors.set_limit(web, 5000)
    except ValueError as error:
        return str(error)
    return node.os.descriptors.limit(web)


def _hung(node: Machine) -> object:
    for _ in range(12):
        node.os.hung("app", 7, 120)
    return len(said(node))


def _stuck(node: Machine) -> object:
    node.os.lockup(0, 40, "kworker/0:1", 9)
    node.sim.run_for(2 * MINUTE)
    return (len(said(node)), node.runs, len(node.boots))


def _dumb_drive(node: Machine) -> object:
    web = start(node, "web")
    files = node.files_at("/var/local-path-provisioner/x")
    for second in range(40):
        load_file(files, web.container_id, IoDemand(random_reads=200.0, read_bytes=819200.0, depth=8))
        node.sim.run_for(SECOND)
        if second == 5:
            node.disks["sda"].hang(25 * MINUTE)
    return any("blocked for more than" in line for line in said(node))


def _forks(node: Machine) -> object:
    return node.os.fork(start(node, "web"), 1500)


def _listener(node: Machine) -> object:
    web = start(node, "web")
    return (node.os.backlog(web, 80, 900.0, 50.0), len(said(node)))


def _ways(node: Machine) -> object:
    return node.network.path(node.name, "", "10.244.1.9", "10.244.2.9").cut


def _ports(node: Machine, seconds: int = 120) -> object:
    web = start(node, "web")
    web.sandbox.host_network = True  # a pod has a range of its own
    node.os.connections(web, 0.0, 0.0, outgoing_per_s=600.0)
    node.sim.run_for(seconds * SECOND)
    return node.os.connections(web, 0.0, 0.0, outgoing_per_s=600.0).refused


def _few_ports(node: Machine) -> object:
    return _ports(node, 20)


def _tracked(node: Machine) -> object:
    web = start(node, "web")
    node.os.connections(web, 50.0, 10.0)
    node.os.failing(web, 10.0, 10.0)
    node.sim.run_for(3 * MINUTE)
    return (node.os.conntrack.count, node.os.conntrack.dropped_share)


def _memory(node: Machine) -> object:
    found = memory.info(node, 0)
    return (found.free, found.available, node.memory_ceiling)


def _kills(node: Machine) -> object:
    large, small = start(node, "large"), start(node, "small", memory_request=6 << 30)
    large.set_memory(5 << 30)
    small.set_memory(3 << 30)
    node.sim.run_for(2 * MINUTE)
    return (large.reason, small.reason, len(node.boots), node.runs)


def _panics(node: Machine) -> object:
    node.panic("test")
    node.sim.run_for(3 * MINUTE)
    return node.runs


#: What to look at, and the value that changes it (a second parameter that has to be set first).
EFFECTS: dict[str, tuple[Callable[[Machine], object], str, tuple[str, str] | None]] = {
    "fs.file-max": (_file_max, str(SYSTEM_FILES + 100), None),
    "fs.nr_open": (_nr_open, "4000", None),
    "kernel.hung_task_timeout_secs": (_dumb_drive, "5", None),
    "kernel.hung_task_warnings": (_hung, "2", None),
    "kernel.panic": (_panics, "0", None),
    "kernel.pid_max": (_forks, "400", None),
    "kernel.softlockup_panic": (_stuck, "1", None),
    "kernel.threads-max": (_forks, "400", None),
    "kernel.watchdog_thresh": (_stuck, "5", None),
    "net.core.somaxconn": (_listener, "128", None),
    "net.ipv4.ip_forward": (_ways, "0", None),
    "net.ipv4.ip_local_port_range": (_few_ports, "32768 33768", None),
    "net.ipv4.tcp_max_syn_backlog": (_listener, "128", ("net.ipv4.tcp_syncookies", "0")),
    "net.ipv4.tcp_syncookies": (_listener, "0", None),
    "net.ipv4.tcp_tw_reuse": (_ports, "1", None),
    "net.netfilter.nf_conntrack_max": (_tracked, "200", None),
    "net.netfilter.nf_conntrack_tcp_timeout_close": (_tracked, "5", None),
    "net.netfilter.nf_conntrack_tcp_timeout_established": (_tracked, "5", None),
    "net.netfilter.nf_conntrack_tcp_timeout_syn_sent": (_tracked, "5", None),
    "net.netfilter.nf_conntrack_tcp_timeout_time_wait": (_tracked, "10", None),
    "net.netfilter.nf_conntrack_udp_timeout": (_tracked, "5", None),
    "net.nf_conntrack_max": (_tracked, "200", None),
    "vm.min_free_kbytes": (_memory, "1048576", None),
    "vm.oom_kill_allocating_task": (_kills, "1", None),
    "vm.panic_on_oom": (_kills, "1", None),
}


def test_every_parameter_acts_or_is_fixed_with_a_reason() -> None:
    assert [parameter.name for parameter in ACTING] == list(EFFECTS)
    assert all(parameter.readers and not parameter.refused for parameter in ACTING)
    assert all(parameter.refused and not parameter.readers for parameter in FIXED)
    shown = one_machine().run(["sysctl", "-a"])
    assert shown is not None
    assert [line.split(" = ")[0] for line in shown.stdout.splitlines()] == list(PARAMETERS)


@pytest.mark.parametrize("name", EFFECTS)
def test_what_is_written_changes_something(name: str) -> None:
    look, value, first = EFFECTS[name]
    before, after = one_machine(), one_machine()
    for node in (before, after):
        if first is not None:
            assert node.os.sysctls.set(*first) == ""
    assert after.os.sysctls.set(name, value) == ""
    assert after.os.sysctl(name).split() == value.split()
    assert look(before) != look(after)


@pytest.mark.parametrize("parameter", FIXED, ids=lambda parameter: parameter.name)
def test_what_changes_nothing_cannot_be_written(parameter: object) -> None:
    node, name = one_machine(), parameter.name  # type: ignore[attr-defined]
    shown = node.os.sysctl(name)
    answer = node.run(["sysctl", "-w", f"{name}=1"])
    assert answer is not None
    assert answer.stderr == f'sysctl: permission denied on key "{name}"\n'
    assert node.os.sysctl(name) == shown


@pytest.mark.parametrize("parameter", ACTING, ids=lambda parameter: parameter.name)
def test_what_the_kernel_does_not_take_is_an_invalid_argument(parameter: object) -> None:
    node, name = one_machine(), parameter.name  # type: ignore[attr-defined]
    words = node.os.sysctl(name).split()
    for wrong in (parameter.low - 1, parameter.high + 1, "many"):  # type: ignore[attr-defined]
        value = " ".join([str(wrong)] * len(words))
        assert node.os.sysctls.set(name, value) == f'sysctl: setting key "{name}": Invalid argument'
    assert node.os.sysctls.set(name, "") == f'sysctl: setting key "{name}": Invalid argument'


def test_a_reboot_forgets_what_no_file_says() -> None:
    node = one_machine()
    node.os.sysctls.set("net.core.somaxconn", 7)
    node.power.cut()
    node.power.give()
    node.sim.run_for(2 * MINUTE)
    assert node.os.sysctl("net.core.somaxconn") == "4096"


def test_a_panic_stops_everything_and_boots_again_after_its_time() -> None:
    node = one_machine()
    web = start(node, "web")
    node.os.sysctls.set("vm.panic_on_oom", 1)
    web.set_memory(9 << 30)
    assert not node.runs
    assert not web.running
    node.sim.run_for(5 * SECOND)
    assert not node.power.on
    node.sim.run_for(2 * MINUTE)
    assert node.runs
    assert "OS Critical Stop" in node.run(["ipmitool", "sel", "list"]).stdout  # type: ignore[union-attr]


def test_a_node_that_forwards_nothing_still_reaches_its_own_pods() -> None:
    node = one_machine()
    links = node.network.links
    node.os.sysctls.set("net.ipv4.ip_forward", 0)
    assert not links.path(node.name, node.name, "", "10.244.1.9").cut
    assert links.path(node.name, node.name, "10.244.1.8", "10.244.1.9").cut
    assert links.path("other", node.name, "", "10.244.1.9").cut
    assert not links.path("other", node.name, "", node.address).cut
    node.os.sysctls.set("net.ipv4.ip_forward", 1)
    assert links.calm


def test_a_parameter_is_written_as_a_file_with_a_redirection() -> None:
    node = one_machine()
    path = "/proc/sys/net/ipv4/ip_forward"
    done = node.run(["bash", "-c", f"echo 0 > {path}; cat {path}; echo 2 > {path}; cat {path}"])
    assert done is not None
    assert (done.stdout, done.stderr.rpartition(": ")[2]) == ("0\n0\n", "Invalid argument\n")
