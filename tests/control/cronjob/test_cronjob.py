from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, Json, name_of, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.cronjob import CronJobController
from simcluster.control.garbagecollector import GarbageCollector
from simcluster.engine import MINUTE, SECOND, Simulation, format_rfc3339


def cron_job(**spec: Any) -> Json:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "work:1"}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tick", "namespace": "default"},
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": template}}, **spec},
    }


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.user.create("namespaces", "", {"metadata": {"name": "default"}})
        self.controller = CronJobController(self.sim, self.api)
        self.collector = GarbageCollector(self.sim, self.api)

    def start(self, **spec: Any) -> None:
        self.user.create("cronjobs.batch", "default", cron_job(**spec))
        self.sim.run_for(SECOND)

    def end(self, job: ApiObject, kind: str) -> None:
        """Report the Job as Complete or Failed."""
        now = format_rfc3339(self.sim.now)
        status: Json = {"startTime": job["metadata"]["creationTimestamp"], "uncountedTerminatedPods": {}}
        if kind == "Complete":
            status["completionTime"] = now
            status["succeeded"] = 1
        status["conditions"] = [{"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now}]
        self.user.update_status("jobs.batch", {**thaw(job), "status": status})
        self.sim.run_for(SECOND)

    @property
    def status(self) -> Json:
        return thaw(self.user.get("cronjobs.batch", "default", "tick")["status"])

    @property
    def jobs(self) -> list[ApiObject]:
        return self.api.store.objects("jobs.batch", "default")

    def events(self) -> list[tuple[str, str]]:
        return [(e["reason"], e["message"]) for e in self.api.store.objects("events", "default")]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_a_job_starts_at_its_minute_and_carries_it_in_its_name(cluster: Cluster) -> None:
    cluster.start()
    cluster.sim.run_for(5 * MINUTE - SECOND)
    assert cluster.jobs == []
    cluster.sim.run_for(SECOND)
    (job,) = cluster.jobs
    assert name_of(job) == "tick-29540705"
    stamp = "batch.kubernetes.io/cronjob-scheduled-timestamp"
    assert job["metadata"]["annotations"] == {stamp: "2026-03-02T09:05:00Z"}
    assert cluster.status["lastScheduleTime"] == "2026-03-02T09:05:00Z"
    assert [entry["name"] for entry in cluster.status["active"]] == ["tick-29540705"]
    assert cluster.events() == [("SuccessfulCreate", "Created job tick-29540705")]
    cluster.end(job, "Complete")
    assert cluster.events()[-1] == ("SawCompletedJob", "Saw completed job: tick-29540705, condition: Complete")
    assert "active" not in cluster.status
    assert cluster.status["lastSuccessfulTime"] > "2026-03-02T09:05:00Z"


@pytest.mark.parametrize(("policy", "count"), [("Allow", 2), ("Forbid", 1), ("Replace", 1)])
def test_concurrency(cluster: Cluster, policy: str, count: int) -> None:
    cluster.start(concurrencyPolicy=policy)
    cluster.sim.run_for(10 * MINUTE)
    assert len(cluster.jobs) == count
    reasons = [reason for reason, _ in cluster.events()]
    assert ("JobAlreadyActive" in reasons) == (policy == "Forbid")
    assert ("SuccessfulDelete" in reasons) == (policy == "Replace")
    if policy == "Forbid":
        cluster.end(cluster.jobs[0], "Complete")
        # The missed start is made up for as soon as the way is free.
        assert [name_of(job) for job in cluster.jobs] == ["tick-29540705", "tick-29540710"]


def test_only_so_many_ended_jobs_are_kept(cluster: Cluster) -> None:
    cluster.start(successfulJobsHistoryLimit=2, failedJobsHistoryLimit=0)
    for turn in range(4):
        cluster.sim.run_for(5 * MINUTE)
        cluster.end(cluster.jobs[-1], "Failed" if turn == 2 else "Complete")
    assert [name_of(job) for job in cluster.jobs] == ["tick-29540710", "tick-29540720"]


def test_a_suspended_cron_job_misses_its_times(cluster: Cluster) -> None:
    cluster.start(suspend=True, startingDeadlineSeconds=30)
    cluster.sim.run_for(12 * MINUTE)
    assert cluster.jobs == []
    cluster.user.patch("cronjobs.batch", "default", "tick", {"spec": {"suspend": False}})
    cluster.sim.run_for(SECOND)
    assert cluster.jobs == []
    cluster.sim.run_for(3 * MINUTE)
    assert [name_of(job) for job in cluster.jobs] == ["tick-29540715"]


def test_a_late_start_is_made_up_without_a_deadline(cluster: Cluster) -> None:
    cluster.start(suspend=True)
    cluster.sim.run_for(12 * MINUTE)
    cluster.user.patch("cronjobs.batch", "default", "tick", {"spec": {"suspend": False}})
    cluster.sim.run_for(SECOND)
    assert [name_of(job) for job in cluster.jobs] == ["tick-29540710"]


def test_too_many_missed_starts_are_reported(cluster: Cluster) -> None:
    cluster.start(schedule="* * * * *", suspend=True)
    cluster.sim.run_for(150 * MINUTE)
    cluster.user.patch("cronjobs.batch", "default", "tick", {"spec": {"suspend": False}})
    cluster.sim.run_for(SECOND)
    assert cluster.events()[0][0] == "TooManyMissedTimes"
    assert len(cluster.jobs) == 1


def test_an_unknown_time_zone_is_reported(cluster: Cluster) -> None:
    cluster.start(timeZone="Europe/Berlin")
    expected = 'invalid timeZone: "Europe/Berlin": unknown time zone Europe/Berlin'
    assert cluster.events() == [("UnknownTimeZone", expected)]


def test_a_deleted_cron_job_leaves_no_timer(cluster: Cluster) -> None:
    cluster.start(schedule="* * * * *")
    cluster.sim.run_for(MINUTE)
    cluster.user.delete("cronjobs.batch", "default", "tick", propagation="Background")
    cluster.sim.run_for(2 * MINUTE)
    assert cluster.jobs == []
    assert cluster.controller.queue._delayed == {}
