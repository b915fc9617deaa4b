"""The Service rules of a node's kernel as its programs show them: iptables-save, iptables, nft, ipvsadm.

A proxy in mode iptables writes chains of iptables (which nft shows, too: iptables is a face of nf_tables), one in mode
ipvs virtual servers, one in mode nftables a table of its own. Formats: iptables 1.8.10, nftables 1.0.9, ipvsadm 1.31
(Ubuntu 24.04); rules that somebody wrote: `packetrules`. Left out: counters of packets, changes by nft and ipvsadm, and
of any table but filter, which are refused.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.models.machine.hosttools.packetrules import COMMANDS, change
from simcluster.models.machine.kernel.packetfilter import ACCEPT, CHAINS
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.network import NodeRules
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import Outcome

#: What nf_tables calls what is refused.
_VERBS = {"A": "RULE_APPEND", "I": "RULE_INSERT", "D": "RULE_DELETE", "C": "RULE_DELETE", "F": "RULE_FLUSH",
          "P": "CHAIN_UPDATE"}  # fmt: skip
_BASIC = ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING")
_MANAGED = "# Warning: table ip {table} is managed by iptables-nft, do not touch!\n"


class Rule(NamedTuple):
    """One rule of a chain: what it matches (iptables' words, nft's words) and what it does (in both languages)."""

    chain: str
    match: str
    nft_match: str
    act: str
    nft_act: str


def _tables(rules: NodeRules | None, machine: Machine) -> tuple[list[str], list[Rule], list[Rule]]:
    """Chains and rules of the table nat, and rules of the table filter."""
    chains, nat, filtered = ["KUBE-SERVICES", "KUBE-NODEPORTS"], [], []
    portals = '-m comment --comment "kubernetes service portals"'
    for chain in ("PREROUTING", "OUTPUT"):
        nat.append(Rule(chain, portals, "", "-j KUBE-SERVICES", "jump KUBE-SERVICES"))
    for key, backends in sorted((rules.backends if rules is not None else {}).items()):
        proto = key.protocol.lower()
        match = f"-p {proto} -m {proto} --dport {key.port}"
        shown = f"meta l4proto {proto} {proto} dport {key.port}"
        if key.address:
            match, shown = f"-d {key.address}/32 {match}", f"ip daddr {key.address} {shown}"
        chain = "KUBE-SERVICES" if key.address else "KUBE-NODEPORTS"
        if not backends:
            why = '-m comment --comment "has no endpoints" '
            filtered.append(
                Rule(chain, f"{match} {why}".rstrip(), shown, "-j REJECT --reject-with icmp-port-unreachable", "reject")
            )
            continue
        name = f"KUBE-SVC-{_tag(key.address, key.port, proto)}"
        chains.append(name)
        nat.append(Rule(chain, match, shown, f"-j {name}", f"jump {name}"))
        for at, (address, port) in enumerate(backends):
            target = f"KUBE-SEP-{_tag(address, port, proto + name)}"
            chains.append(target)
            left = len(backends) - at
            chance = f" -m statistic --mode random --probability {1 / left:.11f}" if left > 1 else ""
            odds = f"numgen random mod {left} 0 " if left > 1 else ""
            nat.append(
                Rule(
                    name, f'-m comment --comment "-> {address}:{port}"{chance}', odds, f"-j {target}", f"jump {target}"
                )
            )
            nat.append(
                Rule(target, f"-p {proto} -m {proto}", f"meta l4proto {proto}",
                     f"-j DNAT --to-destination {address}:{port}", f"dnat to {address}:{port}")
            )  # fmt: skip
    return chains, nat, [*_written(machine), *filtered]


def _written(machine: Machine) -> list[Rule]:
    """What somebody wrote into the packet filter."""
    found = []
    for chain in CHAINS:
        for rule in machine.os.filter.chains.get(chain, ()):
            match, _, act = rule.text.rpartition("-j ")
            shown = [f"ip saddr {rule.source}"] if rule.source else []
            shown += [f"ip daddr {rule.destination}"] if rule.destination else []
            shown += [f"{rule.protocol.lower()} dport {_set(rule.ports)}"] if rule.ports else []
            found.append(Rule(chain, match.strip(), " ".join(shown), f"-j {act}", rule.act.lower()))
    return found


def _set(ports: tuple[tuple[int, int], ...]) -> str:
    texts = [str(low) if low == high else f"{low}-{high}" for low, high in ports]
    return texts[0] if len(texts) == 1 else f"{{ {', '.join(texts)} }}"


def _tag(address: str, port: int, proto: str) -> str:
    """Sixteen letters that stand for a chain."""
    text, value = f"{address}:{port}/{proto}", 1469598103934665603
    for char in text:
        value = (value ^ ord(char)) * 1099511628211 % (1 << 64)
    letters = ""
    for _ in range(16):
        value, at = divmod(value * 31 + 7, 32)
        letters += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[at]
        value %= 1 << 64
    return letters


def _rules(machine: Machine, mode: str) -> NodeRules | None:
    """The node's rules, if its proxy writes them in this mode."""
    rules = machine.network.rules.get(machine.name)
    return rules if rules is not None and rules.mode == mode else None


