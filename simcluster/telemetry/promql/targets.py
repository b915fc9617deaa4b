"""Targets as `/api/v1/targets` shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from simcluster.engine.clock import MILLISECOND, SECOND, format_rfc3339
from simcluster.telemetry.promql import text
from simcluster.telemetry.promql.storage import Labels


class Target(NamedTuple):
    """One target and its last scrape.

    Attributes:
        discovered: labels before relabelling; `labels` after it, as its samples have them.
        pool: the job of the configuration.
        error: why the last scrape failed, or empty; `health` is `up`, `down` or `unknown`.
        scraped_ns: when the last scrape began, -1 before the first; it took `took_ns`.
    """

    discovered: Labels
    labels: Labels
    pool: str
    url: str
    error: str
    health: str
    scraped_ns: int
    took_ns: int
    interval_ns: int
    timeout_ns: int


def described(found: Iterable[Target], state: str = "") -> dict[str, Any]:
    """`data` of the answer; `state` is `active`, `dropped` or empty for both."""
    active = [] if state == "dropped" else [_described(one) for one in found]
    return {"activeTargets": active, "droppedTargets": [], "droppedTargetCounts": {}}


def _described(one: Target) -> dict[str, Any]:
    never = one.scraped_ns < 0
    return {
        "discoveredLabels": dict(one.discovered),
        "labels": dict(one.labels),
        "scrapePool": one.pool,
        "scrapeUrl": one.url,
        "globalUrl": one.url,
        "lastError": one.error,
        "lastScrape": "0001-01-01T00:00:00Z" if never else format_rfc3339(one.scraped_ns, digits=9),
        "lastScrapeDuration": one.took_ns / SECOND,
        "health": one.health,
        "scrapeInterval": text.duration(one.interval_ns // MILLISECOND),
        "scrapeTimeout": text.duration(one.timeout_ns // MILLISECOND),
    }
