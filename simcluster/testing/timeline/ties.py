"""Which instants cause which, and so must come in one order in every run.

The k-th of several pods to do the second thing is never before the k-th to do the first, so
the rules hold for single pods and for sets of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from simcluster.testing.timeline.instants import Instant

#: Facts of one pod role, each the cause of the next (types: what is watched, start of the fact).
_LIFE = (
    (("pod", "added"), ("pod", "bound"), ("pod", "r0 waiting ContainerCreating")),
    (("pod", "bound"), ("event", "Scheduled")),
    (("event", "Created"), ("event", "Started")),
    (("event", "Pulling"), ("event", "Pulled Successfully")),
    (("event", "Pulling"), ("event", "Failed Failed to pull"), ("event", "Failed Error: ErrImagePull")),
    (("pod", "DisruptionTarget=True"), ("pod", "deletion asked for"), ("pod", "deleted")),
    (("event", "Started"), ("pod", "Ready=True")),
)
_UNREACHABLE = "taint node.kubernetes.io/unreachable"
_RESTARTS = re.compile(r"r(\d+) ")
_IMAGE = re.compile(r'image "([^"]*)"')


def tied_pairs(found: Mapping[Instant, float]) -> list[tuple[Instant, Instant]]:
    """Pairs (cause, effect) among the instants of a recording."""
    pairs = [*_lives(found), *_restarts(found), *_reports(found), *_losses(found)]
    return list(dict.fromkeys(pairs))


def _lives(found: Mapping[Instant, float]) -> Iterator[tuple[Instant, Instant]]:
    for chain in _LIFE:
        for (watched, start), (next_watched, next_start) in pairwise(chain):
            for cause in found:
                if cause.watched != watched or not cause.fact.startswith(start):
                    continue
                for effect in found:
                    same = effect.role == cause.role and effect.number == cause.number and _fit(cause, effect)
                    if same and effect.watched == next_watched and effect.fact.startswith(next_start):
                        yield cause, effect


def _fit(cause: Instant, effect: Instant) -> bool:
    """Whether two events that name a container or an image name the same."""
    if cause.watched != "event" or effect.watched != "event":
        return True
    if cause.fact.startswith("Created "):
        return cause.fact.rpartition(" ")[2] == effect.fact.rpartition(" ")[2] or cause.fact.endswith(" created")
    images = [_IMAGE.search(instant.fact) for instant in (cause, effect)]
    return len({image[1] for image in images if image is not None}) < 2


def _restarts(found: Mapping[Instant, float]) -> Iterator[tuple[Instant, Instant]]:
    """Whatever is seen of a container is seen before what follows its next restart."""
    by_count: dict[tuple[str, int], list[Instant]] = {}
    for instant in found:
        seen = _RESTARTS.match(instant.fact)
        if instant.watched == "pod" and seen:
            by_count.setdefault((instant.role, int(seen[1])), []).append(instant)
    for (role, count), instants in by_count.items():
        for effect in by_count.get((role, count + 1), ()):
            for cause in instants:
                if cause.number <= effect.number:
                    yield cause, effect


def _reports(found: Mapping[Instant, float]) -> Iterator[tuple[Instant, Instant]]:
    """A lone pod that becomes Ready makes its Deployment report a ready replica."""
    for cause in found:
        if cause.watched == "pod" and cause.fact == "Ready=True":
            effect = Instant("deploy", cause.role.partition("#")[0], "readyReplicas rises to 1", cause.number)
            if effect in found and Instant("pod", cause.role, "added", 2) not in found:
                yield cause, effect


def _losses(found: Mapping[Instant, float]) -> Iterator[tuple[Instant, Instant]]:
    """A node that falls silent is tainted; its pods are no longer ready, and go in the end."""
    for cause in found:
        if cause.watched != "node" or not cause.fact.startswith("Ready=Unknown"):
            continue
        for effect in found:
            tainted = effect.watched == "node" and effect.role == cause.role and effect.fact.startswith(_UNREACHABLE)
            evicted = effect.watched == "pod" and effect.fact == "DisruptionTarget=True"
            noted = effect.watched == "event" and effect.fact.startswith("NodeNotReady")
            if tainted or evicted or noted:
                yield cause, effect
