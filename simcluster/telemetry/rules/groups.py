"""Groups of rules as a server has them: evaluated at their instants, with what they found last.

`Rules` is one picklable value. Whoever owns it asks when a group is due, evaluates it with the store of samples, stores
what every rule makes before the next one is asked, and passes the notices on to Alertmanager. Left out: that pending
alerts are restored from `ALERTS_FOR_STATE` after a restart (Prometheus does so where `for` is 10 min or more).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from simcluster.engine.clock import MILLISECOND, MINUTE, SECOND, unix_seconds
from simcluster.telemetry.promql import printing
from simcluster.telemetry.promql.context import Options, QueryError, without
from simcluster.telemetry.promql.evaluation import DEFAULT, query
from simcluster.telemetry.promql.hashing import label_hash
from simcluster.telemetry.promql.parsing import parse
from simcluster.telemetry.promql.storage import STALE_NAN, Labels, Queryable
from simcluster.telemetry.promql.tokens import ParseError
from simcluster.telemetry.rules import files
from simcluster.telemetry.rules.alerts import AlertStates, Found, Notice
from simcluster.telemetry.rules.memory import Remembered
from simcluster.telemetry.rules.reach import Reach, Share, reach_of, share_of
from simcluster.telemetry.rules.templates import Facts, expanded

#: Samples of a scrape may be written this much later than they are dated: its time-out, and what a look takes.
_LATE_MS = 15_000


class History(Protocol):
    """What a store knows of its metrics without being asked for samples; instants are in milliseconds."""

    def changed_since(self, names: Iterable[str], after_ms: int) -> bool:
        """Whether a series of one of these metrics was new, other than before, or gone after an instant."""

    def shown_by(self, names: Iterable[str], at_ms: int) -> bool:
        """Whether a target that shows one of these metrics was scraped at an instant or before."""


SAME = "vector contains metrics with the same labelset after applying {} labels"


def unix_ms(now_ns: int) -> int:
    """Milliseconds since the Unix epoch of a simulated instant."""
    return unix_seconds(now_ns) * 1000 + now_ns % SECOND // MILLISECOND


class Sample(NamedTuple):
    """A sample that an evaluation made; `STALE_NAN` where a series ended."""

    labels: Labels
    ms: int
    value: float


#: Takes what a rule made, before the next one is asked: a name for the rule, the instant, values by labels.
Keep = Callable[[str, int, Mapping[Labels, float]], None]


class Evaluated(NamedTuple):
    """What an evaluation of a group made: samples, in order, and what to tell Alertmanager."""

    samples: list[Sample]
    notices: list[Notice]


@dataclass
class RuleState:
    """A rule and what its last evaluation found.

    Attributes:
        reach: what its expression depends on; None if on more than samples.
        share: what is above in it, if it asks for a share; idle: whether that was zero, None if that is not known.
        series: those that it made, which end when they are not made again.
        found: series of the expression when it was last evaluated, None if that failed.
        cost: how many these were, from which the API's `evaluationTime` follows.
    """

    rule: files.Rule
    query: str
    alerts: AlertStates
    reach: Reach | None = None
    share: Share | None = None
    idle: bool | None = None
    series: dict[Labels, None] = field(default_factory=dict)
    found: list[tuple[Labels, float]] | None = None
    health: str = "unknown"
    error: str = ""
    evaluated_ns: int = -1
    cost: int = 0


@dataclass
class GroupState:
    """A group of rules; `interval_ns` is its own or the server's, `evaluated_ms` as of when it was evaluated last."""

    group: files.RuleGroup
    interval_ns: int
    rules: list[RuleState]
    evaluated_ns: int = -1
    evaluated_ms: int = -1

    def next_ns(self, now_ns: int) -> int:
        """The first instant of its schedule after `now_ns`.

        Groups do not start together: each keeps a place in its interval that follows from its name and file.
        """
        now = unix_seconds(now_ns) * SECOND + now_ns % SECOND
        place = _hash_of(self.group.file, self.group.name) % self.interval_ns
        return now_ns + self.interval_ns - (now - place) % self.interval_ns


