"""iptables' commands that change the table `filter`: -A, -I, -D, -C, -F, -P. Format: iptables 1.8.10 (Ubuntu 24.04).

Left out: interfaces, negations, states of connections, matches beside `tcp`, `udp`, `multiport` and `comment`,
chains of one's own, other tables.
"""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

from simcluster.models.machine.kernel.packetfilter import ACTS, CHAINS, REJECT, FilterRule, PacketFilter
from simcluster.models.userland.outcome import Outcome

_HEAD = "iptables v1.8.10 (nf_tables): "
_HINT = "Try `iptables -h' or 'iptables --help' for more information.\n"
COMMANDS = {
    **{"-A": "A", "--append": "A", "-I": "I", "--insert": "I", "-D": "D", "--delete": "D", "-C": "C"},
    **{"--check": "C", "-F": "F", "--flush": "F", "-P": "P", "--policy": "P"},
}
_OPTIONS = {
    **{"-p": "proto", "--protocol": "proto", "-s": "source", "--source": "source", "--src": "source"},
    **{"-d": "to", "--destination": "to", "--dst": "to", "--dport": "port", "--destination-port": "port"},
    **{"--dports": "ports", "--destination-ports": "ports", "-m": "match", "--match": "match", "-j": "act"},
    **{"--jump": "act", "--reject-with": "with", "--comment": "comment"},
}
_MATCHES = ("tcp", "udp", "multiport", "comment")
_PROTOCOLS = {"tcp": "TCP", "udp": "UDP", "icmp": "ICMP", "all": "", "6": "TCP", "17": "UDP", "0": ""}
_SERVICES = {"http": 80, "https": 443, "domain": 53, "ssh": 22, "mysql": 3306, "postgresql": 5432}


class Wrong(Exception):
    """A command that iptables refuses, with what it says."""


class _Said(NamedTuple):
    """A command: its letter, its chain, a number after it, and the words of a rule."""

    letter: str
    chain: str
    number: int
    words: list[str]


def change(rules: PacketFilter, args: list[str]) -> Outcome | None:
    """Do a command that changes or asks for a rule; None if it is no such."""
    words = [word for word in args if word not in ("-w", "--wait", "-n", "-v")]
    if words[:1] in (["-t"], ["--table"]):
        if words[1:2] != ["filter"]:
            return None
        words = words[2:]
    at = next((at for at, word in enumerate(words) if word in COMMANDS), -1)
    if at < 0:
        return None
    try:
        return _done(rules, _said(words, at))
    except Wrong as error:
        return Outcome("", f"{_HEAD}{error}\n{_HINT}", 2)


def _said(words: list[str], at: int) -> _Said:
    letter, rest = COMMANDS[words[at]], words[at + 1 :]
    chain = rest.pop(0) if rest and not rest[0].startswith("-") else ""
    number = int(rest.pop(0)) if rest and rest[0].isdigit() and letter in "ID" else 0
    if not chain and letter != "F":
        raise Wrong(f'option "{words[at]}" requires an argument')
    return _Said(letter, chain, number, [*words[:at], *rest])


def _done(rules: PacketFilter, said: _Said) -> Outcome:
    if said.chain and said.chain not in CHAINS:
        return Outcome("", "iptables: No chain/target/match by that name.\n", 1)
    known = list(rules.chains.get(said.chain, ()))
    if said.letter == "F":
        for chain in [said.chain] if said.chain else list(rules.chains):
            rules.put(chain, ())
        return Outcome()
    if said.letter == "P":
        act = (said.words or [""])[0]
        if act not in ("ACCEPT", "DROP"):
            return Outcome("", "iptables: Bad policy name. Run `dmesg' for more information.\n", 1)
        rules.end(said.chain, act)
        return Outcome()
    if said.letter == "D" and said.number:
        if said.number > len(known):
            return Outcome("", "iptables: Index of deletion too big.\n", 1)
        del known[said.number - 1]
    else:
        rule = rule_of(said.words)
        if said.letter in "DC" and rule not in known:
            return Outcome("", "iptables: Bad rule (does a matching rule exist in that chain?).\n", 1)
        if said.letter == "C":
            return Outcome()
        if said.letter == "D":
            known.remove(rule)
        elif said.letter == "A":
            known.append(rule)
        else:
            known.insert(max(0, said.number - 1), rule)
    rules.put(said.chain, tuple(known))
    return Outcome()


def rule_of(words: list[str]) -> FilterRule:
    """The rule that words describe. Raises Wrong."""
    given, left = dict[str, str](), list(words)
    while left:
        option = left.pop(0)
        if option not in _OPTIONS:
            raise Wrong(f'unknown option "{option}"' if option.startswith("-") else f"Bad argument `{option}'")
        if not left:
            raise Wrong(f'option "{option}" requires an argument')
        kind, value = _OPTIONS[option], left.pop(0)
        if kind == "match" and value not in _MATCHES:
            raise Wrong(f"Couldn't load match `{value}':No such file or directory")
        given[kind] = value
    act, proto = given.get("act", ""), given.get("proto", "all").lower()
    if act not in ACTS:
        raise Wrong(f"Couldn't load target `{act}':No such file or directory" if act else "no target specified")
    if proto not in _PROTOCOLS:
        raise Wrong(f'unknown protocol "{proto}" specified')
    asked = given.get("ports") or given.get("port", "")
    if asked and _PROTOCOLS[proto] not in ("TCP", "UDP"):
        raise Wrong(f'unknown option "{"--dports" if "ports" in given else "--dport"}"')
    source, destination = (_network(given.get(key, "")) for key in ("source", "to"))
    ports = tuple(_range(one) for one in asked.split(",")) if asked else ()
    return FilterRule(_text(given, source, destination, proto), _PROTOCOLS[proto], source, destination, ports, act)


def _text(given: dict[str, str], source: str, destination: str, proto: str) -> str:
    shown = [f"-s {source}"] if source else []
    shown += [f"-d {destination}"] if destination else []
    name = {"6": "tcp", "17": "udp"}.get(proto, proto)
    shown += [f"-p {name}"] if _PROTOCOLS[proto] else []
    if "ports" in given:
        shown.append(f"-m multiport --dports {given['ports']}")
    elif "port" in given:
        shown.append(f"-m {name} --dport {given['port']}")
    if "comment" in given:
        text = given["comment"]
        shown.append(f'-m comment --comment "{text}"' if " " in text else f"-m comment --comment {text}")
    shown.append(f"-j {given['act']}")
    if given["act"] == REJECT:
        shown.append(f"--reject-with {given.get('with', 'icmp-port-unreachable')}")
    return " ".join(shown)


def _network(text: str) -> str:
    if not text:
        return ""
    try:
        return str(ipaddress.IPv4Network(text, strict=False))
    except ValueError:
        raise Wrong(f"host/network `{text}' not found") from None


def _range(text: str) -> tuple[int, int]:
    low, colon, high = text.partition(":")
    low, high = (str(_SERVICES.get(one, one)) for one in (low or "0", (high or "65535") if colon else low))
    if not (low.isdigit() and high.isdigit() and 0 <= int(low) <= int(high) <= 65535):
        raise Wrong(f"invalid port/service `{text}' specified")
    return int(low), int(high)
