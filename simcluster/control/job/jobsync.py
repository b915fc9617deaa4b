"""One sync of one Job: judge it, create or delete pods, count what has ended.

Source: kubernetes pkg/controller/job/job_controller.go (syncJob, manageJob,
trackJobStatusAndRemoveFinalizers).
"""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject, Json, is_pod_ready, is_terminating, name_of, namespace_of, thaw, uid_of
from simcluster.control.job import conditions as cond
from simcluster.control.job import perindex
from simcluster.control.job.backoff import BackoffRecord
from simcluster.control.job.counting import (
    FINALIZER,
    Tally,
    has_failed,
    has_finalizer,
    has_succeeded,
    replaces_only_failed,
    restarts,
    settle,
)
from simcluster.control.job.failurepolicy import counts, fail_message
from simcluster.control.job.indexes import (
    INDEX_FAILURES,
    index_of,
    is_indexed,
    is_valid,
    parse,
    pending,
    surplus,
    to_text,
    with_index,
)
from simcluster.control.jobstatus import COMPLETE, is_true
from simcluster.control.pods.creation import pod_from_template, pod_template, slow_start_batches
from simcluster.control.pods.ranking import pods_to_delete
from simcluster.engine import SECOND, format_rfc3339, parse_rfc3339

JOBS = "jobs.batch"
#: MaxPodCreateDeletePerSync.
MOST_PODS_PER_SYNC = 500
#: MaxUncountedPods: so many uids the status holds at most.
MOST_UNCOUNTED = 500


