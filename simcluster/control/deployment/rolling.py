"""Rolling updates: which sets shrink, and by how much, as pure functions.

Source: kubernetes pkg/controller/deployment/rolling.go.

Concrete example: 10 replicas, 2 unavailable, 3 surge; old set 10 (all available), new set 0.
The new set may have 3 (13 pods at most) while the old one shrinks to 8 (8 available at
least). When 3 new pods are available, 3 more old ones may go, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.objects import ApiObject, name_of
from simcluster.control.deployment.arithmetic import max_unavailable, replicas_of, status_count
from simcluster.control.deployment.revisions import by_age


def most_to_remove(deployment: ApiObject, all_sets: Sequence[ApiObject], new_set: ApiObject | None) -> int:
    """How many old pods may go at most, if those that are not available go first.

    New pods that are not available yet keep old ones alive, so that a bad new revision
    does not eat into what works.
    """
    total = sum(replicas_of(entry) for entry in all_sets)
    least = replicas_of(deployment) - max_unavailable(deployment)
    waiting = 0
    if new_set is not None:
        waiting = replicas_of(new_set) - status_count(new_set, "availableReplicas")
    return total - least - waiting


def cleaned_sizes(old_sets: Sequence[ApiObject], most: int) -> tuple[dict[str, int], bool]:
    """Sizes after pods of old sets that are not available were given up, at most `most`; and whether to go on.

    A set with more available pods than it should have has not acted on its last size yet: what
    it says is stale, and nothing is concluded from it ("got invalid request to scale down").
    """
    sizes: dict[str, int] = {}
    removed = 0
    for entry in by_age(old_sets):
        if removed >= most:
            break
        size, available = replicas_of(entry), status_count(entry, "availableReplicas")
        if size == 0 or size == available:
            continue
        if size < available:
            return sizes, False
        count = min(most - removed, size - available)
        sizes[name_of(entry)] = size - count
        removed += count
    return sizes, True


def shrunk_sizes(
    deployment: ApiObject, old_sets: Sequence[ApiObject], available: int, now: dict[str, int]
) -> dict[str, int]:
    """Sizes after old sets gave up what availability allows.

    Args:
        available: available pods of all sets.
        now: sizes that differ from `spec.replicas` because of a clean-up just made.
    """
    spare = available - (replicas_of(deployment) - max_unavailable(deployment))
    sizes: dict[str, int] = {}
    for entry in by_age(old_sets):
        if spare <= 0:
            break
        size = now.get(name_of(entry), replicas_of(entry))
        if size == 0:
            continue
        count = min(size, spare)
        sizes[name_of(entry)] = size - count
        spare -= count
    return sizes
