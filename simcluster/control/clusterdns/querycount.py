"""What the plugins `prometheus`, `cache` and `forward` count of questions.

A look-up of the models asks for both kinds of address, so every question counts twice. Names, labels and buckets:
README of CoreDNS 1.11's plugins `metrics`, `cache` and `forward`, `plugin.TimeBuckets` and `plugin/metrics/vars`.
Left out: look-ups for connections that programs open again and again (the models ask when routes change and programs
start), views, other transports than UDP.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate

from simcluster.models.machine.names import NameAnswer
from simcluster.telemetry.metrics.columns import Columns, Group, Labels, Samples, counter, gauge, histogram, labels

_TIMES = tuple(0.00025 * 2**n for n in range(16))
_SIZES = (
    0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16e3, 32e3, 48e3, 64e3,
)  # fmt: skip
_REQUESTS = Columns(
    (counter("coredns_dns_requests_total", "Counter of DNS requests made per zone, protocol and family."),)
)
_RESPONSES = Columns((counter("coredns_dns_responses_total", "Counter of response status codes."),))
_MISSES = Columns((counter("coredns_cache_misses_total", "The count of cache misses. Deprecated, derive misses from"
                           " cache hits/requests counters."),))  # fmt: skip
_ASKED = Columns((counter("coredns_cache_requests_total", "The count of cache requests."),))
_HITS = Columns((counter("coredns_cache_hits_total", "The count of cache hits."),))
_ENTRIES = Columns((gauge("coredns_cache_entries", "The number of elements in the cache."),))


def _bounded(name: str, text: str, bounds: tuple[float, ...]) -> Columns:
    return Columns((histogram(name, text, tuple(f"{bound:g}" for bound in bounds)),))


_DURATION = _bounded(
    "coredns_dns_request_duration_seconds", "Histogram of the time (in seconds) each request took per zone.", _TIMES
)
_REQUEST_SIZE = _bounded(
    "coredns_dns_request_size_bytes", "Size of the EDNS0 UDP buffer in bytes (64K for TCP) per zone and protocol.",
    _SIZES,
)  # fmt: skip
_RESPONSE_SIZE = _bounded("coredns_dns_response_size_bytes", "Size of the returned response in bytes.", _SIZES)
_FORWARDED = _bounded("coredns_proxy_request_duration_seconds", "Histogram of the time each request took.", _TIMES)


@lru_cache(maxsize=256)
def _of_answer(where: Labels, kind: str, plugin: str, code: str) -> tuple[Group, Group, Group, Group, Group]:
    """What an answer counts in: two counters, and histograms of its duration and of both sizes."""
    by_udp = tuple(sorted((*where, ("proto", "udp"))))
    return (
        Group(_REQUESTS, tuple(sorted((*by_udp, ("family", "1"), ("type", kind))))),
        Group(_RESPONSES, tuple(sorted((*where, *labels(plugin=plugin, rcode=code))))),
        Group(_DURATION, where),
        Group(_REQUEST_SIZE, by_udp),
        Group(_RESPONSE_SIZE, by_udp),
    )


@lru_cache(maxsize=64)
def _of_cache(server: str, zone: str, hit: str) -> tuple[Group, Group]:
    where = labels(server=server, zones=zone)
    found = Group(_HITS, tuple(sorted((*where, ("type", hit))))) if hit else Group(_MISSES, where)
    return Group(_ASKED, where), found


@lru_cache(maxsize=64)
def _of_forward(upstream: str, code: str) -> Group:
    return Group(_FORWARDED, labels(proxy_name="forward", rcode=code, to=upstream))


class QueryCount:
    """Counts of one process."""

    def __init__(self) -> None:
        self._counts: dict[Group, list[float]] = {}  # each a number
        #: Of each bucket by itself, then the sum.
        self._histograms: dict[Group, list[float]] = {}
        #: Numbers of those that count an answer, or a look into the cache, by what it is.
        self._ways: dict[tuple[object, ...], tuple[list[float], ...]] = {}

    def note(self, where: Labels, kind: str, answer: NameAnswer, plugin: str, figures: tuple[float, int, int]) -> None:
        """A question was answered.

        Args:
            where: labels of server and zone; kind: `A` or `AAAA`; plugin: who wrote the answer.
            figures: seconds, bytes of the question and of the answer.
        """
        took_s, asked, answered = figures
        key = (where, kind, plugin, answer.code)
        known = self._ways.get(key)
        if known is None:
            requests, responses, *sizes = _of_answer(*key)
            counters = (self._number(requests), self._number(responses))
            known = self._ways[key] = (*counters, *(self._histogram(group) for group in sizes))
        requests_now, responses_now, duration, question, response = known
        requests_now[0] += 1.0
        responses_now[0] += 1.0
        _observe(duration, _TIMES, took_s)
        _observe(question, _SIZES, asked)
        _observe(response, _SIZES, answered)

    def note_cache(self, server: str, zone: str, hit: str) -> None:
        """A question came to the cache; `hit` is `success`, `denial` or empty."""
        key = (server, zone, hit)
        known = self._ways.get(key)
        if known is None:
            known = self._ways[key] = tuple([self._number(group) for group in _of_cache(*key)])
        for number in known:
            number[0] += 1.0

    def note_forward(self, upstream: str, code: str, took_s: float) -> None:
        """An upstream answered."""
        _observe(self._histogram(_of_forward(upstream, code)), _TIMES, took_s)

    def samples(self, cached: dict[tuple[str, str, str], int]) -> Samples:
        """All of it, with what the cache holds by server, zone and type."""
        found = {group: group.columns.row(value) for group, value in self._counts.items()}
        for (server, zone, kind), count in cached.items():
            found[Group(_ENTRIES, labels(server=server, type=kind, zones=zone))] = _ENTRIES.row((count,))
        found.update({group: group.columns.row(_summed(values)) for group, values in self._histograms.items()})
        return found

    def _number(self, group: Group) -> list[float]:
        return self._counts.setdefault(group, [0.0])

    def _histogram(self, group: Group) -> list[float]:
        known = self._histograms.get(group)
        if known is None:
            known = self._histograms[group] = [0.0] * (len(group.columns) - 1)  # buckets, +Inf, the sum
        return known


def _observe(kept: list[float], bounds: tuple[float, ...], value: float) -> None:
    kept[bisect_left(bounds, value)] += 1.0
    kept[-1] += value


def _summed(kept: list[float]) -> list[float]:
    """A histogram's row: how many were below each bound, the sum, and how many there were."""
    below = list(accumulate(kept[:-1]))
    return [*below, kept[-1], below[-1]]