def _save(machine: Machine, args: list[str], stdin: str) -> Outcome:
    wanted = args[args.index("-t") + 1] if "-t" in args[:-1] else ""
    if wanted not in ("", "nat", "filter", "mangle", "raw", "security"):
        return Outcome("", f"iptables-save v1.8.10 (nf_tables): table `{wanted}' does not exist\n", 1)
    chains, nat, filtered = _tables(_rules(machine, "iptables"), machine)
    lines = ["# Generated by iptables-save v1.8.10 (nf_tables)"]
    if wanted in ("", "nat"):
        lines += ["*nat", *(f":{chain} ACCEPT [0:0]" for chain in _BASIC), *(f":{chain} - [0:0]" for chain in chains)]
        lines += [f"-A {rule.chain} {rule.match} {rule.act}" for rule in nat] + ["COMMIT"]
    if wanted in ("", "filter"):
        ends = machine.os.filter.policies
        lines += ["*filter", *(f":{chain} {ends.get(chain, ACCEPT)} [0:0]" for chain in CHAINS)]
        lines += [f":{chain} - [0:0]" for chain in ("KUBE-SERVICES", "KUBE-NODEPORTS")]
        lines += [f"-A {rule.chain} {rule.match} {rule.act}" for rule in filtered] + ["COMMIT"]
    return Outcome("\n".join([*lines, ""]))


def _iptables(machine: Machine, args: list[str], stdin: str) -> Outcome:
    done = change(machine.os.filter, args)
    if done is not None:
        return done
    names_of = {"list": "L", "list-rules": "S", "numeric": "n", "verbose": "v", "table": "t", "line-numbers": "l"}
    asked = parse([one for one in args if one not in ("-w", "--wait")], "LSnvxZl", "t", names_of)
    table = asked.values.get("t", "filter")
    writes = next((at for at, word in enumerate(args) if word in COMMANDS), -1)
    if writes >= 0:  # the rules of a proxy's tables are its own
        verb, chain = _VERBS[COMMANDS[args[writes]]], (args[writes + 1 : writes + 2] or [""])[0]
        return Outcome("", f"iptables v1.8.10 (nf_tables): {verb} failed (Operation not permitted): chain {chain}\n", 4)
    hint = "Try `iptables -h' or 'iptables --help' for more information.\n"
    if asked.problem or not asked.has("L", "S"):
        what = "unknown option" if asked.problem else "no command specified"
        shown = f' "{_typed(args, asked.problem)}"' if asked.problem else ""
        return Outcome("", f"iptables v1.8.10 (nf_tables): {what}{shown}\n{hint}", 2)
    chains, nat, filtered = _tables(_rules(machine, "iptables"), machine)
    names = [*_BASIC, *chains] if table == "nat" else ["INPUT", "FORWARD", "OUTPUT", "KUBE-SERVICES", "KUBE-NODEPORTS"]
    rules = nat if table == "nat" else filtered if table == "filter" else []
    wanted = asked.words[:1]
    if wanted and wanted[0] not in names:
        return Outcome("", "iptables: No chain/target/match by that name.\n", 1)
    names = wanted or names
    if asked.has("S"):
        ends = machine.os.filter.policies if table == "filter" else {}
        heads = [
            f"-P {name} {ends.get(name, ACCEPT)}" if not name.startswith("KUBE") else f"-N {name}" for name in names
        ]
        return Outcome("".join(f"{line}\n" for line in [*heads, *_lines(rules, names)]))
    blocks = []
    for name in names:
        own = [rule for rule in rules if rule.chain == name]
        used = sum(1 for rule in rules if rule.act == f"-j {name}")
        end = machine.os.filter.policies.get(name, ACCEPT) if table == "filter" else ACCEPT
        policy = f"policy {end}" if not name.startswith("KUBE") else f"{used} references"
        numbered = asked.has("l")
        head = f"Chain {name} ({policy})\n" + ("num  " if numbered else "")
        head += f"{'target':<10} {'prot':<4} {'opt':<3} {'source':<20} {'destination':<20}\n"
        rows = [_listed(rule) for rule in own]
        blocks.append(head + "".join(f"{at:<5}{row}" if numbered else row for at, row in enumerate(rows, 1)))
    return Outcome("\n".join(blocks))


