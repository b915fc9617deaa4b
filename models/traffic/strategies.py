"""The ways to evaluate a call graph, each with its precondition: the one place that says which may be used when.

A graph has *traits* (`TRAITS`), which its engine finds once (`exact.traits`, `aggregate.traits`; of a cluster's plan,
`cluster.plain`). A strategy says with which traits it is not possible (`never`), and in words in which state of the
queues it is used (`when`; that is judged from tick to tick by whoever evaluates). Of those that are possible an engine
takes the first one of the table whose state is given; the last one of every engine is always possible.

What is left out: how big a saving is. Tests run all that are possible on the same graphs and compare the results.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

Engine = Literal["exact", "aggregate", "cluster"]

#: What a graph or a plan may have that some strategy cannot evaluate.
TRAITS = {
    # of the work
    "branching": "more than one queue, or an operation that does more than work",
    "lattice": "work whose durations are not of a continuous law",
    "failing": "an operation fails by itself",
    "contended": "work grows with what is inside",
    "cached": "an operation looks something up in a cache",
    "looped": "calls or messages close a circle of services",
    # of queues
    "reordered": "requests of a queue are not served in the order in which they came",
    "shedding": "requests are given up because there are too many",
    "dropping": "a full queue drops requests silently",
    "ranked": "requests of several priorities wait in one queue",
    "heaped": "a heap is collected",
    "sharing": "requests at work share cores",
    "costly_failures": "requests that fail cost work",
    "adaptive": "a limit on what is inside adapts",
    "rate_limited": "a token bucket admits requests",
    "delay_limited": "requests that waited too long are dropped",
    "holding": "workers are held during calls and waits",
    "lagging": "a request's own time begins when it leaves the queue",
    # of calls
    "untimed": "somebody waits for an answer without a time-out",
    "timed": "somebody waits for an answer with a time-out",
    "hedged": "a second attempt is made beside the first",
    "sticky": "connections of a pool stay with a replica",
    "impatient": "attempts end by lost patience",
    "withdrawing": "callers take requests back, or tell callees until when they wait",
    "guarded": "a breaker or an adaptive throttle refuses attempts",
    "budgeted": "a budget pays for retries",
    "retried": "failed attempts are made again",
    "cautious": "calls have more rules than a time-out and retries at once",
    # of loads
    "closed": "users wait for their answers before they ask again",
    "bursty": "the rate of a load jumps by chance, or is replayed",
    "uneven": "a load is not a Poisson stream whose rate stands still",
    "staged": "a load has stages, not one rate",
    "varying": "the rate of a load changes all the time",
    # of the run
    "disturbed": "something happens to the graph while it runs",
    "rewired": "something other than capacity, load or an outage happens to it",
    "asked": "after every window somebody asks whether that is enough",
    "coarse": "a tick is a second or longer",
    "few": "fewer than 48 lanes (edges into pods)",
    # of the plan of a cluster
    "small": "at most 120 containers",
    "walked": "caches, or messages that arrive a tick later",
    "particular": "an operation fails by itself or logs its requests, or something that is no server answers",
}


class Strategy(NamedTuple):
    """One way to evaluate.

    Attributes:
        never: traits with which it is not possible.
        when: the state in which it is used; "" is always.
        evaluator: `module:object` below `simcluster.models.traffic`.
        same: what it has in common with the last strategy of its engine: every `figure`, every `bit`, or the `law`.
    """

    name: str
    engine: Engine
    never: frozenset[str]
    when: str
    evaluator: str
    same: Literal["figure", "bit", "law"]


def _strategy(name: str, engine: Engine, never: str, when: str, evaluator: str, same: str) -> Strategy:
    return Strategy(name, engine, frozenset(never.split()), when, evaluator, same)  # type: ignore[arg-type]


STRATEGIES = {
    each.name: each
    for each in (
        _strategy(
            "single_queue", "exact",
            "branching failing contended reordered dropping shedding heaped rate_limited sharing costly_failures "
            "timed retried cautious closed bursty staged varying disturbed asked",
            "", "exact.plain:PlainRun", "figure",
        ),
        _strategy(
            "retry_queue", "exact",
            "branching lattice failing contended reordered shedding heaped rate_limited sharing costly_failures "
            "untimed cautious closed bursty uneven varying rewired",
            "", "exact.storm:StormRun", "figure",
        ),
        _strategy("every_request", "exact", "", "", "exact.run:GeneralRun", "figure"),
        _strategy(
            "wide", "aggregate",
            "contended cached looped ranked heaped rate_limited delay_limited sharing costly_failures "
            "adaptive hedged sticky impatient closed coarse",
            "hardly anybody can miss a deadline, nobody a bound: a second is one tick, waits are drawn from their "
            "stationary laws",
            "aggregate.wide:Wide", "law",
        ),
        _strategy(
            "leap", "aggregate",
            "contended cached reordered ranked heaped rate_limited delay_limited sharing costly_failures adaptive "
            "untimed hedged sticky withdrawing guarded budgeted closed bursty coarse",
            "every queue is an ordinary one, at its bound or beyond hope, and two stretches were alike: "
            "the next is as the last",
            "aggregate.steady:Steady", "law",
        ),
        _strategy(
            "compiled", "aggregate", "cached looped ranked rate_limited holding lagging guarded sticky few",
            "numba is installed, and no outage holds messages up", "aggregate.fast.compiled", "bit",
        ),
        _strategy("fine", "aggregate", "", "", "aggregate.run:AggregateRun", "bit"),
        _strategy(
            "calm_arrays", "cluster", "small walked particular", "no server is tense, no call fails",
            "cluster.plain:PlainFlow", "law",
        ),
        _strategy("calm_walk", "cluster", "", "no server is tense", "cluster.flow:FlowWalk", "law"),
        _strategy("hot", "cluster", "", "", "cluster.hot:HotTraffic", "law"),
    )
}  # fmt: skip


def possible(engine: Engine, traits: Collection[str], wanted: Collection[str] | None = None) -> tuple[str, ...]:
    """Names of the strategies that may evaluate a graph of these traits, in the order in which they are tried.

    Args:
        wanted: only these, and the last one of the engine.

    Raises:
        ValueError: the engine has no strategy of a wanted name.
    """
    known = [each for each in STRATEGIES.values() if each.engine == engine]
    unknown = [name for name in wanted or () if name not in [each.name for each in known]]
    if unknown:
        raise ValueError(f"{engine} has no strategy {unknown[0]!r}; it has {', '.join(each.name for each in known)}")
    found = [each for each in known if each.never.isdisjoint(traits)]
    return tuple(each.name for each in found if wanted is None or each.name in wanted or each is known[-1])
