"""`prometheus.yml`: what is scraped, how often, and under which labels.

Of a job: kubernetes_sd_configs (role, namespaces), static_configs, relabelling of targets and of metrics, scheme,
path, parameters, intervals and honor_labels; besides rule files, and where Alertmanagers are. Left out: other
discoveries, authorisation (a pod's own token is used), TLS.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

from simcluster.engine import MILLISECOND, MINUTE, SECOND, parse_duration
from simcluster.telemetry.metrics.relabel import Rule

#: Defaults of Prometheus: global.scrape_interval, global.scrape_timeout, global.evaluation_interval.
INTERVAL_NS, TIMEOUT_NS = MINUTE, 10 * SECOND
ROLES = ("node", "service", "pod", "endpoints")


class Discovery(NamedTuple):
    """One entry of `kubernetes_sd_configs`; no namespaces: all."""

    role: str
    namespaces: tuple[str, ...] = ()


class Job(NamedTuple):
    """One entry of `scrape_configs`."""

    name: str
    interval_ns: int
    timeout_ns: int
    path: str
    scheme: str
    honor_labels: bool
    discoveries: tuple[Discovery, ...]
    static: tuple[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], ...]
    rules: tuple[Rule, ...]
    metric_rules: tuple[Rule, ...]
    params: tuple[tuple[str, str], ...] = ()


class Config(NamedTuple):
    """A configuration file.

    Attributes:
        evaluation_ns: `global.evaluation_interval`; rule_files: patterns of paths.
        external_labels: of `global`.
        alertmanagers: of `alerting`: each is discovered as a job's targets are; its path is where alerts are posted.
        alert_rules: `alert_relabel_configs`.
        offset_ms: `rule_query_offset`.
    """

    jobs: tuple[Job, ...]
    evaluation_ns: int = MINUTE
    rule_files: tuple[str, ...] = ()
    external_labels: tuple[tuple[str, str], ...] = ()
    alertmanagers: tuple[Job, ...] = ()
    alert_rules: tuple[Rule, ...] = ()
    offset_ms: int = 0


class ConfigError(ValueError):
    """A file that Prometheus refuses; the message is what it says."""


@functools.lru_cache(maxsize=32)
def read_config(text: str) -> Config:
    """A configuration file. Raises ConfigError."""
    try:
        given = yaml.safe_load(text) or {}
        if not isinstance(given, dict):
            raise ConfigError("yaml: unmarshal errors: cannot unmarshal into config.plain")
        whole = given.get("global") or {}
        jobs = tuple(read_job(job, whole) for job in given.get("scrape_configs") or ())
        names = [job.name for job in jobs]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f'found multiple scrape configs with job name "{name}"')
        external = tuple(sorted((str(k), str(v)) for k, v in (whole.get("external_labels") or {}).items()))
        evaluation = _duration(whole, "evaluation_interval", MINUTE)
        alerting = given.get("alerting") or {}
        managers = tuple(map(_alertmanager, enumerate(alerting.get("alertmanagers") or ())))
        offset_ms = _duration(whole, "rule_query_offset", 0) // MILLISECOND
        files = tuple(map(str, given.get("rule_files") or ()))
        changed = tuple(map(Rule.read, alerting.get("alert_relabel_configs") or ()))
        return Config(jobs, evaluation, files, external, managers, changed, offset_ms)
    except ConfigError:
        raise
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(str(error)) from None


def read_job(given: Mapping[str, Any], whole: Mapping[str, Any]) -> Job:
    """One entry of `scrape_configs`; `whole`: the `global` part. Raises ConfigError, and others for other shapes."""
    if not given.get("job_name"):
        raise ConfigError("job_name is empty")
    interval = _duration(given, "scrape_interval", _duration(whole, "scrape_interval", INTERVAL_NS))
    timeout = _duration(given, "scrape_timeout", min(interval, _duration(whole, "scrape_timeout", TIMEOUT_NS)))
    if timeout > interval:
        raise ConfigError(
            f'scrape timeout greater than scrape interval for scrape config with job name "{given["job_name"]}"'
        )
    discoveries = []
    for found in given.get("kubernetes_sd_configs") or ():
        role = str(found["role"])
        if role not in ROLES:
            raise ConfigError(f'unknown Kubernetes SD role "{role}"')
        discoveries.append(Discovery(role, tuple((found.get("namespaces") or {}).get("names") or ())))
    static = tuple(
        (tuple(map(str, one["targets"])), tuple(sorted((one.get("labels") or {}).items())))
        for one in given.get("static_configs") or ()
    )
    return Job(
        str(given["job_name"]), interval, timeout, str(given.get("metrics_path") or "/metrics"),
        str(given.get("scheme") or "http"), bool(given.get("honor_labels")), tuple(discoveries), static,
        tuple(map(Rule.read, given.get("relabel_configs") or ())),
        tuple(map(Rule.read, given.get("metric_relabel_configs") or ())),
        tuple((str(key), str(values[0])) for key, values in (given.get("params") or {}).items() if values),
    )  # fmt: skip


def _alertmanager(numbered: tuple[int, Mapping[str, Any]]) -> Job:
    """One entry of `alertmanagers`; its time-out is 10 s (DefaultAlertmanagerConfig)."""
    number, given = numbered
    path = str(given.get("path_prefix") or "").rstrip("/") + "/api/v2/alerts"
    return read_job({**given, "job_name": f"config-{number}", "metrics_path": path, "scrape_timeout": "10s"}, {})


def _duration(given: Mapping[str, Any], key: str, default: int) -> int:
    """Prometheus's durations are Go's, with days and weeks (which intervals do not have)."""
    return parse_duration(str(given[key])) if given.get(key) else default
