"""Which workload a pod belongs to, by its name."""

from __future__ import annotations

import re

#: Pods of a Deployment: name, hash of the ReplicaSet, five letters; of a StatefulSet: name, number.
_OWNED = re.compile(r"(.+?)(?:-[a-z0-9]{6,10})?-(?:[a-z0-9]{5}|[0-9]+)")


def owner_of(pod: str) -> str:
    """The name of the workload that made a pod; a pod made by hand is its own.

    >>> owner_of("web-6d4cf56db6-x7k2p"), owner_of("db-0"), owner_of("curl")
    ('web', 'db', 'curl')
    """
    match = _OWNED.fullmatch(pod)
    return match[1] if match else pod
