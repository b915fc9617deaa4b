"""Replays a log: the same start and the same requests, and answers, world and grade must be the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcluster.engine.content import Library
from simcluster.eval.episode.episode import Episode
from simcluster.eval.episode.start import start
from simcluster.session import Sandbox, log
from simcluster.session.replay import repeat
from simcluster.session.sandbox import begun_by
from simcluster.world.profile import Profile


@dataclass(frozen=True)
class Replay:
    """What a replay found.

    Attributes:
        live: the replayed episode or sandbox, as it was when the log ended (graded if the log was).
        differences: one text for every command whose instant, answer or world is not that of the log.
    """

    live: Episode | Sandbox
    differences: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether everything was as the log says."""
        return not self.differences


def replay(path: Path, library: Library | None = None) -> Replay:
    """Run the commands of a log again.

    Args:
        library: where its task is looked for.

    Raises:
        ValueError: the file is no replay log.
        UnknownName: its task no longer exists.
    """
    found = log.read(path)
    live = begun(found.header, library)
    differences = repeat(live, found)
    if found.end is not None:
        if found.end.graded and isinstance(live, Episode):
            live.finish()
        if live.digest != found.end.digest:
            differences.append(f"the final digest is {live.digest}, not {found.end.digest}")
    return Replay(live, tuple(differences))


def begun(header: dict[str, Any], library: Library | None = None) -> Episode | Sandbox:
    """What the header of a log says was started.

    Raises:
        ValueError: the header lacks something.
        UnknownName: its task no longer exists.
    """
    try:
        if header["task"] is None:
            return begun_by(header)
        own = Profile(parameters=header["parameters"]) if "parameters" in header else None
        return start(header["task"], header["seed"], header["noise"], library, header.get("age"), own)
    except KeyError as missing:
        raise ValueError(f"the header of the log lacks {missing}") from None
