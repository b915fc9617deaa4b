"""How grave a change of a node is that nobody has taken back."""

from __future__ import annotations

from simcluster.eval.residue.objects import Judgement, Severity
from simcluster.faults.facts import ChangedFact

#: Without these a node is none.
_VITAL_UNITS = ("kubelet", "containerd", "systemd-networkd", "systemd-journald")
#: Files by which the control plane and the kubelet run, and those that say who may come in.
_VITAL_FILES = ("/etc/kubernetes/", "/var/lib/kubelet/", "/etc/cni/", "/etc/containerd/", "/etc/systemd/system/")
_DOORS = ("/etc/ssh/", "/root/.ssh/", "/etc/sudoers", "/etc/passwd", "/etc/shadow", "/etc/pam.d/")
#: Kernel parameters without which pods have no network.
_VITAL_SYSCTLS = ("net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables")


def decided(fact: ChangedFact) -> bool:
    """Whether only somebody's decision makes it so: it follows from no trouble of the machine.

    What starts with it, a file and a kernel parameter are such; a process that does not run and a bad device are not.
    """
    kind = fact.place.part.partition("/")[0]
    return kind in ("file", "sysctl") or (kind == "unit" and fact.path == "enabled")


def judge_part(fact: ChangedFact) -> Judgement | None:
    """What is to be said of a part of a machine that differs from that of the twin; None if it is of no account."""
    kind, _, name = fact.place.part.partition("/")
    what = f"{fact.path} is {_shown(fact.after)} instead of {_shown(fact.before)}"
    if kind == "unit":
        return _unit(name, fact, what)
    if kind == "file":
        return _file(fact)
    if kind == "sysctl":
        return ("availability" if fact.path in _VITAL_SYSCTLS else "note"), what
    if kind in ("power", "nic", "disk", "fan", "cpu"):
        return "availability", what
    return "note", what


def _unit(name: str, fact: ChangedFact, what: str) -> Judgement | None:
    if fact.before is None:
        return ("note", "is new") if fact.path == "active" else None
    grave: Severity = "availability" if name in _VITAL_UNITS else "note"
    if fact.path == "active" and not fact.after:
        return grave, "does not run"
    if fact.path == "enabled" and not fact.after:
        return grave, "does not start with the machine: it is disabled"
    return "note", what


def _file(fact: ChangedFact) -> Judgement:
    done = "was removed" if fact.after is None else "is new" if fact.before is None else "was changed"
    grave: Severity = "note"
    if fact.path.startswith(_DOORS):
        grave = "security"
    elif fact.path.startswith(_VITAL_FILES):
        grave = "availability"
    return grave, f"{fact.path} {done}"


def _shown(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
