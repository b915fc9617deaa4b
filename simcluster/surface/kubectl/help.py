"""What `--help` prints: purpose, subcommands, flags and usage of a command.

Usage lines, aliases and short descriptions are those that kubectl 1.32 prints
(`help-1.32.txt`: path, section of the list it stands in, usage, aliases, description). Left
out: long descriptions, examples and what each flag means.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import NamedTuple

from simcluster.surface.kubectl.commands import ALIASES, Command

_HEAD = """kubectl controls the Kubernetes cluster manager.

 Find more information at: https://kubernetes.io/docs/reference/kubectl/
"""
_SECTIONS = (
    "Basic Commands (Beginner)",
    "Basic Commands (Intermediate)",
    "Deploy Commands",
    "Cluster Management Commands",
    "Troubleshooting and Debugging Commands",
    "Advanced Commands",
    "Settings Commands",
    "Subcommands provided by plugins",
    "Other Commands",
)
_PLUGINS, _LAST = "Subcommands provided by plugins", "Other Commands"
#: Names in a list are at least so wide, and two columns more.
_NAME_WIDTH = 11


class _Facts(NamedTuple):
    """What kubectl says of one command."""

    section: str
    usage: str
    aliases: str
    short: str


@functools.cache
def _facts() -> dict[str, _Facts]:
    text = resources.files("simcluster.surface.kubectl").joinpath("help-1.32.txt").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return {path: _Facts(*rest) for path, *rest in rows}


def help_text(path: str, command: Command) -> str:
    """Usage of a command."""
    facts = _facts().get(path, _Facts("", f"{path} [flags]".strip(), "", ""))
    lines = [_HEAD] if not path else [f"{facts.short}.", ""] if facts.short else []
    if facts.aliases:
        lines += ["Aliases:", facts.aliases, ""]
    if command.subcommands:
        lines += _listed(path, command)
    if command.flags:
        lines += ["Options:", *_options(command), ""]
    lines += ["Usage:", f"  kubectl {facts.usage} [options]", ""]
    if command.subcommands:
        name = f"kubectl {path}".strip()
        lines.append(f'Use "{name} <command> --help" for more information about a given command.')
    lines.append('Use "kubectl options" for a list of global command-line options (applies to all commands).')
    return "\n".join(lines) + "\n"


def _listed(path: str, command: Command) -> list[str]:
    """The subcommands, in their sections."""
    aliases = ALIASES.get(path, {})
    names = [name for name in command.subcommands if name not in aliases and (path or name != "options")]
    width = max(_NAME_WIDTH, *(len(name) for name in names)) + 2
    found: dict[str, list[str]] = {section: [] for section in _SECTIONS} if not path else {"Available Commands": []}
    for name in names:
        facts = _facts().get(f"{path} {name}".strip(), _Facts(_LAST, "", "", ""))
        section = facts.section if facts.section in found else next(iter(found)) if path else _LAST
        found[section].append(f"  {name.ljust(width)} {facts.short}".rstrip())
    lines: list[str] = []
    for section, entries in found.items():
        if entries or section == _PLUGINS:
            lines += [f"{section}:", *(sorted(entries) if path or section == _LAST else entries), ""]
    return lines


def _options(command: Command) -> list[str]:
    lines = []
    for flag in sorted(command.flags):
        short = f"-{flag.short}, " if flag.short else ""
        default = flag.default or ("''" if flag.kind == "string" else "")
        if flag.kind in ("list", "array"):
            default = f"[{flag.default}]"
        lines.append(f"    {short}--{flag.name}={default}")
    return lines