def _typed(args: list[str], problem: str) -> str:
    """The option that nobody knows, as it was typed."""
    name = problem.rpartition(" ")[2].strip("'‘’\"")
    return next((word for word in args if word.startswith("-") and name.strip("-") in word), f"-{name}")


def _lines(rules: list[Rule], names: list[str]) -> list[str]:
    return [f"-A {rule.chain} {rule.match} {rule.act}".replace("  ", " ") for rule in rules if rule.chain in names]


def _listed(rule: Rule) -> str:
    """One rule as `iptables -L -n` shows it."""
    words = rule.match.split()
    target = rule.act.split()[1]
    proto = words[words.index("-p") + 1] if "-p" in words else "0"
    source, place = (
        words[words.index(one) + 1].removesuffix("/32") if one in words else "0.0.0.0/0" for one in ("-s", "-d")
    )
    more = []
    if "--comment" in words:
        said = rule.match.partition("--comment ")[2]
        more.append(f"/* {said.split(chr(34))[1] if said.startswith(chr(34)) else said.split()[0]} */")
    if "--dports" in words:
        more.append(f"multiport dports {words[words.index('--dports') + 1]}")
    if "--dport" in words:
        more.append(f"{proto} dpt:{words[words.index('--dport') + 1]}")
    if "--probability" in words:
        more.append(f"statistic mode random probability {words[words.index('--probability') + 1]}")
    if target == "DNAT":
        more.append(f"{proto} to:{rule.act.rpartition(' ')[2]}")
    if target == "REJECT":
        more.append("reject-with icmp-port-unreachable")
    number = {"tcp": "6", "udp": "17", "sctp": "132"}.get(proto, proto)
    return f"{target:<10} {number:<4} {'--':<3} {source:<20} {place:<20} {' '.join(more)}".rstrip() + "\n"


def _nft(machine: Machine, args: list[str], stdin: str) -> Outcome:
    words = [word for word in args if not word.startswith("-")]
    if words[:1] != ["list"] or words[1:2] not in (["ruleset"], ["tables"], ["table"], ["chain"], ["chains"]):
        near = " ".join(words) or ""
        return Outcome("", f"Error: syntax error, unexpected {'newline' if not near else 'string'}\n{near}\n", 1)
    tables = _nft_tables(machine)
    if words[1] == "tables":
        return Outcome("".join(f"table {name}\n" for name in tables))
    if words[1] in ("table", "chain"):
        name = " ".join(words[2:4])
        if name not in tables:
            return Outcome("", f"Error: No such file or directory\n{' '.join(words)}\n", 1)
        if words[1] == "table":
            return Outcome(tables[name])
        block = f"\tchain {words[4] if len(words) > 4 else ''} {{"
        if block not in tables[name]:
            return Outcome("", f"Error: No such file or directory\n{' '.join(words)}\n", 1)
        inner = block + tables[name].partition(block)[2].partition("\t}\n")[0] + "\t}\n"
        return Outcome(f"table {name} {{\n{inner}}}\n")
    return Outcome("".join(tables.values()))


def _nft_tables(machine: Machine) -> dict[str, str]:
    """Text of every table by family and name."""
    if _rules(machine, "nftables") is not None:
        return {"ip kube-proxy": _own_table(machine)}
    chains, nat, filtered = _tables(_rules(machine, "iptables"), machine)
    hooks = {"PREROUTING": "prerouting priority dstnat; policy accept", "INPUT": "input priority srcnat; policy accept",
             "OUTPUT": "output priority dstnat; policy accept",
             "POSTROUTING": "postrouting priority srcnat; policy accept"}  # fmt: skip
    ends, written = machine.os.filter.policies, machine.os.filter.chains
    own = {
        chain: f"{chain.lower()} priority filter; policy {ends.get(chain, ACCEPT).lower()}"
        for chain in CHAINS
        if chain in written or chain in ends
    }
    return {
        "ip nat": _MANAGED.format(table="nat") + _nft_table("ip nat", [*_BASIC, *chains], nat, "nat", hooks),
        "ip filter": _MANAGED.format(table="filter")
        + _nft_table("ip filter", [*own, "KUBE-SERVICES", "KUBE-NODEPORTS"], filtered, "filter", own),
    }


