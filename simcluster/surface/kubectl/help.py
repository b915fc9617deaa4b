"""What `--help` prints: subcommands or flags of a command."""

from __future__ import annotations

from simcluster.surface.kubectl.commands import ALIASES, Command


def help_text(path: str, command: Command) -> str:
    """Usage of a command."""
    name = f"kubectl {path}".strip()
    lines: list[str] = []
    if command.subcommands:
        names = [word for word in sorted(command.subcommands) if word not in ALIASES.get(path, {})]
        lines += ["Available Commands:", *(f"  {word}" for word in names), ""]
    if command.flags:
        lines.append("Options:")
        for flag in sorted(command.flags):
            short = f"-{flag.short}, " if flag.short else ""
            empty = {"list": "[]", "array": "[]"}.get(flag.kind, "''")
            lines.append(f"    {short}--{flag.name}={flag.default or empty}")
        lines.append("")
    lines += ["Usage:", f"  {name} [flags] [options]"]
    return "\n".join(lines) + "\n"
