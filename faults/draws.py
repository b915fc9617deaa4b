"""Which values the parameters of a fault can take: by how bad it is to be, or by what there is in a world."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from pydantic import model_validator

from simcluster.api.objects import labels_of, name_of
from simcluster.engine.content import Content, UnknownName
from simcluster.faults.drives.stored_data import place_of
from simcluster.faults.target import ImpossibleTarget, containers_of
from simcluster.faults.values import Scene

#: How many magnitudes there are between the mildest and the worst.
LEVELS = 5


def _services(scene: Scene) -> list[str]:
    """Names in the cluster's DNS of the Services of the application."""
    stored = scene.target.api.store.objects("services", scene.namespace)
    return [f"{name_of(one)}.{scene.namespace}.svc.cluster.local" for one in stored]


def _callees(scene: Scene) -> list[str]:
    """Services whose addresses the first container of the target has in its variables."""
    known = {name_of(one) for one in scene.target.api.store.objects("services", scene.namespace)}
    values = [str(one.get("value", "")) for one in containers_of(scene.workload())[0].get("env") or ()]
    hosts = [value.rpartition("//")[2].partition(":")[0].partition(".")[0] for value in values]
    return sorted({host for host in hosts if host in known})


def _claims(scene: Scene) -> list[str]:
    """Claims whose volumes lie on the target, a node."""
    store = scene.target.api.store
    names = [name_of(one) for one in store.objects("persistentvolumeclaims", scene.namespace)]
    places = {name: place_of(store, scene.namespace, name) for name in names}
    return [name for name, place in places.items() if place is not None and place.node == scene.ref.name]


def _labels(scene: Scene) -> list[str]:
    """Values of the label `app` of Deployments."""
    stored = scene.target.api.store.objects("deployments.apps", scene.namespace)
    return sorted({labels_of(one["spec"]["template"]).get("app", "") for one in stored} - {""})


def _workers(scene: Scene) -> list[str]:
    return [name_of(one) for one in scene.workers()]


#: What a world is asked for.
EACH: Mapping[str, Callable[[Scene], list[str]]] = {
    "services": _services, "callees": _callees, "claims": _claims, "labels": _labels, "workers": _workers,
}  # fmt: skip


class Draw(Content):
    """Values of one parameter: numbers from the mildest to the worst, or `each` of what a world has.

    Attributes:
        mild, worst: numbers; between them values are at equal ratios.
        unit: what stands after the number, such as `m`; without it the value is a number.
        whole: whether it is an integer.
        each: a key of `EACH`.
        listed: whether the value is a list with the one name in it.
    """

    mild: float = 0.0
    worst: float = 0.0
    unit: str = ""
    whole: bool = False
    each: str = ""
    listed: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> Draw:
        if bool(self.each) == bool(self.mild and self.worst):
            raise ValueError("give either mild and worst, or each")
        if self.each and self.each not in EACH:
            raise ValueError(str(UnknownName("each", self.each, sorted(EACH))))
        return self

    def at(self, level: int) -> float | int | str:
        """The value of a magnitude: 0 is the mildest, `LEVELS` - 1 the worst.

        >>> [Draw(mild=10, worst=1000).at(level) for level in range(5)], Draw(mild=0.1, worst=0.9).at(2)
        ([10.0, 32.0, 100.0, 320.0, 1000.0], 0.3)
        """
        middle = math.sqrt(self.mild * self.worst)
        steps = (self.mild, math.sqrt(self.mild * middle), middle, math.sqrt(middle * self.worst), self.worst)
        value = float(f"{steps[level]:.2g}")
        if self.unit:
            return f"{value:g}{self.unit}"
        return round(value) if self.whole else value

    def names(self, scene: Scene) -> list[Any]:
        """What a world has of it; empty if nothing, or the target is of a kind that has none."""
        try:
            found = EACH[self.each](scene)
        except ImpossibleTarget:
            return []
        return [(name,) for name in found] if self.listed else list(found)


def combinations_of(draws: Mapping[str, Draw], scene: Scene) -> list[dict[str, Any]]:
    """Every combination of what a world has for the parameters that are drawn by name."""
    named = {name: draw.names(scene) for name, draw in draws.items() if draw.each}
    return [dict(zip(named, values, strict=True)) for values in product(*named.values())]


def magnitudes(draws: Mapping[str, Draw], level: int) -> dict[str, Any]:
    """The parameters that are numbers, at a magnitude."""
    return {name: draw.at(level) for name, draw in draws.items() if not draw.each}
