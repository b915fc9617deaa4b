"""What the plugins rewrite, template and hosts make of a name.

Source: READMEs of the plugins of CoreDNS 1.11. Left out: answers of other types than A and CNAME,
rewriting answers back, the options of `hosts` besides its lines and its file.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from simcluster.control.clusterdns.corefile import Directive
from simcluster.models.machine.names import NameAnswer


def rewritten(directive: Directive, name: str) -> str | None:
    """The name after a rewrite rule, or None if the rule does not fit."""
    words = list(directive.arguments)
    if not words and directive.lines:
        words = list(directive.lines[0])
    if words and words[0] in ("stop", "continue"):
        words.pop(0)
    if not words and directive.lines:
        words = list(directive.lines[0])
    if words[:1] != ["name"] or len(words) < 3:
        return None
    kind = words[1] if words[1] in ("exact", "prefix", "suffix", "substring", "regex") and len(words) > 3 else ""
    old, new = (words[2], words[3]) if kind else (words[1], words[2])
    old_name, new_name = old.rstrip("."), new.rstrip(".")
    if kind == "regex":
        match = re.search(old, name + ".") or re.search(old, name)
        return None if match is None else _filled(new, match).rstrip(".")
    if kind == "suffix":
        return name[: -len(old_name)] + new_name if name.endswith(old_name) else None
    if kind == "prefix":
        return new + name[len(old) :] if name.startswith(old) else None
    if kind == "substring":
        return name.replace(old, new) if old in name else None
    return new_name if name == old_name else None


def _filled(text: str, match: re.Match[str]) -> str:
    return re.sub(r"\{(\d)\}", lambda part: match[int(part[1])] or "", text)


class Templated(NamedTuple):
    """What a template says: an answer, or the name that the asked one is an alias of."""

    answer: NameAnswer
    alias: str = ""


def from_template(directive: Directive, name: str) -> Templated | None:
    """What a template answers, or None if it does not fit."""
    if directive.arguments[1].upper() not in ("ANY", "A"):
        return None
    zones = directive.arguments[2:]
    if zones and not any(_within(name, zone) for zone in zones):
        return None
    patterns = [" ".join(words[1:]) for words in directive.lines if words[0] == "match"]
    match = next((found for p in patterns if (found := re.search(p, name + "."))), None)
    if patterns and match is None:
        return None
    zone = next((zone for zone in zones if _within(name, zone)), ".")
    addresses = []
    for words in directive.lines:
        record = _expanded(" ".join(words[1:]), name, zone, match).split() if words[0] == "answer" else []
        if len(record) >= 2 and record[-2].upper() == "CNAME":
            return Templated(NameAnswer("NOERROR"), record[-1].rstrip("."))
        if len(record) >= 2 and record[-2].upper() == "A":
            addresses.append(record[-1])
    code = directive.option("rcode")
    return Templated(NameAnswer(code[0].upper() if code and not addresses else "NOERROR", tuple(addresses)))


def _expanded(text: str, name: str, zone: str, match: re.Match[str] | None) -> str:
    """A Go template with the fields that the plugin offers."""

    def value(found: re.Match[str]) -> str:
        words = found[1].split()
        if words == [".Name"]:
            return name + "."
        if words == [".Zone"]:
            return zone.rstrip(".") + "."
        if match is not None and words[:2] == ["index", ".Match"] and words[2:] and words[2].isdigit():
            return match[int(words[2])] or "" if int(words[2]) <= (match.re.groups or 0) else ""
        if match is not None and words[0].startswith(".Group."):
            return match.groupdict().get(words[0].removeprefix(".Group.")) or ""
        return ""

    return re.sub(r"\{\{-?\s*(.*?)\s*-?\}\}", value, text)


def from_hosts(directive: Directive, name: str, file: str = "") -> tuple[str, ...]:
    """The addresses of a name in the plugin's own lines and in its file (`/etc/hosts` by default)."""
    zones = [word for word in directive.arguments if not word.startswith("/")]
    if zones and not any(_within(name, zone) for zone in zones):
        return ()
    rows = [*(line.partition("#")[0].split() for line in file.splitlines()), *directive.lines]
    return tuple(words[0] for words in rows if name in words[1:] and words[0] != "fallthrough")


def _within(name: str, zone: str) -> bool:
    zone = zone.rstrip(".")
    return not zone or name == zone or name.endswith("." + zone)
