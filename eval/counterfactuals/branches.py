"""Worlds that branch off from a run: at each write one that is left alone there, and one that is repaired there.

The run is lived again from its page; what only looks changes nothing, so a branch before a write is the one after the
write before it, later. Left out: what users met longer ago than the traffic of a world is remembered (an hour) when a
single command lasted so long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from simcluster.api.request import User
from simcluster.engine import SECOND
from simcluster.eval.counterfactuals.regret import NOTICED, Counterfactuals, Deed
from simcluster.eval.examination.vitals import vitals
from simcluster.eval.interventions.worlds import Paged
from simcluster.eval.trajectory.observe import users_between
from simcluster.eval.worlds.steps import perform
from simcluster.session.clock import Budget, Clock
from simcluster.session.kinds import KINDS, Request
from simcluster.session.live import Live
from simcluster.session.log import Command
from simcluster.session.replay import again

if TYPE_CHECKING:
    from simcluster.world import World

#: Branch points of a run; with more writes those in a row are taken together.
DEEDS_MAX = 12
#: Characters of a command that are quoted.
TEXT_MAX = 160
#: Sentences of evidence for a deed.
EVIDENCE_MAX = 2
_COUNT_NS = 600 * SECOND


class Work(NamedTuple):
    """What an operator did after a page.

    Attributes:
        commands: all, in order.
        ended_ns: when he had finished.
        operator: who he was to the API server.
    """

    commands: Sequence[Command]
    policy: Clock
    budget: Budget
    ended_ns: int
    operator: User


def counterfactuals(paged: Paged, work: Work) -> Counterfactuals:
    """Branch a run off at its page and at each write; all worlds live on to the end of the acceptance window."""
    return _Branching(paged, work).found()


class _Branch(NamedTuple):
    """A world that has lived to the end, and the requests of users that it has lost since the page."""

    world: World
    lost: float


class _Branching:
    def __init__(self, paged: Paged, work: Work) -> None:
        self._paged = paged
        self._work = work
        task = paged.task
        self._end_ns = work.ended_ns + task.acceptance.settle + task.acceptance.window
        self._live = Live(paged.world.restore(), work.policy, work.budget, work.operator)
        self._failed = 0  # requests of users, since the page, up to
        self._counted_ns = paged.at_ns

    def found(self) -> Counterfactuals:
        untouched = self._left()
        repaired = self._repaired(untouched)
        left, deeds = untouched, list[Deed]()
        last = repaired
        for looks, writes in grouped(self._live.world, self._work.commands):
            self._do(looks)
            before = self._repaired(left) if looks else last
            began_ns = self._live.world.sim.now
            self._do(writes)
            now = self._left()
            last = self._repaired(now)
            deed = Deed(_quoted(writes), self._since_page(began_ns), left.lost, now.lost, before, last)
            deeds.append(
                _with_evidence(deed, left.world, now.world, self._paged.task.namespace, self._end_ns - began_ns)
            )
            left = now
        return Counterfactuals(self._since_page(self._end_ns), untouched.lost, repaired, tuple(deeds))

    def _since_page(self, at_ns: int) -> float:
        return round((at_ns - self._paged.at_ns) / SECOND, 3)

    def _do(self, commands: Iterable[Command]) -> None:
        for command in commands:
            again(self._live, command)
            self._failed += _failed(self._live.world, self._counted_ns)
            self._counted_ns = self._live.world.sim.now

    def _left(self) -> _Branch:
        """The world if nobody does anything from now on."""
        return self._lived(self._live.world.fork())

    def _repaired(self, left: _Branch) -> float:
        """User-minutes that are lost if the reference repair is made now, or nothing where that is better.

        Args:
            left: the world if nobody does anything from now on.
        """
        hand = Live(self._live.world.fork(), self._paged.task.clock)
        for step in next(iter(self._paged.task.reference_fixes), ()):
            perform(hand, step)
        return min(left.lost, self._lived(hand.world).lost)

    def _lived(self, world: World) -> _Branch:
        failed, at_ns = self._failed, self._counted_ns
        while True:
            failed += _failed(world, at_ns, self._end_ns)
            at_ns = world.sim.now
            if at_ns >= self._end_ns:
                return _Branch(world, round(failed / self._paged.task.users.rps / 60.0, 3))
            world.sim.run_until(min(self._end_ns, at_ns + _COUNT_NS))


def _failed(world: World, from_ns: int, to_ns: int | None = None) -> int:
    """Requests of users that failed since an instant, up to now or to an instant before."""
    now = world.sim.now
    found = users_between(world, from_ns, now if to_ns is None else min(now, to_ns))
    return int(found["sent"] - found["ok"])


def grouped(world: World, commands: Sequence[Command]) -> list[tuple[list[Command], list[Command]]]:
    """(what only looked or waited, then what wrote), for each deed."""
    groups: list[tuple[list[Command], list[Command]]] = []
    looks: list[Command] = []
    for command in commands:
        if command.tool not in KINDS or command.tool == "diagnose":
            continue
        looks.append(command)
        if _writes(world, command):
            groups.append((looks[:-1], looks[-1:]))
            looks = []
    size = -(-len(groups) // DEEDS_MAX)
    if size <= 1:
        return groups
    chunks = [groups[start : start + size] for start in range(0, len(groups), size)]
    return [
        (chunk[0][0], [*chunk[0][1], *(one for group in chunk[1:] for part in group for one in part)])
        for chunk in chunks
    ]


def _writes(world: World, command: Command) -> bool:
    request = Request(command.tool, command.text, command.target, command.stdin, command.identity)
    return KINDS[command.tool].effect(world, request).writes


def _quoted(commands: Sequence[Command]) -> str:
    first = commands[0]
    where = {"node": f"ssh {first.target} ", "kubectl": "kubectl ", "sh": ""}.get(first.tool, f"{first.tool} ")
    text = " ".join(f"{where}{first.text}".split())
    text = text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"
    return text if len(commands) == 1 else f"{text} and {len(commands) - 1} commands after it"


def _with_evidence(deed: Deed, without: World, given: World, namespace: str, lasts_ns: int) -> Deed:
    """A deed with what users and programs met in the world with it and in that without it."""
    if abs(deed.harm) < NOTICED:
        return deed
    one, other = vitals(given, namespace, lasts_ns), vitals(without, namespace, lasts_ns)
    if deed.harm > 0:
        found = [text.replace("without the incident", "without it") for text in one.worse_than(other)]
    else:
        found = [text.replace("without the incident", "with it") for text in other.worse_than(one)]
    return Deed(**{**deed.__dict__, "evidence": tuple(found[:EVIDENCE_MAX])})
