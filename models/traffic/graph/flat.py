"""What an operation does, flattened: its own time, and its calls with what they depend on.

The one compiled form of operations for whoever counts: `aggregate`, and the clusters' closed forms. (`exact` walks the
steps themselves.)

An operation's steps become one sum of own durations (work and waits) and a list of sites. A
site knows how likely it is reached, and two places: in the tree of success (the operation
succeeds if in every group the branch taken succeeds; a branch succeeds if all its required
calls do) and in the sum of times (units follow each other; the arms of a unit run side by side).

Approximations: the order of work and calls is forgotten (all work comes first), a choice inside
a choice counts by its probability only, and work in the arms of a `parallel` is added up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simcluster.models.traffic.graph.laws import Law
from simcluster.models.traffic.graph.service import Call, Operation, Send, Step


@dataclass
class Site:
    """One call or message of an operation.

    Attributes:
        reach: probability that a request comes by, caches left out.
        inner: the same, given that its branch was taken.
        caches: names of the caches that must miss first.
        group, branch: place in the tree of success; `share` is the branch's probability.
        unit, arm: place in the sum of times; `order`: in the operation's text.
    """

    call: Call | Send
    reach: float
    inner: float
    caches: tuple[str, ...]
    group: int
    branch: int
    share: float
    unit: int
    arm: int
    order: int


@dataclass
class Part:
    """An own duration of an operation: CPU work, or a wait without CPU."""

    law: Law
    reach: float
    is_work: bool


@dataclass
class _Place:
    reach: float = 1.0
    inner: float = 1.0
    share: float = 1.0
    caches: tuple[str, ...] = ()
    group: int = -1
    branch: int = -1
    unit: int = -1
    arm: int = -1


@dataclass
class Flattened:
    """An operation as whoever counts sees it."""

    parts: list[Part] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    groups: int = 0
    branches: int = 0
    units: int = 0
    arms: int = 0

    def walk(self, steps: tuple[Step, ...], place: _Place) -> None:
        """Add the steps that follow each other at a place."""
        for step in steps:
            self._step(step, place)

    def _step(self, step: Step, at: _Place) -> None:
        law = step.work or step.wait
        if law is not None:
            self.parts.append(Part(law, at.reach, step.work is not None))
        elif step.call is not None or step.send is not None:
            self._site(step.call or step.send, at)
        elif step.parallel is not None:
            unit = at.unit if at.unit >= 0 else self._next("units")
            for arm in step.parallel:
                self._step(
                    arm, _Place(at.reach, at.inner, at.share, at.caches, at.group, at.branch, unit, self._next("arms"))
                )
        elif step.sequence is not None:
            self.walk(step.sequence, at)
        elif step.choose is not None:
            self._choose(step, at)
        elif step.cached is not None:
            if step.cached.hit is not None:
                self.parts.append(Part(step.cached.hit, at.reach, False))
            caches = (*at.caches, step.cached.cache)
            inside = at.group >= 0
            group = at.group if inside else self._next("groups")
            branch = at.branch if inside else self._next("branches")
            self.walk(step.cached.miss, _Place(at.reach, at.inner, at.share, caches, group, branch, at.unit, at.arm))

    def _choose(self, step: Step, at: _Place) -> None:
        inside = at.group >= 0
        group = at.group if inside else self._next("groups")
        for chance in step.choose or ():
            p = chance.probability
            if inside:
                place = _Place(at.reach * p, at.inner * p, at.share, at.caches, group, at.branch, at.unit, at.arm)
            else:
                place = _Place(at.reach * p, 1.0, p, at.caches, group, self._next("branches"), at.unit, at.arm)
            self.walk(chance.steps, place)

    def _site(self, call: Call | Send | None, at: _Place) -> None:
        assert call is not None
        group = at.group if at.group >= 0 else self._next("groups")
        branch = at.branch if at.branch >= 0 else self._next("branches")
        unit = at.unit if at.unit >= 0 else self._next("units")
        arm = at.arm if at.arm >= 0 else self._next("arms")
        self.sites.append(
            Site(call, at.reach, at.inner, at.caches, group, branch, at.share, unit, arm, len(self.sites))
        )

    def _next(self, counter: str) -> int:
        value: int = getattr(self, counter)
        setattr(self, counter, value + 1)
        return value


def flatten(operation: Operation) -> Flattened:
    """The operation's own durations and sites, in order."""
    flat = Flattened()
    if operation.work is not None:
        flat.parts.append(Part(operation.work, 1.0, True))
    flat.walk(operation.steps, _Place())
    return flat