class JobSync:
    """The state of one sync.

    Attributes:
        again_ns: after how long the Job wants to be looked at again, None for not at all.
        record: the back-off record after this sync.
        failure: an error that brings the Job back soon, after its status was written.
    """

    def __init__(
        self, client: Client, recorder: EventRecorder, job: ApiObject, tally: Tally, record: BackoffRecord, now_ns: int
    ) -> None:
        self.client = client
        self.recorder = recorder
        self.job = job
        self.tally = tally
        self.now_ns = now_ns
        self.status: Json = thaw(job.get("status") or {})
        self.verdict: cond.Verdict | None = None
        self.active = len(tally.active)
        self.ready = tally.ready
        self.terminating = tally.terminating
        self.record = record.after(tally.new_succeeded, tally.new_failed, now_ns)
        self.again_ns: int | None = None
        self.failure: ApiError | None = None
        self.succeeded = tally.succeeded
        self.completed: dict[int, None] = {}
        self.lost: dict[int, None] = {}
        if is_indexed(job):
            self._count_indexes()

    @property
    def is_suspended(self) -> bool:
        """Whether `spec.suspend` is set."""
        return bool(self.job["spec"].get("suspend"))

    def run(self) -> None:
        """Do it. Raises ApiError if the status cannot be written or a pod not be released."""
        if not self.status.get("startTime") and not self.is_suspended:
            self.status["startTime"] = format_rfc3339(self.now_ns)
        self.status.setdefault("uncountedTerminatedPods", {})
        self.verdict = cond.standing_verdict(self.job) or self._judge()
        if self.verdict is not None:
            self._delete(self.tally.active)
        else:
            self._advance()
        self._track()

    # Judging.

    def _judge(self) -> cond.Verdict | None:
        spec = self.job["spec"]
        message = fail_message(self.job, self.tally.failed_pods())
        if message:
            return cond.Verdict(cond.FAILURE_TARGET, "PodFailurePolicy", message)
        limit = spec.get("backoffLimit", 6)
        if self.tally.failed > limit or self._restarted_too_often(limit):
            return cond.BACKOFF_LIMIT_EXCEEDED
        deadline = spec.get("activeDeadlineSeconds")
        if deadline is not None and not self.is_suspended:
            left_ns = parse_rfc3339(self.status["startTime"]) + deadline * SECOND - self.now_ns
            if left_ns <= 0:
                return cond.DEADLINE_EXCEEDED
            self._look_again(left_ns)
        return self._judge_indexes() if is_indexed(self.job) else None

    def _restarted_too_often(self, limit: int) -> bool:
        if pod_template(self.job)["spec"].get("restartPolicy") != "OnFailure":
            return False
        total = restarts(self.tally.pods)
        return total > 0 if limit == 0 else total >= limit

    def _judge_indexes(self) -> cond.Verdict | None:
        spec = self.job["spec"]
        if perindex.has_limit(self.job):
            most = spec.get("maxFailedIndexes")
            if most is not None and len(self.lost) > most:
                return cond.MAX_FAILED_INDEXES_EXCEEDED
            if self.lost and len(self.lost) + len(self.completed) >= spec["completions"]:
                return cond.FAILED_INDEXES
        for number, rule in enumerate((spec.get("successPolicy") or {}).get("rules") or ()):
            wanted = parse(rule["succeededIndexes"], spec["completions"]) if rule.get("succeededIndexes") else None
            done = [index for index in self.completed if wanted is None or index in wanted]
            need = rule.get("succeededCount")
            if len(done) >= (need if need is not None else len(wanted or {})):
                message = f"Matched rules at index {number}"
                return cond.Verdict(cond.SUCCESS_CRITERIA_MET, "SuccessPolicy", message)
        return None

    def _count_indexes(self) -> None:
        completions = int(self.job["spec"].get("completions") or 0)
        self.completed = parse(self.status.get("completedIndexes") or "", completions)
        for pod in self.tally.new_succeeded:
            self.completed[index_of(pod)] = None
        self.succeeded = len(self.completed)
        if perindex.has_limit(self.job):
            self.lost = parse(self.status.get("failedIndexes") or "", completions)
            latest = perindex.latest_failures(self.job, self.tally.pods)
            self.lost.update(dict.fromkeys(perindex.failed_indexes(self.job, latest)))

    # Creating and deleting pods.

    def _advance(self) -> None:
        managed = not is_terminating(self.job)
        if managed:
            self._manage()
        completions = self.job["spec"].get("completions")
        enough = self.succeeded > 0 if completions is None else self.succeeded >= completions
        if enough and self.active == 0:
            self.verdict = cond.COMPLETIONS_REACHED
        elif managed:
            self._note_suspension()

    def _note_suspension(self) -> None:
        if self.is_suspended:
            new = cond.new_condition(cond.SUSPENDED, "True", "JobSuspended", "Job suspended", self.now_ns)
        else:
            new = cond.new_condition(cond.SUSPENDED, "False", "JobResumed", "Job resumed", self.now_ns)
        before = self.status.get("conditions") or []
        after = cond.ensure(before, new)
        if after == before:
            return
        self.status["conditions"] = after
        reason = "Suspended" if self.is_suspended else "Resumed"
        self.recorder.event(self.job, "Normal", reason, new["message"])
        if not self.is_suspended:
            self.status["startTime"] = format_rfc3339(self.now_ns)

    def _manage(self) -> None:
        if self.is_suspended:
            self._delete(self.tally.active, counted=False)
            return
        wanted = self._wanted_active()
        doomed = self._to_remove(max(0, self.active - wanted))[:MOST_PODS_PER_SYNC]
        if doomed:
            self._delete(doomed, counted=False)
            return
        terminating = self.terminating if replaces_only_failed(self.job) else 0
        missing = min(wanted - terminating - self.active, MOST_PODS_PER_SYNC)
        if missing <= 0:
            return
        if not perindex.has_limit(self.job):
            wait_ns = self.record.remaining_ns(self.now_ns)
            if wait_ns > 0:
                self._look_again(wait_ns)
                self.active = 0
                return
        self._create(missing)

    def _wanted_active(self) -> int:
        spec = self.job["spec"]
        parallelism, completions = int(spec.get("parallelism", 1)), spec.get("completions")
        if completions is None:
            return self.active if self.succeeded > 0 else parallelism
        return max(0, min(int(completions) - self.succeeded - len(self.lost), parallelism))

    def _to_remove(self, at_least: int) -> list[ApiObject]:
        doomed: list[ApiObject] = surplus(self.tally.active, self.job) if is_indexed(self.job) else []
        if len(doomed) >= at_least:
            return doomed
        gone = dict.fromkeys(map(uid_of, doomed))
        rest = [pod for pod in self.tally.active if uid_of(pod) not in gone]
        return [*doomed, *pods_to_delete(rest, (), at_least - len(doomed), self.now_ns)]

    def _delete(self, pods: list[ApiObject], *, counted: bool = True) -> None:
        """Delete pods; those that are too many, or of a suspended Job, are not counted as failed (deleteJobPods)."""
        for pod in pods:
            try:
                if not counted and has_finalizer(pod):
                    release(self.client, pod)
                self.client.delete("pods", namespace_of(pod), name_of(pod), uid=uid_of(pod))
            except ApiError as error:
                if error.code != 404:
                    self.failure = self.failure or error
                    self.recorder.event(self.job, "Warning", "FailedDelete", f"Error deleting: {error.message}")
                    continue
            else:
                self.recorder.event(self.job, "Normal", "SuccessfulDelete", f"Deleted pod: {name_of(pod)}")
            self.active -= 1
            self.ready -= is_pod_ready(pod)
            self.terminating += 1

    def _create(self, count: int) -> None:
        pods = self._indexed_pods(count) if is_indexed(self.job) else [self._new_pod() for _ in range(count)]
        for size in slow_start_batches(len(pods)):
            batch, pods = pods[:size], pods[size:]
            for pod in batch:
                self._create_one(pod)
            if self.failure is not None:
                break

    def _create_one(self, pod: Json) -> None:
        try:
            created = self.client.create("pods", namespace_of(self.job), pod)
        except ApiError as error:
            causes = (error.details or {}).get("causes") or ()
            if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
                return
            self.failure = self.failure or error
            self.recorder.event(self.job, "Warning", "FailedCreate", f"Error creating: {error.message}")
        else:
            self.active += 1
            self.recorder.event(self.job, "Normal", "SuccessfulCreate", f"Created pod: {name_of(created)}")

    def _new_pod(self) -> Json:
        pod = pod_from_template(self.job)
        pod["metadata"]["finalizers"] = [*(pod["metadata"].get("finalizers") or ()), FINALIZER]
        return pod

    def _indexed_pods(self, count: int) -> list[Json]:
        taken = {**self.completed, **self.lost, **dict.fromkeys(map(index_of, self.tally.active))}
        if replaces_only_failed(self.job):
            taken.update(dict.fromkeys(index_of(pod) for pod in self.tally.pods if is_terminating(pod)))
        latest = perindex.latest_failures(self.job, self.tally.pods) if perindex.has_limit(self.job) else {}
        pods = []
        for index in pending(taken, int(self.job["spec"]["completions"]), int(self.job["spec"]["completions"])):
            before = latest.get(index)
            wait_ns = perindex.wait_ns(self.job, before, self.now_ns)
            if wait_ns > 0:
                self._look_again(wait_ns)
                continue
            pod = with_index(self._new_pod(), name_of(self.job), index)
            if perindex.has_limit(self.job):
                pod["metadata"]["annotations"][INDEX_FAILURES] = str(perindex.next_count(self.job, before))
            pods.append(pod)
            if len(pods) == count:
                break
        return pods

    def _look_again(self, delay_ns: int) -> None:
        self.again_ns = delay_ns if self.again_ns is None else min(self.again_ns, delay_ns)

    # Counting.

    def _track(self) -> None:
        self._set("active", self.active)
        self.status["ready"] = self.ready
        self.status["terminating"] = self.terminating
        waiting = {uid_of(pod): pod for pod in self.tally.pods if has_finalizer(pod)}
        settle(self.status, waiting, indexed=is_indexed(self.job))
        released, too_many = self._note_ended()
        if is_indexed(self.job):
            self._note_indexes()
        if self.verdict is not None and not is_true(self.job, self.verdict.kind):
            self._add_condition(self.verdict.kind)
        self._flush()
        for pod in released:
            self._release(pod)
            waiting.pop(uid_of(pod))
        settle(self.status, waiting, indexed=is_indexed(self.job))
        finished = not too_many and self._finish()
        self._flush()
        if finished:
            self._report_end()

    def _note_ended(self) -> tuple[list[ApiObject], bool]:
        """Put ended pods into the uncounted ones; the pods to release, and whether some are left."""
        uncounted = self.status["uncountedTerminatedPods"]
        succeeded, failed = list(uncounted.get("succeeded") or ()), list(uncounted.get("failed") or ())
        fails_all = self.verdict is not None and self.verdict.is_failure
        released = []
        for pod in self.tally.pods:
            if not has_finalizer(pod):
                continue
            bad = has_failed(pod, self.job)
            if not (bad or has_succeeded(pod) or self.verdict is not None or is_terminating(self.job)):
                continue
            released.append(pod)
            valid = not is_indexed(self.job) or is_valid(index_of(pod), self.job)
            if has_succeeded(pod) and uid_of(pod) not in failed:
                if not is_indexed(self.job) and uid_of(pod) not in succeeded:
                    succeeded.append(uid_of(pod))
            elif (bad or fails_all) and valid and uid_of(pod) not in failed and counts(self.job, pod):
                failed.append(uid_of(pod))
            if len(succeeded) + len(failed) >= MOST_UNCOUNTED:
                break
        lists = {"succeeded": succeeded, "failed": failed}
        self.status["uncountedTerminatedPods"] = {name: uids for name, uids in lists.items() if uids}
        return released, len(succeeded) + len(failed) >= MOST_UNCOUNTED

    def _note_indexes(self) -> None:
        self._set("succeeded", len(self.completed))
        self._set("completedIndexes", to_text(self.completed))
        if perindex.has_limit(self.job):
            self.status["failedIndexes"] = to_text(self.lost)

    def _set(self, field: str, value: int | str) -> None:
        if value:
            self.status[field] = value
        else:
            self.status.pop(field, None)

    def _add_condition(self, kind: str) -> None:
        assert self.verdict is not None
        new = cond.new_condition(kind, "True", self.verdict.reason, self.verdict.message, self.now_ns)
        self.status["conditions"] = cond.ensure(self.status.get("conditions") or [], new)

    def _finish(self) -> bool:
        """Add the final condition if no pod is left to end or to count."""
        if self.verdict is None or self.status["uncountedTerminatedPods"] or self.terminating > 0 or self.active > 0:
            return False
        self._add_condition(self.verdict.final_kind)
        if self.verdict.final_kind == COMPLETE:
            self.status["completionTime"] = format_rfc3339(self.now_ns)
        return True

    def _flush(self) -> None:
        if self.status != (self.job.get("status") or {}):
            self.job = self.client.update_status(JOBS, {**thaw(self.job), "status": thaw(self.status)})

    def _release(self, pod: ApiObject) -> None:
        release(self.client, pod)

    def _report_end(self) -> None:
        assert self.verdict is not None
        if self.verdict.is_failure:
            self.recorder.event(self.job, "Warning", self.verdict.reason, self.verdict.message)
            return
        completions = self.job["spec"].get("completions")
        if completions is not None and self.status.get("succeeded", 0) > completions:
            message = "Too many succeeded pods running after completion count reached"
            self.recorder.event(self.job, "Warning", "TooManySucceededPods", message)
        self.recorder.event(self.job, "Normal", "Completed", "Job completed")


def release(client: Client, pod: ApiObject) -> None:
    """Remove the tracking finalizer of a pod. Raises ApiError but for a pod that is gone."""
    patch = {"metadata": {"uid": uid_of(pod), "$deleteFromPrimitiveList/finalizers": [FINALIZER]}}
    try:
        client.patch("pods", namespace_of(pod), name_of(pod), patch)
    except ApiError as error:
        if error.code != 404:
            raise