class Rules:
    """All groups of a server.

    Args:
        external: labels that the server adds to what it sends.
        interval_ns: of groups that say none (`evaluation_interval`).
        url: the server's own, for links.
        offset_ms: by how much evaluations look back, of groups that say nothing (`rule_query_offset`).
    """

    def __init__(
        self,
        options: Options = DEFAULT,
        external: Mapping[str, str] | None = None,
        interval_ns: int = MINUTE,
        url: str = "",
        offset_ms: int = 0,
    ) -> None:
        self.options, self.external = replace(options, brief=True), dict(external or {})
        self.interval_ns, self.url, self.offset_ms = interval_ns, url, offset_ms
        self.groups: list[GroupState] = []

    def load(self, sources: Mapping[str, str]) -> None:
        """Take on these files (name -> YAML) instead of those before; groups that are the same keep their state.

        Raises:
            RuleFileError: one of them is wrong; then nothing changes.
        """
        before = {(each.group.file, each.group.name): each for each in self.groups}
        groups = []
        for file, source in sources.items():
            for group in files.load(source, file):
                known = before.get((group.file, group.name))
                groups.append(known if known is not None and known.group == group else self._new(group, known))
        self.groups = groups

    def _new(self, group: files.RuleGroup, before: GroupState | None) -> GroupState:
        interval = group.interval_ms * MILLISECOND or self.interval_ns
        known = {(state.rule.name, state.query): state for state in before.rules} if before is not None else {}
        states = []
        for rule in group.rules:
            tree = parse(rule.expr, self.options.closed)
            text = printing.shown(tree)
            alerts = AlertStates(rule.for_ms * MILLISECOND, rule.keep_firing_for_ms * MILLISECOND)
            state = RuleState(rule, text, alerts, reach_of(tree), share_of(tree))
            old = known.get((rule.name, text))
            if old is not None and old.rule.labels == rule.labels:
                alerts.active, state.series = old.alerts.active, old.series
            states.append(state)
        return GroupState(group, interval, states)

    def evaluate(
        self, group: GroupState, now_ns: int, store: Queryable, keep: Keep | None = None, history: History | None = None
    ) -> Evaluated:
        """Evaluate a group's rules, in order; a rule sees what `keep` has stored of those before it.

        Args:
            history: says whether series of a name have changed since. A rule that depends on nothing that has changed
                finds what it found before, and its expression is not evaluated again.
        """
        at_ms = unix_ms(now_ns) - (group.group.offset_ms or self.offset_ms)
        samples: list[Sample] = []
        notices: list[Notice] = []
        read = Remembered(store)
        for number, state in enumerate(group.rules):
            try:
                if history is None or not self._finds_same(state, group, (at_ms, read), history):
                    state.found = None
                    state.found = self._asked(state, at_ms, read)
                made = self._made(state, now_ns, (at_ms, read, group.group.limit))
                state.health, state.error = "ok", ""
            except (QueryError, ParseError) as error:
                made, state.health, state.error = {}, "err", str(error)
            state.evaluated_ns = now_ns
            if made or state.series:
                samples += [Sample(labels, at_ms, value) for labels, value in made.items()]
                samples += [Sample(labels, at_ms, STALE_NAN) for labels in state.series if labels not in made]
                state.series = dict.fromkeys(made)
                if keep is not None:
                    keep(f"{group.group.file};{group.group.name};{number}", at_ms, made)
                    read.forget()
            if state.alerts.active:
                notices += state.alerts.notices(now_ns, group.interval_ns, self._link(state))
        group.evaluated_ms, group.evaluated_ns = at_ms, now_ns
        return Evaluated(samples, notices)

    def _finds_same(self, state: RuleState, group: GroupState, now: tuple[int, Queryable], history: History) -> bool:
        """Whether a rule would find what it has found before."""
        share, state.idle = state.share, state.idle if state.found == [] else None
        if state.found is None or _quiet(state.reach, group, now[0], history):
            return state.found is not None
        if share is None or state.found or not _quiet(share.reach, group, now[0], history):
            state.idle = None
        elif not state.idle:
            parts = query(now[1], share.query, now[0], self.options)
            state.idle = parts.kind == "vector" and not any(one.natives or one.values[0] for one in parts.series)
        return bool(state.idle)

    def _asked(self, state: RuleState, at_ms: int, store: Queryable) -> list[tuple[Labels, float]]:
        result = query(store, state.query, at_ms, self.options)
        if result.kind not in ("vector", "scalar"):
            raise QueryError("rule result is not a vector or scalar")
        state.cost = len(result.series)
        return [(one.labels, float(one.values[0])) for one in result.series]

    def _made(self, state: RuleState, now_ns: int, around: tuple[int, Queryable, int]) -> dict[Labels, float]:
        found = state.found or []
        if not state.rule.alerting:
            return self._recorded(state.rule, found, around[2])
        if found or state.alerts.active:
            self._alerted(state, found, now_ns, around)
        return _alert_series(state)

    def _recorded(self, rule: files.Rule, found: list[tuple[Labels, float]], limit: int) -> dict[Labels, float]:
        made: dict[Labels, float] = {}
        for labels, value in found:
            changed = {**dict(labels), **rule.labels, "__name__": rule.name}
            key = tuple(sorted((name, each) for name, each in changed.items() if each))
            if key in made:
                raise QueryError(SAME.format("rule"))
            made[key] = value
        if limit and len(made) > limit:
            raise QueryError(f"exceeded limit of {limit} with {len(made)} series")
        return made

    def _alerted(
        self,
        state: RuleState,
        found: list[tuple[Labels, float]],
        now_ns: int,
        around: tuple[int, Queryable, int],
    ) -> None:
        at_ms, store, limit = around

        def ask(text: str) -> Sequence[tuple[Mapping[str, str], float]]:
            answer = query(store, text, at_ms, self.options)
            return [(dict(one.labels), float(one.values[0])) for one in answer.series]

        holding: dict[Labels, Found] = {}
        for full, value in found:
            labels = without(full, "__name__")
            facts = Facts(state.rule.name, dict(labels), value, self.external, ask, self.url)
            added = {name: expanded(source, facts) for name, source in state.rule.labels.items()}
            both = {**dict(labels), **added, "alertname": state.rule.name}
            key = tuple(sorted((name, each) for name, each in both.items() if each))
            if key in holding:
                raise QueryError(SAME.format("alert"))
            annotations = {name: expanded(source, facts) for name, source in state.rule.annotations.items()}
            holding[key] = Found(key, annotations, value)
        if limit and len(holding) > limit:
            state.alerts.active.clear()
            raise QueryError(f"exceeded limit of {limit} with {len(holding)} alerts")
        state.alerts.evaluated(now_ns, holding)

    def _link(self, state: RuleState) -> str:
        plain = state.query.replace("%", "%25").replace(" ", "+").replace("&", "%26").replace("#", "%23")
        return f"{self.url}/graph?g0.expr={plain}&g0.tab=1"


