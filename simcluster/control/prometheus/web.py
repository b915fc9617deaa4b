"""What Prometheus answers over HTTP: its API over its own database, and its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simcluster.control.prometheus.discovery import Target
from simcluster.control.webclient import slowed
from simcluster.engine import SECOND, format_rfc3339
from simcluster.models.machine.process import Answer, Call
from simcluster.telemetry import exposition
from simcluster.telemetry.promql.context import Spent
from simcluster.telemetry.promql.http import Status, handle

if TYPE_CHECKING:
    from simcluster.control.prometheus.program import Health, PrometheusProgram

#: CPU time of a request, of a sample that a query reads and of a byte that is answered: magnitudes of a small server.
REQUEST_NS, READ_NS, WRITE_NS = 500_000, 100, 20
#: What a target that was never scraped shows as its last scrape: Go's zero time.
_NEVER = "0001-01-01T00:00:00Z"


def status_of(program: PrometheusProgram) -> Status:
    """What the server knows besides samples."""
    families = program.store.families()
    return Status(
        targets=program.targets_shown,
        metadata={name: [{"type": kind, "help": text, "unit": ""}] for name, (kind, text) in families.items()},
        rules=program.rules.shown,
        alerts=program.rules.alerts,
        alertmanagers=[target.url for target in program.notifier.managers],
        config=program.text,
        runtime=_runtime(program),
        ready=program.config is not None,
    )


def _runtime(program: PrometheusProgram) -> dict[str, Any]:
    """`/api/v1/status/runtimeinfo`; how many goroutines there are is a magnitude of what they do."""
    container, cores = program.container, program.container.machine.cpu_cores
    return {
        "startTime": format_rfc3339(program.began_ns),
        "CWD": "/prometheus",
        "hostname": container.spec.pod_name,
        "serverTime": format_rfc3339(container.sim.now, digits=9),
        "reloadConfigSuccess": program.reloaded,
        "lastConfigTime": format_rfc3339(program.loaded_ns),
        "corruptionCount": 0,
        "goroutineCount": 40 + 2 * len(program.loops),
        "GOMAXPROCS": cores,
        "GOMEMLIMIT": 9223372036854775807,
        "GOGC": "75",
        "GODEBUG": "",
        "storageRetention": "15d",
    }


def healthy(call: Call, found: Answer) -> Answer:
    """The answer to a health check, in Prometheus's words if it is a good one."""
    word = {"/-/healthy": "Healthy", "/-/ready": "Ready"}.get(call.path.partition("?")[0])
    if word is None or found.outcome != "ok" or found.status != 200:
        return found
    return found._replace(body="" if call.method == "HEAD" else f"Prometheus Server is {word}.\n")


def answered(program: PrometheusProgram, call: Call, now_ms: int) -> Answer:
    """The answer to one request."""
    if call.path == "/metrics":
        samples = program.exposition(call)
        return Answer("ok", 200, exposition.text(exposition.families_of(samples if isinstance(samples, dict) else {})))
    path, _, query = call.path.partition("?")
    spent, container = Spent(), program.container
    asked = (call.method, path, query, call.body.encode())
    found = handle(asked, program.store, now_ms, status_of(program), spent=spent)
    work_ns = REQUEST_NS + READ_NS * (spent.selected + spent.samples) + WRITE_NS * len(found.body)
    container.use_cpu(work_ns)
    return Answer("ok", found.status, found.body.decode(), slowed(container, work_ns))


def targets_shown(
    targets: Mapping[Target, Health], discovered: Mapping[Target, Any], intervals: Mapping[str, tuple[int, int]]
) -> dict[str, Any]:
    """`/api/v1/targets`: what is scraped, sorted by job."""
    active = []
    for target, health in sorted(targets.items(), key=_by_job):
        interval_ns, timeout_ns = intervals[target.job]
        active.append(
            {
                "discoveredLabels": dict(discovered.get(target, ())),
                "labels": dict(target.labels),
                "scrapePool": target.job,
                "scrapeUrl": target.url,
                "globalUrl": target.url,
                "lastError": health.error,
                "lastScrape": format_rfc3339(health.at_ns, digits=9) if health.at_ns >= 0 else _NEVER,
                "lastScrapeDuration": health.duration_ns / SECOND,
                "health": "unknown" if health.up is None else "up" if health.up else "down",
                "scrapeInterval": f"{interval_ns // SECOND}s",
                "scrapeTimeout": f"{timeout_ns // SECOND}s",
            }
        )
    return {"activeTargets": active, "droppedTargets": [], "droppedTargetCounts": {}}


def _by_job(item: tuple[Target, Health]) -> tuple[str, str]:
    return item[0].job, item[0].url
