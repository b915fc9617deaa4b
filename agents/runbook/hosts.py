"""Rules about what is below Kubernetes: clocks, tables, links and foreign processes of the nodes that pods run on."""

from __future__ import annotations

import re
from itertools import pairwise

from simcluster.agents.runbook.reading import Act, Finding, Reading, condition_of
from simcluster.surface.protocols import Shell

#: A process that is no container's and uses more than this share of a node's cores is suspect.
GREEDY_SHARE = 0.5
#: Frames with errors, as a share of those received, from which on an interface is bad.
BAD_FRAMES = 0.02
#: Seconds over which they are counted.
COUNTED_S = 10
_FRAMES = "ip -s link show eth0"
#: A clock below this share of its maximum, on a machine with work to do, has been lowered.
SLOW_CLOCK = 0.9
_CLOCK = "/sys/devices/system/cpu/cpu0/cpufreq"
#: Entries as a share of the largest number of them.
FULL_PERCENT = 97
#: What Linux gives a node of 8 GiB.
USUAL_CONNTRACK = 131072
_CHRONY = "/etc/chrony/chrony.conf"
_UNREACHED = re.compile(r"^\^\? (\S+)", re.MULTILINE)
_REACHED = re.compile(r"^\^\* (\S+)", re.MULTILINE)
_TABLE = "net.netfilter.nf_conntrack_"
#: What runs on every node: daemons that may be busy.
_USUAL_UNITS = ("chrony", "containerd", "cron", "dbus", "kubelet", "rsyslog", "ssh", "systemd-", "user@", "getty")
_DAEMONS = ("kubelet", "containerd", "systemd-journal", "kube-proxy", "dockerd")


def wrong_clocks(reading: Reading) -> list[Finding]:
    """A node that is not Ready although its kubelet runs: does anybody keep its clock?"""
    findings = []
    for name in _not_ready(reading):
        shell = reading.session.node(name)
        if "x509" not in shell.sh("journalctl -u kubelet -n 40 --no-pager").stdout:
            continue
        shell.sh("timedatectl")
        if shell.sh("systemctl is-active chrony").stdout.strip() != "active":
            acts = (Act(node=name, sh="systemctl start chrony"), Act(wait="60s"))
            mechanism = "clock drift: chrony does not run, certificates are not valid by the node's clock"
            findings.append(Finding(f"Node/{name}", mechanism, {"unit": "chrony"}, (name,), acts))
            continue
        lost = _UNREACHED.findall(shell.sh("chronyc -n sources").stdout)
        good = _time_server(reading, name)
        if not lost or not good:
            continue
        mend = f"sed -i 's/{re.escape(lost[0])}/{good}/' {_CHRONY} && systemctl restart chrony"
        mechanism = "clock drift: chrony has no reachable source, certificates are not valid by the node's clock"
        acts = (Act(node=name, sh=mend), Act(wait="60s"))
        findings.append(Finding(f"Node/{name}", mechanism, {"server": lost[0]}, (name,), acts))
    return findings


def _time_server(reading: Reading, but: str) -> str:
    """The time server that another node reaches; "" if none does."""
    for node in reading.objects("nodes"):
        name = node["metadata"]["name"]
        if name != but:
            found = _REACHED.search(reading.session.node(name).sh("chronyc -n sources").stdout)
            if found:
                return found[1]
    return ""


def _not_ready(reading: Reading) -> list[str]:
    nodes = reading.objects("nodes")
    return [n["metadata"]["name"] for n in nodes if condition_of(n, "Ready").get("status") != "True"]


def full_tables(reading: Reading) -> list[Finding]:
    """Nodes whose connection tracking table is full: make it as large as usual."""
    findings = []
    for name in _nodes_in_use(reading):
        text = reading.session.node(name).sh(f"sysctl -n {_TABLE}count {_TABLE}max").stdout.split()
        numbers = [int(word) for word in text if word.isdigit()]
        if len(numbers) == 2 and numbers[1] > 0 and numbers[0] * 100 >= numbers[1] * FULL_PERCENT:
            act = Act(node=name, sh=f"sysctl -w {_TABLE}max={max(USUAL_CONNTRACK, 4 * numbers[1])}")
            details = {"nf_conntrack_max": str(numbers[1])}
            findings.append(Finding(f"Node/{name}", "conntrack table full", details, (name,), (act,)))
    return findings


def bad_links(reading: Reading) -> list[Finding]:
    """Nodes whose interface receives broken frames now: move the pods away, and let nobody come.

    Its counters are as old as the machine, so where there are errors a second look tells what has come since.
    """
    findings = []
    for name in _nodes_in_use(reading):
        shell = reading.session.node(name)
        before = received_frames(shell.sh(_FRAMES).stdout)
        if not before[1]:
            continue
        after = received_frames(shell.sh(f"sleep {COUNTED_S}; {_FRAMES}").stdout)
        received, errors = (now - then for now, then in zip(after, before, strict=True))
        if received > 0 and errors >= BAD_FRAMES * received:
            acts = moved_away(reading, name)
            mechanism = "packet loss at the network interface, retransmissions"
            findings.append(Finding(f"Node/{name}", mechanism, {"nic": "eth0"}, (name,), acts))
    return findings


