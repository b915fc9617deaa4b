"""Kernel modules: `lsmod`, `modprobe`, `rmmod`, `modinfo`, and /proc/modules. Formats: kmod 31 (Ubuntu 24.04).

Which are loaded follows from what the node has: its drives and its card, overlay for containers, iptables or IPVS by
the mode of kube-proxy, and what somebody loaded. Left out: blacklists, parameters, sizes that change.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.models.machine.machine import Machine
from simcluster.models.userland.outcome import Outcome


class Module(NamedTuple):
    """One module: its size in bytes (of Ubuntu's 6.8 for amd64) and the modules it needs."""

    name: str
    size: int
    needs: tuple[str, ...] = ()


_TABLE = {
    module.name: module
    for module in (
        Module("xt_comment", 12288, ("x_tables",)),
        Module("xt_mark", 12288, ("x_tables",)),
        Module("xt_statistic", 12288, ("x_tables",)),
        Module("xt_conntrack", 12288, ("nf_conntrack", "x_tables")),
        Module("xt_MASQUERADE", 16384, ("nf_nat", "x_tables")),
        Module("nft_compat", 20480, ("nf_tables", "x_tables")),
        Module("nft_chain_nat", 12288, ("nf_nat", "nf_tables")),
        Module("nf_tables", 376832),
        Module("ip_vs_rr", 12288, ("ip_vs",)),
        Module("ip_vs_wrr", 12288, ("ip_vs",)),
        Module("ip_vs_sh", 12288, ("ip_vs",)),
        Module("ip_vs", 221184, ("nf_conntrack",)),
        Module("nf_nat", 61440, ("nf_conntrack",)),
        Module("nf_conntrack", 200704, ("nf_defrag_ipv4",)),
        Module("nf_defrag_ipv4", 12288),
        Module("x_tables", 65536),
        Module("br_netfilter", 32768, ("bridge",)),
        Module("bridge", 421888, ("stp", "llc")),
        Module("stp", 12288, ("llc",)),
        Module("llc", 16384),
        Module("overlay", 212992),
        Module("veth", 45056),
        Module("ixgbe", 491520, ("mdio",)),
        Module("mdio", 12288),
        Module("nvme", 61440, ("nvme_core",)),
        Module("nvme_core", 212992),
        Module("ahci", 49152, ("libahci",)),
        Module("libahci", 53248),
        Module("ipmi_si", 86016, ("ipmi_msghandler",)),
        Module("ipmi_devintf", 16384, ("ipmi_msghandler",)),
        Module("ipmi_msghandler", 86016),
        Module("coretemp", 24576),
        Module("dummy", 12288),
        Module("8021q", 45056),
        Module("nbd", 65536),
        Module("nfs", 565248),
        Module("wireguard", 114688),
        Module("vxlan", 155648),
        Module("ipip", 20480),
        Module("sch_netem", 20480),
        Module("tcp_bbr", 20480),
        Module("loop", 40960),
    )
}
_ALWAYS = ("overlay", "br_netfilter", "veth", "ixgbe", "ipmi_si", "ipmi_devintf", "coretemp")
_IPTABLES = ("xt_comment", "xt_mark", "xt_conntrack", "xt_MASQUERADE", "xt_statistic", "nft_compat", "nft_chain_nat")


def loaded(machine: Machine) -> list[Module]:
    """What is loaded, the latest first."""
    names: dict[str, None] = {}
    rules = machine.network.rules.get(machine.name)
    mode = "iptables" if rules is None else rules.mode
    wanted = [*machine.os.modules]
    wanted += ["ip_vs_sh", "ip_vs_wrr", "ip_vs_rr"] if mode == "ipvs" else []
    wanted += _IPTABLES if mode != "nftables" else ("nft_chain_nat",)
    wanted += _ALWAYS
    drives = [disk.model.is_nvme for disk in machine.disks.values()]
    wanted += (["nvme"] if any(drives) else []) + (["ahci"] if not all(drives) else [])
    while wanted:
        name = wanted.pop(0)
        if name not in names:
            names[name] = None
            wanted += _TABLE[name].needs
    return [_TABLE[name] for name in names]


def _users(modules: list[Module], module: Module) -> list[str]:
    return [other.name for other in modules if module.name in other.needs]


def modules_file(machine: Machine) -> str:
    """/proc/modules."""
    found = loaded(machine)
    lines = []
    for at, module in enumerate(found):
        users = _users(found, module)
        by = ",".join(users) + "," if users else "-"
        lines.append(f"{module.name} {module.size} {len(users)} {by} Live 0xffffffffc{0x100000 + at * 0x8000:07x}\n")
    return "".join(lines)


def _lsmod(machine: Machine, args: list[str], stdin: str) -> Outcome:
    if args:
        return Outcome("", "Usage: lsmod\n", 1)
    found = loaded(machine)
    lines = [f"{'Module':<19} {'Size':>8}  Used by\n"]
    for module in found:
        users = _users(found, module)
        lines.append(f"{module.name:<19} {module.size:>8}  {len(users)} {','.join(users)}".rstrip() + "\n")
    return Outcome("".join(lines))


def _modprobe(machine: Machine, args: list[str], stdin: str) -> Outcome:
    words = [word for word in args if not word.startswith("-")]
    if not words:
        return Outcome("", "modprobe: ERROR: missing parameters. See -h.\n", 1)
    kernel = machine.identity.kernel_version
    remove = "-r" in args or "--remove" in args
    for word in words if remove or "-a" in args else words[:1]:
        name = word.replace("-", "_")
        if name not in _TABLE:
            where = "" if remove else f" in directory /lib/modules/{kernel}"
            return Outcome("", f"modprobe: FATAL: Module {word} not found{where}.\n", 1)
        if remove:
            problem = _removed(machine, name)
            if problem:
                return Outcome("", f"modprobe: FATAL: Module {name} is {problem}.\n", 1)
        elif not any(one.name == name for one in loaded(machine)):
            machine.os.modules[name] = None
    return Outcome()


def _removed(machine: Machine, name: str) -> str:
    """Unload one that somebody loaded; why it stays, or empty."""
    found = loaded(machine)
    if not any(one.name == name for one in found):
        return ""
    if name not in machine.os.modules or _users(found, _TABLE[name]):
        return "in use"
    del machine.os.modules[name]
    return ""


def _rmmod(machine: Machine, args: list[str], stdin: str) -> Outcome:
    words = [word for word in args if not word.startswith("-")]
    if not words:
        return Outcome("", "rmmod: ERROR: missing module name.\n", 1)
    name = words[0].replace("-", "_")
    found = loaded(machine)
    if not any(one.name == name for one in found):
        return Outcome("", f"rmmod: ERROR: Module {name} is not currently loaded\n", 1)
    users = _users(found, _TABLE[name])
    if users:
        return Outcome("", f"rmmod: ERROR: Module {name} is in use by: {' '.join(users)}\n", 1)
    if _removed(machine, name):
        return Outcome("", f"rmmod: ERROR: Module {name} is in use\n", 1)
    return Outcome()


def _modinfo(machine: Machine, args: list[str], stdin: str) -> Outcome:
    words = [word for word in args if not word.startswith("-")]
    if not words:
        return Outcome("", "modinfo: ERROR: missing module or filename.\n", 1)
    kernel = machine.identity.kernel_version
    module = _TABLE.get(words[0].replace("-", "_"))
    if module is None:
        return Outcome("", f"modinfo: ERROR: Module {words[0]} not found.\n", 1)
    rows = (("filename", f"/lib/modules/{kernel}/kernel/{module.name}.ko.zst"), ("license", "GPL"),
            ("depends", ",".join(module.needs)), ("intree", "Y"), ("name", module.name), ("retpoline", "Y"),
            ("vermagic", f"{kernel} SMP preempt mod_unload modversions "))  # fmt: skip
    return Outcome("".join(f"{name + ':':<16}{value}\n" for name, value in rows))


TOOLS = {"lsmod": _lsmod, "modinfo": _modinfo, "modprobe": _modprobe, "rmmod": _rmmod}