def _nft_table(name: str, chains: list[str], rules: list[Rule], kind: str, hooks: dict[str, str]) -> str:
    blocks = []
    for chain in chains:
        lines = [f"\t\ttype {kind} hook {hooks[chain]};"] if chain in hooks else []
        lines += [
            f"\t\t{rule.nft_match} {rule.nft_act}".replace("\t\t ", "\t\t") for rule in rules if rule.chain == chain
        ]
        blocks.append(f"\tchain {chain} {{\n" + "".join(f"{line}\n" for line in lines) + "\t}\n")
    return f"table {name} {{\n" + "\n".join(blocks) + "}\n"


def _own_table(machine: Machine) -> str:
    """The table of kube-proxy in mode nftables: a map of services, a chain for each of them and of their backends."""
    rules = _rules(machine, "nftables")
    assert rules is not None
    elements, refused, blocks = [], [], []
    for key, backends in sorted(rules.backends.items()):
        proto = key.protocol.lower()
        place = f"{key.address or machine.address} . {proto} . {key.port}"
        if not backends:
            refused.append(f"{place} : goto reject-chain")
            continue
        name = f"service-{_tag(key.address, key.port, proto)}"
        elements.append(f"{place} : goto {name}")
        ends = [f"endpoint-{_tag(address, port, proto + name)}" for address, port in backends]
        choice = ", ".join(f"{number} : goto {end}" for number, end in enumerate(ends))
        blocks.append(f"\tchain {name} {{\n\t\tnumgen random mod {len(ends)} vmap {{ {choice} }}\n\t}}\n")
        for end, (address, port) in zip(ends, backends, strict=True):
            blocks.append(f"\tchain {end} {{\n\t\tmeta l4proto {proto} dnat to {address}:{port}\n\t}}\n")
    maps = []
    for name, listed in (("no-endpoint-services", refused), ("service-ips", elements)):
        inner = ",\n\t\t\t     ".join(listed)
        shown = f"\t\telements = {{ {inner} }}\n" if listed else ""
        maps.append(f"\tmap {name} {{\n\t\ttype ipv4_addr . inet_proto . inet_service : verdict\n{shown}\t}}\n")
    return "table ip kube-proxy {\n" + "\n".join([*maps, *blocks]) + "}\n"


def _ipvsadm(machine: Machine, args: list[str], stdin: str) -> Outcome:
    letters = "".join(word.lstrip("-") for word in args if word.startswith("-") and not word.startswith("--"))
    if args and not set(letters) & set("Lln") and "--list" not in args and "--save" not in args:
        return Outcome("", "ipvsadm v1.31 2019/12/24 (compiled with popt and IPVS v1.2.1)\nUsage:\n", 2)
    rules = _rules(machine, "ipvs")
    lines = [
        "IP Virtual Server version 1.2.1 (size=4096)",
        "Prot LocalAddress:Port Scheduler Flags",
        "  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn",
    ]
    open_: dict[tuple[str, int], int] = {}
    for one in machine.network.conversations():
        if one.opening < 1.0 and one.outcome == "ok":  # those that stay
            open_[one.answering] = open_.get(one.answering, 0) + 1
    for key, backends in sorted((rules.backends if rules is not None else {}).items()):
        sticky = " persistent 10800" if rules is not None and key in rules.sticky else ""
        lines.append(f"{key.protocol:<4} {key.address or machine.address}:{key.port} rr{sticky}")
        for address, port in backends:
            place = f"{address}:{port}"
            lines.append(f"  -> {place:<28} Masq    1      {open_.get((address, port), 0):<10} 0         ")
    return Outcome("".join(f"{line}\n" for line in lines))


TOOLS = {"iptables": _iptables, "iptables-save": _save, "ipvsadm": _ipvsadm, "nft": _nft}