def moved_away(reading: Reading, node: str) -> tuple[Act, ...]:
    """Let nobody come to a node, and bring up elsewhere what runs there before it ends there."""
    acts = [Act(f"cordon {node}")]
    for namespace in reading.namespaces:
        there = [
            deployment["metadata"]["name"]
            for deployment in reading.objects("deployments", namespace)
            if node in [pod["spec"].get("nodeName") for pod in reading.pods_of(deployment)]
        ]
        if there:
            acts.append(Act(f"rollout restart deployment -n {namespace} {' '.join(there)}"))
        acts += [Act(f"rollout status deployment/{name} -n {namespace} --timeout=180s") for name in there]
    return tuple(acts)


def received_frames(text: str) -> tuple[int, int]:
    """Packets and errors received, as `ip -s link` prints them; (0, 0) if it does not.

    >>> received_frames("    RX:  bytes packets errors dropped  missed   mcast\\n       100      10      3       0 0 0")
    (10, 3)
    """
    lines = text.splitlines()
    for line, numbers in pairwise(lines):
        cells = numbers.split()
        if line.strip().startswith("RX:") and len(cells) >= 3 and all(cell.isdigit() for cell in cells[:3]):
            return int(cells[1]), int(cells[2])
    return 0, 0


def hot_processors(reading: Reading) -> list[Finding]:
    """Nodes whose processor has lowered its clock for its temperature: move the pods away, and let nobody come."""
    findings = []
    for name in _nodes_in_use(reading):
        shell = reading.session.node(name)
        limits = shell.sh(f"cat {_CLOCK}/scaling_cur_freq {_CLOCK}/cpuinfo_max_freq").stdout.split()
        if len(limits) != 2 or int(limits[0]) >= SLOW_CLOCK * int(limits[1]):
            continue
        if "temperature is above threshold" not in shell.sh("dmesg").stdout:
            continue
        fans = [
            line.split("|")[0].strip()
            for line in shell.sh("ipmitool sdr type Fan").stdout.splitlines()
            if line.rstrip().endswith(("| cr", "| nc", "| nr"))
        ]
        mechanism = "thermal throttling: the processor overheats" + (" because its fan has failed" if fans else "")
        details = {"fan": fans[0]} if fans else {}
        findings.append(Finding(f"Node/{name}", mechanism, details, (name,), moved_away(reading, name)))
    return findings


def greedy_processes(reading: Reading) -> list[Finding]:
    """Nodes on which something that is no container uses most of the CPU: stop its unit, or kill it."""
    findings = []
    for name in _nodes_in_use(reading):
        shell = reading.session.node(name)
        found = _greediest(shell.sh("top -bn1").stdout, _cores(shell))
        if found is None:
            continue
        pid, program = found
        unit = _unit_of(shell, pid)
        if not unit and pid in _container_pids(shell):
            continue
        act = Act(node=name, sh=f"systemctl stop {unit}" if unit else f"kill {pid}")
        mechanism = "noisy neighbour: a host process uses nearly all CPU of the node"
        findings.append(Finding(f"Node/{name}", mechanism, {"process": program}, (name,), (act,)))
    return findings


def _nodes_in_use(reading: Reading) -> list[str]:
    """Ready nodes with pods of the application."""
    ready = [
        node["metadata"]["name"]
        for node in reading.objects("nodes")
        if condition_of(node, "Ready").get("status") == "True"
    ]
    used = {pod["spec"].get("nodeName", "") for space in reading.namespaces for pod in reading.objects("pods", space)}
    return [name for name in ready if name in used]


def _cores(shell: Shell) -> int:
    text = shell.sh("nproc").stdout.strip()
    return int(text) if text.isdigit() else 1


def _greediest(text: str, cores: int) -> tuple[int, str] | None:
    """PID and name of the busiest process in `top -b`, if it is busy enough and no daemon of every node."""
    for line in text.splitlines():
        cells = line.split()
        if len(cells) < 12 or not cells[0].isdigit():
            continue
        percent = float(cells[8]) if re.fullmatch(r"\d+(\.\d+)?", cells[8]) else 0.0
        if cells[11] in _DAEMONS:
            continue
        return (int(cells[0]), cells[11]) if percent >= 100.0 * cores * GREEDY_SHARE else None
    return None


def _container_pids(shell: Shell) -> list[int]:
    """PIDs of containers, by their cgroups as `crictl` tells them."""
    found = []
    for container in shell.sh("crictl ps -q").stdout.split():
        match = re.search(r'"pid":\s*(\d+)', shell.sh(f"crictl inspect {container}").stdout)
        if match:
            found.append(int(match[1]))
    return found


def _is_usual(unit: str) -> bool:
    return unit.startswith(_USUAL_UNITS)


def _unit_of(shell: Shell, pid: int) -> str:
    """The unit whose main process this is; "" if there is none."""
    listed = shell.sh("systemctl list-units --type=service --state=running --no-legend --no-pager").stdout
    units = [line.split()[0] for line in listed.splitlines() if line.split()]
    for unit in sorted(units, key=_is_usual):
        if unit.endswith(".service") and f"MainPID={pid}\n" in shell.sh(f"systemctl show {unit} -p MainPID").stdout:
            return unit
    return ""