@functools.lru_cache(maxsize=1024)
def _hash_of(file: str, name: str) -> int:
    """Of a group, as Prometheus has it (`Group.hash`)."""
    return label_hash((("file", file), ("name", name)))


def _quiet(reach: Reach | None, group: GroupState, at_ms: int, history: History) -> bool:
    """Whether all that an expression reads is as at the last evaluation.

    Nothing has changed since its window lay before that; or, where a window may hold a change, nothing has left it.
    """
    if reach is None:
        return False
    names, known_ms = reach.names, group.evaluated_ms - _LATE_MS
    if history.changed_since(names, known_ms - reach.window_ms):
        return False
    if reach.lasting_ms <= reach.window_ms or not history.shown_by(names, at_ms - reach.lasting_ms):
        return True
    return not history.changed_since(names, known_ms - reach.lasting_ms)


def _alert_series(state: RuleState) -> dict[Labels, float]:
    """`ALERTS` and `ALERTS_FOR_STATE` of what is pending or fires."""
    made: dict[Labels, float] = {}
    for alert in state.alerts.standing():
        labels = dict(alert.labels)
        named = {**labels, "__name__": "ALERTS", "alertstate": alert.state}
        made[tuple(sorted(named.items()))] = 1.0
        since = {**labels, "__name__": "ALERTS_FOR_STATE"}
        made[tuple(sorted(since.items()))] = float(unix_seconds(alert.since_ns))
    return made
