"""Pods that are alike to every plugin share what was worked out for one of them.

A Deployment's pods differ in name and labels, of which the filters and most scores know nothing. For such
pods the nodes that may be used, those with room and the scores that depend on the node alone are kept as
columns of the node table; a pod that comes to a node or leaves it changes one row of them. The decisions are
those of a search that asks every plugin for every node (KEP-5598 does the same upstream).

Leaves out pods with claims, host ports, affinity or spread constraints of their own, and all pods while one
with affinity terms runs or a node has a taint PreferNoSchedule: they are searched for in full.
"""

from __future__ import annotations

import marshal

import numpy as np

from simcluster.control.controllerref.podwatch import controlling_reference
from simcluster.control.scheduler.framework import Cycle, Plugin
from simcluster.control.scheduler.nodeinfo import PodInfo
from simcluster.control.scheduler.plugins.imagelocality import ImageLocality
from simcluster.control.scheduler.plugins.nodeaffinity import NodeAffinity
from simcluster.control.scheduler.plugins.nodeconstraints import NodeUnschedulable, TaintToleration
from simcluster.control.scheduler.plugins.resources import (
    NodeResourcesBalancedAllocation,
    NodeResourcesFit,
    balanced,
    has_room,
    least_allocated,
)
from simcluster.control.scheduler.plugins.spread import SELECTING, PodTopologySpread, default_scores
from simcluster.control.scheduler.table import Integers, NodeTable, Rows

#: Parts of a pod's spec that plugins look at beyond what `signature` covers.
_PARTICULAR = ("affinity", "topologySpreadConstraints", "nodeName")


def signature(info: PodInfo) -> bytes:
    """Equal for pods that are alike to every plugin; empty for pods that are searched for in full."""
    spec = info.pod["spec"]
    controller = controlling_reference(info.pod)
    if controller is None or controller["kind"] not in SELECTING or info.ports:
        return b""
    if any(spec.get(part) for part in _PARTICULAR):
        return b""
    for volume in spec.get("volumes") or ():
        if "persistentVolumeClaim" in volume or "ephemeral" in volume:
            return b""
    containers = (*(spec.get("initContainers") or ()), *spec["containers"])
    images = [container.get("image", "") for container in containers]
    facts = (spec.get("tolerations"), spec.get("nodeSelector"), images, info.requests, info.assumed)
    return marshal.dumps(facts, 2)


class Batch:
    """Columns for the pods of one signature.

    Attributes:
        allowed: nodes that such pods may use at all.
        fits: those of them that have room for one more.
        scores: weighted sum of the scores that depend on the node alone.
        seen: how many changes of the table these columns know.
    """

    __slots__ = ("_images", "allowed", "fits", "scores", "seen")

    def __init__(self, cycle: Cycle, table: NodeTable) -> None:
        every: Rows = np.arange(len(table), dtype=np.intp)
        self.seen = table.changes
        self.allowed = np.ones(len(table), dtype=np.bool_)
        for plugin in (NodeUnschedulable(), TaintToleration(), NodeAffinity()):
            mask = plugin.mask(cycle, table)
            if mask is not None:
                self.allowed &= mask
        self.fits = self.allowed & table.with_room(cycle.info.requests)
        self._images = _weighted(ImageLocality(), cycle, table, every)
        self.scores = self._images.copy()
        for scorer in (NodeResourcesFit(), NodeResourcesBalancedAllocation()):
            self.scores += _weighted(scorer, cycle, table, every)

    def follow(self, info: PodInfo, table: NodeTable) -> None:
        """Take over what changed on the nodes since the last look."""
        for row in dict.fromkeys(table.changed_since(self.seen)):
            node = table.infos[row]
            self.fits[row] = bool(self.allowed[row]) and has_room(info, node)
            score = NodeResourcesFit.weight * least_allocated(info, node)
            score += NodeResourcesBalancedAllocation.weight * balanced(info, node)
            self.scores[row] = int(self._images[row]) + score
        self.seen = table.changes


def _weighted(plugin: Plugin, cycle: Cycle, table: NodeTable, rows: Rows) -> Integers:
    found = plugin.scores_of(cycle, table, rows)
    return np.zeros(len(rows), dtype=np.int64) if found is None else plugin.weight * found


def batch_of(cycle: Cycle, table: NodeTable) -> Batch | None:
    """The columns for a pod, up to date; None if it is searched for in full."""
    if cycle.cache.with_affinity or table.prefers:
        return None
    key = signature(cycle.info)
    if not key:
        return None
    batch = table.batches.get(key)
    if not isinstance(batch, Batch):
        batch = Batch(cycle, table)
        table.keep(key, batch)
    elif batch.seen != table.changes:
        batch.follow(cycle.info, table)
    return batch


def totals_of(batch: Batch, cycle: Cycle, table: NodeTable, rows: Rows) -> Integers:
    """The scores of the nodes in these rows: those that are kept, and how evenly the owner's pods are spread."""
    totals: Integers = batch.scores[rows]
    owner, owned = cycle.info.owner, cycle.cache.by_owner
    spread = default_scores(table.siblings(owner, owned[owner]), table, rows) if owner in owned else None
    if spread is not None:
        totals += PodTopologySpread.weight * spread
    return totals


def rows_from(candidates: Rows, start: int, wanted: int) -> Rows:
    """The first so many candidates, counted from a row on and around."""
    split = int(candidates.searchsorted(start))
    if split:
        candidates = np.concatenate((candidates[split:], candidates[:split]))
    return candidates[:wanted]
