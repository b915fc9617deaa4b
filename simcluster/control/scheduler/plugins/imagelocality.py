"""ImageLocality: prefers nodes that have the pod's images already.

Source: kubernetes pkg/scheduler/framework/plugins/imagelocality.
"""

from __future__ import annotations

import numpy as np

from simcluster.control.scheduler.framework import MAX_SCORE, Cycle, Plugin
from simcluster.control.scheduler.table import Integers, NodeTable, Rows

_MIB = 1024 * 1024
#: Smaller sums count nothing; more than the second for each container counts no more.
LEAST_BYTES, MOST_BYTES = 23 * _MIB, 1000 * _MIB


def normalized(image: str) -> str:
    """The name with a tag, as nodes are asked for it.

    >>> normalized("nginx"), normalized("r.io:5000/a"), normalized("a/b:1")
    ('nginx:latest', 'r.io:5000/a:latest', 'a/b:1')
    """
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


class ImageLocality(Plugin):
    """Bytes present on the node, the less the fewer nodes have them (so that one node is not flooded)."""

    name = "ImageLocality"

    def scores_of(self, cycle: Cycle, table: NodeTable, rows: Rows) -> Integers | None:
        """From nothing at 23 MiB to 100 at 1000 MiB for each container."""
        spec = cycle.spec
        containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
        sums = np.zeros(len(rows), dtype=np.int64)
        for container in containers:
            sizes = table.image_sizes(normalized(container.get("image", "")))
            holders = int(np.count_nonzero(sizes))
            if holders:
                sums += (sizes[rows] * (holders / len(table))).astype(np.int64)
        most = MOST_BYTES * len(containers)
        if not len(rows) or int(sums.max()) <= LEAST_BYTES:
            return None
        scores: Integers = MAX_SCORE * (np.clip(sums, LEAST_BYTES, most) - LEAST_BYTES) // (most - LEAST_BYTES)
        return scores
