"""`kubectl describe` of jobs and cron jobs."""

from __future__ import annotations

from typing import Any

from simcluster.api.objects import Json
from simcluster.api.selectors import format_selector
from simcluster.engine import format_age, parse_rfc3339
from simcluster.surface.kubectl.describe.containers import pod_template
from simcluster.surface.kubectl.describe.page import Page, controlled_by, events_of, rfc1123, truth


def job(page: Page, obj: Json) -> None:
    """A job and what became of its pods."""
    spec, status = obj["spec"], obj.get("status") or {}
    page.head(obj)
    if spec.get("selector") is not None:
        page.pair("Selector", format_selector(spec["selector"]))
    page.meta(obj)
    if controlled_by(obj):
        page.pair("Controlled By", controlled_by(obj))
    page.pair("Parallelism", _or_unset(spec.get("parallelism")))
    page.pair("Completions", _or_unset(spec.get("completions")))
    for title, key in (("Completion Mode", "completionMode"), ("Backoff Limit", "backoffLimit")):
        if spec.get(key) is not None:
            page.pair(title, spec[key])
        if key == "completionMode" and spec.get("suspend") is not None:
            page.pair("Suspend", truth(spec["suspend"]))
    if spec.get("ttlSecondsAfterFinished") is not None:
        page.pair("TTL Seconds After Finished", spec["ttlSecondsAfterFinished"])
    _times(page, status)
    if spec.get("activeDeadlineSeconds") is not None:
        page.pair("Active Deadline Seconds", f"{spec['activeDeadlineSeconds']}s")
    ready = f" ({status['ready']} Ready)" if status.get("ready") is not None else ""
    page.pair(
        "Pods Statuses",
        f"{status.get('active', 0)} Active{ready} / {status.get('succeeded', 0)} Succeeded / "
        f"{status.get('failed', 0)} Failed",
    )
    if spec.get("completionMode") == "Indexed":
        page.pair("Completed Indexes", status.get("completedIndexes") or "<none>")
    pod_template(page, spec["template"])
    page.events(events_of(page.invocation, obj))


def _times(page: Page, status: Json) -> None:
    started, completed = status.get("startTime"), status.get("completionTime")
    if started:
        page.pair("Start Time", rfc1123(started))
    if completed:
        page.pair("Completed At", rfc1123(completed))
    if started and completed:
        page.pair("Duration", format_age(parse_rfc3339(completed) - parse_rfc3339(started)))


def cron_job(page: Page, obj: Json) -> None:
    """A cron job, its schedule and its template."""
    spec, status = obj["spec"], obj.get("status") or {}
    page.head(obj)
    page.meta(obj)
    page.pair("Schedule", spec["schedule"])
    page.pair("Concurrency Policy", spec.get("concurrencyPolicy", ""))
    page.pair("Suspend", truth(spec["suspend"]).capitalize() if spec.get("suspend") is not None else "<unset>")
    page.pair("Successful Job History Limit", _or_unset(spec.get("successfulJobsHistoryLimit")))
    page.pair("Failed Job History Limit", _or_unset(spec.get("failedJobsHistoryLimit")))
    deadline = spec.get("startingDeadlineSeconds")
    page.pair("Starting Deadline Seconds", "<unset>" if deadline is None else f"{deadline}s")
    _job_template(page, spec["jobTemplate"].get("spec") or {})
    last = status.get("lastScheduleTime")
    page.pair("Last Schedule Time", rfc1123(last) if last else "<unset>")
    active = ", ".join(reference.get("name", "") for reference in status.get("active") or ())
    page.pair("Active Jobs", active or "<none>")
    page.events(events_of(page.invocation, obj))


def _job_template(page: Page, spec: Json) -> None:
    selector = spec.get("selector")
    page.pair("Selector", "<unset>" if selector is None else format_selector(selector))
    page.pair("Parallelism", _or_unset(spec.get("parallelism")))
    page.pair("Completions", _or_unset(spec.get("completions")))
    if spec.get("activeDeadlineSeconds") is not None:
        page.pair("Active Deadline Seconds", f"{spec['activeDeadlineSeconds']}s")
    pod_template(page, spec.get("template") or {})


def _or_unset(value: Any) -> Any:
    return "<unset>" if value is None else value
