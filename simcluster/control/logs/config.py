"""`promtail.yaml`: where lines go, and of which pods, files and units they are taken.

Of a job: kubernetes_sd_configs, relabelling, a journal, files of the node (`static_configs`), and of its stages whether
lines are read as the runtime writes them (`cri`). Left out: syslog and other sources, all other stages, relabelling of
static targets, tenants, several clients.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

from simcluster.engine import MILLISECOND, MINUTE, SECOND, parse_duration
from simcluster.telemetry.metrics.config import ConfigError, Job, read_job
from simcluster.telemetry.metrics.relabel import Rule

#: Defaults of promtail's client: batchwait, batchsize, backoff_config, timeout.
BATCH_WAIT_NS, BATCH_BYTES, TIMEOUT_NS = SECOND, 1 << 20, 10 * SECOND
MIN_BACKOFF_NS, MAX_BACKOFF_NS, MAX_RETRIES = 500 * MILLISECOND, 5 * MINUTE, 10


class ClientConfig(NamedTuple):
    """One entry of `clients`."""

    url: str
    wait_ns: int = BATCH_WAIT_NS
    timeout_ns: int = TIMEOUT_NS
    min_backoff_ns: int = MIN_BACKOFF_NS
    max_backoff_ns: int = MAX_BACKOFF_NS
    retries: int = MAX_RETRIES
    labels: tuple[tuple[str, str], ...] = ()


class JournalConfig(NamedTuple):
    """`journal` of a job: labels of all its lines, and rules over `__journal_…` fields."""

    labels: tuple[tuple[str, str], ...]
    rules: tuple[Rule, ...]


class AgentConfig(NamedTuple):
    """A configuration file.

    Attributes:
        pods: jobs that discover pods; journals: those that read the journal.
        files: labels of static targets, `__path__` among them.
    """

    client: ClientConfig
    pods: tuple[Job, ...]
    journals: tuple[JournalConfig, ...]
    files: tuple[tuple[tuple[str, str], ...], ...] = ()


@functools.lru_cache(maxsize=32)
def read_agent_config(text: str) -> AgentConfig:
    """A configuration file. Raises ConfigError."""
    try:
        given = yaml.safe_load(text) or {}
        clients = given.get("clients") or ([given["client"]] if given.get("client") else [])
        if not clients:
            raise ConfigError("at least one client config must be provided")
        jobs = given.get("scrape_configs") or ()
        pods = tuple(read_job(job, {}) for job in jobs if job.get("kubernetes_sd_configs"))
        journals = tuple(_journal(job) for job in jobs if "journal" in job)
        return AgentConfig(_client(clients[0]), pods, journals, tuple(each for job in jobs for each in _files(job)))
    except ConfigError:
        raise
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(str(error)) from None


def _client(given: Mapping[str, Any]) -> ClientConfig:
    backoff = given.get("backoff_config") or {}
    return ClientConfig(
        str(given["url"]),
        _duration(given, "batchwait", BATCH_WAIT_NS),
        _duration(given, "timeout", TIMEOUT_NS),
        _duration(backoff, "min_period", MIN_BACKOFF_NS),
        _duration(backoff, "max_period", MAX_BACKOFF_NS),
        int(backoff.get("max_retries", MAX_RETRIES)),
        _labels(given.get("external_labels")),
    )


def _journal(job: Mapping[str, Any]) -> JournalConfig:
    labels = {"job": str(job["job_name"]), **((job["journal"] or {}).get("labels") or {})}
    return JournalConfig(_labels(labels), tuple(map(Rule.read, job.get("relabel_configs") or ())))


def _files(job: Mapping[str, Any]) -> list[tuple[tuple[str, str], ...]]:
    static = [each.get("labels") or {} for each in job.get("static_configs") or ()]
    return [_labels({"job": str(job["job_name"]), **labels}) for labels in static if labels.get("__path__")]


def _labels(given: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((str(name), str(value)) for name, value in (given or {}).items()))


def _duration(given: Mapping[str, Any], key: str, default: int) -> int:
    return parse_duration(str(given[key])) if given.get(key) else default
