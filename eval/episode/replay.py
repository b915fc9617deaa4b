"""Replays an episode from its log: same task, seed and commands, and the answers must be the same."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from simcluster.eval.episode.episode import Episode
from simcluster.eval.episode.start import start
from simcluster.session import log
from simcluster.surface.protocols import CommandResult


@dataclass(frozen=True)
class Replay:
    """What a replay found.

    Attributes:
        episode: the replayed episode, after its last command (finished if the log was).
        differences: one text for every command whose instant or answer is not that of the log.
    """

    episode: Episode
    differences: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether everything was as the log says."""
        return not self.differences


def replay(path: Path) -> Replay:
    """Run the commands of a log again.

    Raises:
        ValueError: the file is no replay log.
        UnknownName: its task no longer exists.
    """
    header, commands, digest = log.read(path)
    episode = start(header["task"], header["seed"], header["noise"])
    differences = []
    for number, command in enumerate(commands, start=1):
        result = _again(episode, command)
        made = episode.commands[len(episode.commands) - 1]
        if made.at_ns != command.at_ns:
            differences.append(f"command {number} ({command.text}) took effect at {made.at_ns} ns, not {command.at_ns}")
        elif not log.same_answer(command, result):
            differences.append(f"command {number} ({command.text}) answered differently")
    if digest:
        episode.finish()
        if episode.digest != digest:
            differences.append(f"the final digest is {episode.digest}, not {digest}")
    return Replay(episode, tuple(differences))


def _again(episode: Episode, command: log.Command) -> CommandResult:
    if command.tool == "kubectl":
        return episode.kubectl(command.text, command.stdin)
    if command.tool == "node":
        return episode.node(command.target).sh(command.text)
    if command.tool == "wait":
        episode.wait(command.text)
    elif command.tool == "diagnose":
        episode.diagnose(ast.literal_eval(command.text))
    else:
        raise ValueError(f"unknown tool {command.tool!r} in a replay log")
    return CommandResult("")
