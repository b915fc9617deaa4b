"""The cache plugin: answers that are given again until their time is over.

Source: the plugin's README of CoreDNS 1.11: `cache [TTL] [ZONES]`, `success CAPACITY [TTL]`,
`denial CAPACITY [TTL]`, `disable success|denial [ZONES]`; an answer lives as long as its own
time to live and the plugin's limit both allow. Left out: capacity, prefetching, serving stale.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.control.clusterdns.corefile import Directive
from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.names import NameAnswer
from simcluster.models.machine.network import Network

#: Limits without arguments: 3600 s for answers, 1800 s for denials; failures are kept for 5 s.
SUCCESS_S, DENIAL_S, FAILURE_S = 3600, 1800, 5


class AnswerCache:
    """The cache of one server process.

    Args:
        ask: answers a name without the cache. Those who keep connections are to look the
            name up again when an answer leaves the cache that is no longer right.
    """

    def __init__(self, network: Network, ask: Callable[[str], NameAnswer]) -> None:
        self.network = network
        self.ask = ask
        self.sim: Simulation | None = None  # set when the process starts
        self._kept: dict[str, tuple[int, NameAnswer]] = {}  # name -> end of its time, answer

    def find(self, name: str) -> NameAnswer | None:
        """What is kept of a name."""
        kept = self._kept.get(name)
        if kept is None or self.sim is None or self.sim.now >= kept[0]:
            return None
        return kept[1]

    def keep(self, directive: Directive, name: str, answer: NameAnswer, lifetime_s: int) -> None:
        """Keep an answer as long as the directive says."""
        if self.sim is None:
            return
        seconds = min(lifetime_s, _limit_s(directive, name, answer))
        if seconds <= 0:
            return
        end_ns = self.sim.now + seconds * SECOND
        self._kept[name] = (end_ns, answer)
        self.sim.at(end_ns, self._expire, name, end_ns)

    def counts(self) -> dict[str, int]:
        """How many answers and denials are kept."""
        kinds = [kind_of(answer) for _, answer in self._kept.values()]
        return {kind: kinds.count(kind) for kind in ("success", "denial")}

    def clear(self) -> None:
        """Forget everything (the configuration was read again)."""
        self._kept = {}

    def _expire(self, name: str, end_ns: int) -> None:
        kept = self._kept.get(name)
        if kept is not None and kept[0] == end_ns:
            del self._kept[name]
            if self.ask(name) != kept[1]:
                self.network.version += 1


def kind_of(answer: NameAnswer) -> str:
    """In which of its two caches an answer is kept."""
    return "success" if answer.code == "NOERROR" else "denial"


def _limit_s(directive: Directive, name: str, answer: NameAnswer) -> int:
    """Seconds that the plugin allows; 0 for not at all."""
    first, *zones = directive.arguments or ("",)
    cap = int(first) if first.isdigit() else None
    if first and cap is None:
        zones.insert(0, first)
    if zones and not any(_within(name, zone) for zone in zones):
        return 0
    kind = kind_of(answer)
    for words in directive.lines:
        if words[0] == "disable" and words[1:2] == (kind,) and any(_within(name, zone) for zone in words[2:] or (".",)):
            return 0
    if answer.code not in ("NOERROR", "NXDOMAIN"):
        return FAILURE_S
    given = directive.option(kind)
    if given is not None and len(given) > 1 and given[1].isdigit():
        return int(given[1])
    return cap if cap is not None else SUCCESS_S if kind == "success" else DENIAL_S


def _within(name: str, zone: str) -> bool:
    zone = zone.rstrip(".")
    return not zone or name == zone or name.endswith("." + zone)
