"""Programs that an operator brings to a node: packets, Service rules, namespaces, modules, units, kernel parameters."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.hosttools.tcpdump import FilterError, compiled
from simcluster.models.machine.kernel import sysctlfiles
from simcluster.models.machine.links.conversation import REFUSED, TIMEOUT, Conversation
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.network import ServiceKey
from tests.clusters.onemachine import one_machine, start

CLIENT = "172.18.0.9"


class Talk:
    """Who talks to whom in a test."""

    def __init__(self, *found: Conversation) -> None:
        self.found = list(found)

    def __call__(self) -> list[Conversation]:
        return self.found


def followed(machine: Machine, line: str, seconds: int) -> tuple[str, str]:
    """What a program prints in so many seconds."""
    argv, stdin, out, errors = tuple(line.split()), "", "", ""
    for _ in range(seconds + 1):
        said = machine.run(argv, stdin)
        assert said is not None
        out, errors = out + said.stdout, errors + said.stderr
        if not said.then:
            break
        machine.sim.run_for(said.delay_ns)
        argv, stdin = said.then, said.then_stdin
    return out, errors


def talking(outcome: str = "ok", per_s: float = 1.0) -> tuple[Machine, str]:
    machine = one_machine()
    address = start(machine, "web", ports=(8080,)).sandbox.address
    place = (address, 8080)
    talk = Conversation(CLIENT, ("10.96.0.9", 80), place, per_s, 1.0, outcome, 100, 200, 1_000_000, 0, "/x")
    machine.network.speakers.append(Talk(talk))
    return machine, address


def test_tcpdump_shows_requests_at_every_interface_they_pass() -> None:
    machine, address = talking()
    out, errors = followed(machine, "tcpdump -i any -nn port 8080", 3)
    assert errors.endswith("listening on any, link-type LINUX_SLL2 (Linux cooked v2), snapshot length 262144 bytes\n")
    syns = [line for line in out.splitlines() if "Flags [S]," in line]
    assert len(syns) == 6, out  # three requests, at the card and at the pod's interface
    assert f" > {address}.8080: Flags [S]" in syns[0]
    assert ": HTTP: GET /x HTTP/1.1" in out
    assert syns[0].split()[1:3] == ["eth0", "In"]
    stamps = [line.split()[0] for line in out.splitlines()]
    assert stamps == sorted(stamps)


def test_tcpdump_ends_by_count_and_says_so() -> None:
    machine, _ = talking()
    out, errors = followed(machine, "tcpdump -i eth0 -c 3", 20)
    assert out.count("\n") == 3
    assert "3 packets captured\n" in errors


@pytest.mark.parametrize(("outcome", "flags"), [(REFUSED, {"[S],", "[R.],"}), (TIMEOUT, {"[S],"})])
def test_who_gets_no_answer_is_seen(outcome: str, flags: set[str]) -> None:
    machine, _ = talking(outcome, 0.1)
    out, _ = followed(machine, "tcpdump -i any -nn", 12)
    assert {line.split("Flags ")[1].split()[0] for line in out.splitlines()} == flags


@pytest.mark.parametrize("text", ["port", "host", "foo bar", "port x", "( port 80", "tcp[99] & 7 != 0", "not"])
def test_filters_that_are_none(text: str) -> None:
    with pytest.raises(FilterError):
        compiled(text)


def test_filters_choose() -> None:
    machine, address = talking()
    for text, some in (
        (f"host {address} and tcp", True), ("not port 8080", False), ("udp", False), ("net 10.244.0.0/16", True),
        ("src port 8080", True), ("tcp[tcpflags] & (tcp-rst) != 0", False), (f"(dst host {address})", True),
    ):  # fmt: skip
        out, _ = followed(machine, f"tcpdump -i any -nn -q {text}", 2)
        assert bool(out) is some, text


def test_rules_of_services_in_each_mode() -> None:
    machine = one_machine()
    rules = [("10.244.1.7", 8080), ("10.244.1.8", 8080)]
    machine.network.set_rules(machine.name, ServiceKey("10.96.0.9", 80), tuple(rules))
    machine.network.set_rules(machine.name, ServiceKey("10.96.0.10", 80), ())

    def out(line: str) -> str:
        said = machine.run(line.split())
        assert said is not None
        return said.stdout

    assert "--to-destination 10.244.1.7:8080" in out("iptables-save")
    assert "dnat to 10.244.1.8:8080" in out("nft list ruleset")
    assert "10.96.0.10" in out("iptables -t filter -L KUBE-SERVICES -n")
    assert "10.96.0.9" not in out("ipvsadm -Ln")
    machine.network.rules[machine.name].mode = "ipvs"
    assert out("ipvsadm -Ln").count("  -> 10.244.1.") == 2
    assert "10.96.0.9" not in out("iptables-save")
    assert "ip_vs_rr" in out("lsmod")
    machine.network.rules[machine.name].mode = "nftables"
    assert out("nft list table ip kube-proxy").count("dnat to") == 2


def test_nsenter_shows_the_network_of_a_pod() -> None:
    machine, address = talking()
    pid = machine.containers()[0].pid
    shown = machine.run(["nsenter", "-t", str(pid), "-n", "ip", "addr"])
    assert shown is not None
    assert f"inet {address}/24" in shown.stdout
    assert "172.18.0.3" not in shown.stdout
    missing = machine.run(["nsenter", "-t", "99999", "-n", "ip", "addr"])
    assert missing is not None
    assert missing.stderr == "nsenter: cannot open /proc/99999/ns/net: No such file or directory\n"


def test_what_ends_by_itself_starts_again_as_its_unit_says() -> None:
    machine = one_machine()
    kubelet, cron = machine.units.units["kubelet.service"], machine.units.units["cron.service"]
    machine.signal_unit("kubelet.service", "KILL")
    machine.signal_unit("cron.service", "TERM")
    machine.sim.run_for(9 * SECOND)
    assert not kubelet.active
    assert machine.is_restarting("kubelet.service")
    machine.sim.run_for(2 * SECOND)
    assert kubelet.active
    assert kubelet.restarts == 1
    assert not cron.active  # on-failure: a clean end is none
    machine.control("stop", "kubelet")
    machine.sim.run_for(60 * SECOND)
    assert not kubelet.active
    assert machine.control("mask", "cron") == ""
    assert machine.control("start", "cron") == "Failed to start cron.service: Unit cron.service is masked."


def test_parameters_last_if_they_stand_in_a_file() -> None:
    machine = one_machine()
    machine.files.make_folder("/etc/sysctl.d")
    machine.files.write("/etc/sysctl.d/50-x.conf", "# mine\nkernel.pid_max=30000\n-no.such = 1\n")
    assert sysctlfiles.apply_all(machine)[2] == 0
    machine.os.sysctls.set("vm.panic_on_oom", 1)
    machine.power.cut()
    machine.power.give()
    machine.sim.run_for(120 * SECOND)
    assert machine.os.sysctls.get("kernel.pid_max") == "30000"
    assert machine.os.sysctls.get("vm.panic_on_oom") == "0"


def test_modules_are_loaded_until_the_next_boot() -> None:
    machine = one_machine()
    assert machine.run(["modprobe", "wireguard"]) is not None
    loaded = machine.run(["lsmod"])
    assert loaded is not None
    assert "wireguard " in loaded.stdout
    refused = machine.run(["modprobe", "nothing"])
    assert refused is not None
    where = "directory /lib/modules/6.8.0-45-generic"
    assert refused.stderr == f"modprobe: FATAL: Module nothing not found in {where}.\n"
    used = machine.run(["rmmod", "overlay"])
    assert used is not None
    assert "is in use" in used.stderr
