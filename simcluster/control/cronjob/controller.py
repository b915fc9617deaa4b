"""The CronJob controller.

Sleeps until the next time due (plus 100 ms), creates the Job of that time unless policy
forbids it, and keeps only so many finished Jobs. Time zones with rules are not known.
Source: kubernetes pkg/controller/cronjob/cronjob_controllerv2.go.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.objects import (
    ApiObject,
    Json,
    controller_of,
    is_terminating,
    name_of,
    namespace_of,
    owner_reference,
    thaw,
    uid_of,
)
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.cronjob.due import MANY_MISSED, job_name, most_recent, wait_ns
from simcluster.control.cronjob.schedule import Schedule, ScheduleError, parse, zone_offset_ns
from simcluster.control.jobstatus import COMPLETE, FAILED, finished_kind
from simcluster.engine import SECOND, Simulation, format_rfc3339
from simcluster.engine.clock import format_rfc1123

CRON_JOBS = "cronjobs.batch"
JOBS = "jobs.batch"
SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class CronJobController(Controller):
    """Reconciles CronJobs."""

    name = "cronjob-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.watch(CRON_JOBS, self.enqueue_object)
        self.watch(JOBS, self._on_job)

    def _on_job(self, change: Change) -> None:
        reference = controller_of(change.object)
        if reference is not None and reference["kind"] == "CronJob":
            self.enqueue(namespace_of(change.object), reference["name"])

    def sync(self, namespace: str, name: str) -> None:
        """Look at one CronJob: its Jobs, the time, and when to look again."""
        cron_job = self.client.cache.get(CRON_JOBS, namespace, name)
        if cron_job is None:
            return
        look = Look(self, cron_job)
        wait = look.run()
        if wait is not None:
            self.queue.add_after(f"{namespace}/{name}", wait)
        if look.failure is not None:
            raise look.failure


class Look:
    """One look at one CronJob.

    Attributes:
        failure: an error that brings it back soon.
    """

    def __init__(self, controller: CronJobController, cron_job: ApiObject) -> None:
        self.client = controller.client
        self.recorder: EventRecorder = controller.recorder
        self.cron_job = cron_job
        self.now_ns = controller.sim.now
        self.status: Json = thaw(cron_job.get("status") or {})
        self.active: list[Json] = list(self.status.get("active") or ())
        self.jobs = self._jobs()
        self.failure: ApiError | None = None

    def _jobs(self) -> list[ApiObject]:
        found = []
        for resource, namespace, name in self.client.cache.owned_by(uid_of(self.cron_job)):
            job = self.client.cache.get(JOBS, namespace, name) if resource == JOBS else None
            if job is not None and (controller_of(job) or {}).get("uid") == uid_of(self.cron_job):
                found.append(job)
        return found

    def run(self) -> int | None:
        """Do what is due; after how long to look again, None for not before a change."""
        self._review_jobs()
        wait = None
        if not is_terminating(self.cron_job) and not self.cron_job["spec"].get("suspend"):
            wait = self._start_due()
        self._clean_up()
        self._write()
        return wait

    def _event(self, kind: str, reason: str, message: str) -> None:
        self.recorder.event(self.cron_job, kind, reason, message)

    # The Jobs there are.

    def _review_jobs(self) -> None:
        for job in self.jobs:
            kind = finished_kind(job)
            known = any(entry.get("uid") == uid_of(job) for entry in self.active)
            if not known and not kind:
                message = f"Saw a job that the controller did not create or forgot: {name_of(job)}"
                self._event("Warning", "UnexpectedJob", message)
            elif known and kind:
                self._forget(uid_of(job))
                message = f"Saw completed job: {name_of(job)}, condition: {kind}"
                self._event("Normal", "SawCompletedJob", message)
            if kind == COMPLETE:
                self._note_success(job)
        existing = dict.fromkeys(map(uid_of, self.jobs))
        for entry in list(self.active):
            if entry.get("uid") not in existing:
                self._event("Normal", "MissingJob", f"Active job went missing: {entry.get('name', '')}")
                self._forget(entry.get("uid"))

    def _note_success(self, job: ApiObject) -> None:
        ended = (job.get("status") or {}).get("completionTime")
        if ended and ended > self.status.get("lastSuccessfulTime", ""):
            self.status["lastSuccessfulTime"] = ended

    def _forget(self, uid: str | None) -> None:
        self.active = [entry for entry in self.active if entry.get("uid") != uid]

    # The time.

    def _start_due(self) -> int | None:
        schedule = self._schedule()
        if schedule is None:
            return None
        try:
            due = most_recent(self.cron_job, schedule, self.now_ns, within_deadline=True)
        except ScheduleError as error:
            self._event(
                "Warning", "InvalidSchedule", f"invalid schedule: {self.cron_job['spec']['schedule']} : {error}"
            )
            return None
        if due.missed > MANY_MISSED:
            message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            self._event("Warning", "TooManyMissedTimes", message)
        if due.at_ns is not None and not self._is_too_late(due.at_ns) and self._may_start(due.at_ns):
            self._start(due.at_ns)
            if self.failure is not None:
                return None
        current = ApiObject({**self.cron_job, "status": self.status})
        return wait_ns(current, schedule, self.now_ns)

    def _schedule(self) -> Schedule | None:
        spec = self.cron_job["spec"]
        zone = spec.get("timeZone") or ""
        try:
            zone_offset_ns(zone)
        except ScheduleError as error:
            self._event("Warning", "UnknownTimeZone", f'invalid timeZone: "{zone}": {error}')
            return None
        try:
            return parse(spec["schedule"], zone)
        except ScheduleError as error:
            text = f"TZ={zone} {spec['schedule']}" if zone else spec["schedule"]
            self._event("Warning", "UnparseableSchedule", f'unparseable schedule: "{text}" : {error}')
            return None

    def _is_too_late(self, at_ns: int) -> bool:
        deadline = self.cron_job["spec"].get("startingDeadlineSeconds")
        if deadline is None or at_ns + int(deadline) * SECOND >= self.now_ns:
            return False
        self._event("Warning", "MissSchedule", f"Missed scheduled time to start a job: {format_rfc1123(at_ns)}")
        return True

    def _may_start(self, at_ns: int) -> bool:
        name = job_name(name_of(self.cron_job), at_ns)
        if any(entry.get("name") == name for entry in self.active):
            return False
        if self.status.get("lastScheduleTime") == format_rfc3339(at_ns):
            return False
        policy = self.cron_job["spec"].get("concurrencyPolicy", "Allow")
        if policy == "Forbid" and self.active:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._event("Normal", "JobAlreadyActive", message)
            return False
        if policy == "Replace":
            for entry in list(self.active):
                job = self.client.cache.get(JOBS, namespace_of(self.cron_job), entry["name"])
                if job is not None and not self._delete(job):
                    return False
        return True

    def _start(self, at_ns: int) -> None:
        namespace = namespace_of(self.cron_job)
        try:
            job = self.client.create(JOBS, namespace, self._new_job(at_ns))
        except ApiError as error:
            causes = (error.details or {}).get("causes") or ()
            if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
                return
            if error.reason != "AlreadyExists":
                self._event("Warning", "FailedCreate", f"Error creating job: {error.message}")
                self.failure = error
                return
            existing = self.client.cache.get(JOBS, namespace, job_name(name_of(self.cron_job), at_ns))
            if existing is None or (controller_of(existing) or {}).get("uid") != uid_of(self.cron_job):
                return
            job = existing
        else:
            self._event("Normal", "SuccessfulCreate", f"Created job {name_of(job)}")
        self.active.append(
            {
                "kind": "Job",
                "namespace": namespace,
                "name": name_of(job),
                "uid": uid_of(job),
                "apiVersion": "batch/v1",
                "resourceVersion": job["metadata"]["resourceVersion"],
            }
        )
        self.jobs = [*self.jobs, job]
        self.status["lastScheduleTime"] = format_rfc3339(at_ns)

    def _new_job(self, at_ns: int) -> Json:
        template = thaw(self.cron_job["spec"].get("jobTemplate") or {})
        metadata: Json = {
            "name": job_name(name_of(self.cron_job), at_ns),
            "namespace": namespace_of(self.cron_job),
            "annotations": {
                **((template.get("metadata") or {}).get("annotations") or {}),
                SCHEDULED_AT: format_rfc3339(at_ns),
            },
            "ownerReferences": [owner_reference(self.cron_job)],
        }
        labels = (template.get("metadata") or {}).get("labels")
        if labels:
            metadata["labels"] = labels
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template.get("spec") or {}}

    # Ended Jobs.

    def _clean_up(self) -> None:
        """Delete ended Jobs beyond the history limits, oldest first."""
        spec = self.cron_job["spec"]
        limits = {COMPLETE: spec.get("successfulJobsHistoryLimit"), FAILED: spec.get("failedJobsHistoryLimit")}
        for kind, limit in limits.items():
            if limit is None:
                continue
            ended = [job for job in self.jobs if finished_kind(job) == kind and not is_terminating(job)]
            ended.sort(key=lambda job: ((job.get("status") or {}).get("startTime", ""), name_of(job)))
            for job in ended[: max(0, len(ended) - int(limit))]:
                self._delete(job)

    def _delete(self, job: ApiObject) -> bool:
        try:
            self.client.delete(JOBS, namespace_of(job), name_of(job), uid=uid_of(job), propagation="Background")
        except ApiError as error:
            if error.code != 404:
                self._event("Warning", "FailedDelete", f"Deleted job: {error.message}")
                self.failure = error
                return False
        self._forget(uid_of(job))
        self._event("Normal", "SuccessfulDelete", f"Deleted job {name_of(job)}")
        return True

    def _write(self) -> None:
        self.status.pop("active", None)
        status: Json = {"active": self.active, **self.status} if self.active else self.status
        if status != (self.cron_job.get("status") or {}):
            self.client.update_status(CRON_JOBS, {**thaw(self.cron_job), "status": status})
