from __future__ import annotations

import itertools
import pickle
from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, Json, is_terminating, name_of, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.garbagecollector import GarbageCollector
from simcluster.control.job import JobController
from simcluster.control.ttlafterfinished import TtlAfterFinishedController
from simcluster.engine import SECOND, Simulation, format_rfc3339, parse_rfc3339
from tests.clusters.controlplane import FakeKubelets, FakeScheduler

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"


def job(**spec: Any) -> Json:
    container = {"name": "c", "image": "work:1"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work", "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}, **spec},
    }


class Cluster:
    def __init__(self, seed: int = 0) -> None:
        self.sim = Simulation(seed)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.user.create("namespaces", "", {"metadata": {"name": "default"}})
        self.user.create("serviceaccounts", "default", {"metadata": {"name": "default", "namespace": "default"}})
        self.controller = JobController(self.sim, self.api)
        self.ttl = TtlAfterFinishedController(self.sim, self.api)
        self.collector = GarbageCollector(self.sim, self.api)
        self.scheduler = FakeScheduler(self.sim, self.api, ["n1"])
        self.kubelets = FakeKubelets(self.sim, self.api)

    def start(self, **spec: Any) -> None:
        self.user.create("jobs.batch", "default", job(**spec))
        self.sim.run_for(2 * SECOND)

    def end(self, pod: ApiObject, code: int) -> None:
        """Report that the pod's container has exited."""
        changed = thaw(pod)
        terminated = {"exitCode": code, "finishedAt": format_rfc3339(self.sim.now)}
        changed["status"]["phase"] = "Failed" if code else "Succeeded"
        changed["status"]["containerStatuses"] = [
            {"name": "c", "state": {"terminated": terminated}, "restartCount": 0, "image": "work:1", "imageID": ""}
        ]
        self.user.update_status("pods", changed)

    def end_all(self, code: int) -> None:
        for pod in self.running:
            self.end(pod, code)
        self.sim.run_for(3 * SECOND)

    @property
    def job(self) -> ApiObject:
        found = self.api.store.get("jobs.batch", "default", "work")
        assert found is not None
        return found

    @property
    def pods(self) -> list[ApiObject]:
        return self.api.store.objects("pods", "default")

    @property
    def running(self) -> list[ApiObject]:
        return [p for p in self.pods if p["status"].get("phase") == "Running" and not is_terminating(p)]

    @property
    def conditions(self) -> list[tuple[str, str]]:
        return [(c["type"], c["reason"]) for c in self.job["status"].get("conditions") or []]

    def reasons(self) -> list[str]:
        return [e["reason"] for e in self.api.store.objects("events", "default")]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_a_job_gets_its_selector_and_its_pods_a_finalizer(cluster: Cluster) -> None:
    cluster.start()
    uid = cluster.job["metadata"]["uid"]
    assert cluster.job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    (pod,) = cluster.pods
    assert pod["metadata"]["finalizers"] == [FINALIZER]
    assert pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "work"
    assert cluster.job["status"]["active"] == 1


def test_completions_are_counted_one_by_one(cluster: Cluster) -> None:
    cluster.start(completions=3, parallelism=2)
    assert len(cluster.running) == 2
    cluster.end_all(0)
    assert cluster.job["status"]["succeeded"] == 2
    assert len(cluster.running) == 1
    cluster.end_all(0)
    status = dict(cluster.job["status"])
    ended = status["completionTime"]
    assert cluster.conditions == [
        ("SuccessCriteriaMet", "CompletionsReached"),
        ("Complete", "CompletionsReached"),
    ]
    del status["conditions"], status["startTime"], status["completionTime"]
    assert status == {"succeeded": 3, "terminating": 0, "uncountedTerminatedPods": {}, "ready": 0}
    assert parse_rfc3339(ended) <= cluster.sim.now
    assert all("finalizers" not in pod["metadata"] for pod in cluster.pods)
    assert cluster.reasons().count("Completed") == 1


def test_failed_pods_are_replaced_after_10_and_20_seconds(cluster: Cluster) -> None:
    cluster.start(backoffLimit=2)
    starts = []
    for _ in range(3):
        (pod,) = cluster.running
        starts.append(parse_rfc3339(pod["metadata"]["creationTimestamp"]))
        cluster.end(pod, 3)
        cluster.sim.run_for(25 * SECOND)
    gaps = [(later - earlier) // SECOND for earlier, later in itertools.pairwise(starts)]
    assert 10 <= gaps[0] <= 14
    assert 25 <= gaps[1] <= 37
    assert cluster.conditions == [
        ("FailureTarget", "BackoffLimitExceeded"),
        ("Failed", "BackoffLimitExceeded"),
    ]
    assert cluster.job["status"]["failed"] == 3
    events = [e for e in cluster.api.store.objects("events") if e["reason"] == "BackoffLimitExceeded"]
    assert [e["message"] for e in events] == ["Job has reached the specified backoff limit"]


def test_the_deadline_ends_running_pods_before_the_job_is_failed(cluster: Cluster) -> None:
    cluster.kubelets.stop_ns = 4 * SECOND
    cluster.start(activeDeadlineSeconds=5, parallelism=2, completions=2)
    cluster.sim.run_for(4 * SECOND)
    assert cluster.conditions == [("FailureTarget", "DeadlineExceeded")]
    assert cluster.job["status"]["terminating"] == 2
    cluster.sim.run_for(8 * SECOND)
    assert cluster.conditions[-1] == ("Failed", "DeadlineExceeded")
    assert cluster.job["status"]["failed"] == 2
    assert cluster.pods == []


def test_a_suspended_job_has_no_pods_and_starts_anew(cluster: Cluster) -> None:
    cluster.start(suspend=True)
    assert cluster.pods == []
    assert cluster.conditions == [("Suspended", "JobSuspended")]
    cluster.user.patch("jobs.batch", "default", "work", {"spec": {"suspend": False}})
    cluster.sim.run_for(2 * SECOND)
    assert len(cluster.running) == 1
    assert cluster.conditions == [("Suspended", "JobResumed")]
    cluster.user.patch("jobs.batch", "default", "work", {"spec": {"suspend": True}})
    cluster.sim.run_for(5 * SECOND)
    assert cluster.pods == []
    assert [r for r in cluster.reasons() if r in ("Suspended", "Resumed")] == ["Suspended", "Resumed"]
    job = cluster.api.store.get("jobs.batch", "default", "work")
    assert job is not None
    assert "failed" not in job["status"]


def test_indexed_pods_know_their_index(cluster: Cluster) -> None:
    cluster.start(completionMode="Indexed", completions=4, parallelism=4)
    pods = {pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]: pod for pod in cluster.pods}
    assert sorted(pods) == ["0", "1", "2", "3"]
    pod = pods["2"]
    assert name_of(pod).startswith("work-2-")
    assert pod["spec"]["hostname"] == "work-2"
    (variable,) = pod["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    for index in ("0", "1", "3"):
        cluster.end(pods[index], 0)
    cluster.sim.run_for(3 * SECOND)
    assert cluster.job["status"]["completedIndexes"] == "0,1,3"
    cluster.end(pods["2"], 1)
    cluster.sim.run_for(15 * SECOND)
    assert [p["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for p in cluster.running] == ["2"]
    cluster.end_all(0)
    assert cluster.job["status"]["completedIndexes"] == "0-3"
    assert cluster.conditions[-1][0] == "Complete"


def test_each_index_can_have_its_own_limit(cluster: Cluster) -> None:
    cluster.start(completionMode="Indexed", completions=2, parallelism=2, backoffLimitPerIndex=1)
    bad, good = sorted(cluster.running, key=name_of)
    cluster.end(good, 0)
    cluster.end(bad, 1)
    cluster.sim.run_for(15 * SECOND)
    (second,) = cluster.running
    assert second["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"
    cluster.end_all(1)
    assert cluster.conditions[-1] == ("Failed", "FailedIndexes")
    assert (cluster.job["status"]["failedIndexes"], cluster.job["status"]["completedIndexes"]) == ("0", "1")


def test_the_failure_policy_can_fail_the_job_or_forgive_a_pod(cluster: Cluster) -> None:
    rules = [
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [5]}},
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
    ]
    cluster.start(backoffLimit=0, podFailurePolicy={"rules": rules})
    cluster.end_all(5)
    cluster.sim.run_for(15 * SECOND)
    assert cluster.conditions == []
    (pod,) = cluster.running
    cluster.end_all(42)
    assert cluster.conditions[-1] == ("Failed", "PodFailurePolicy")
    message = cluster.job["status"]["conditions"][-1]["message"]
    where = f"Container c for pod default/{name_of(pod)} failed with exit code 42"
    assert message == f"{where} matching FailJob rule at index 1"


def test_a_finished_job_vanishes_after_its_time(cluster: Cluster) -> None:
    cluster.start(ttlSecondsAfterFinished=30)
    cluster.end_all(0)
    cluster.sim.run_for(20 * SECOND)
    assert cluster.conditions[-1][0] == "Complete"
    cluster.sim.run_for(15 * SECOND)
    assert cluster.api.store.get("jobs.batch", "default", "work") is None
    assert cluster.pods == []


def test_deleting_a_job_frees_its_pods(cluster: Cluster) -> None:
    cluster.start(parallelism=2, completions=2)
    cluster.user.delete("jobs.batch", "default", "work", propagation="Background")
    cluster.sim.run_for(5 * SECOND)
    assert cluster.pods == []


def test_a_deleted_pod_counts_as_failed_and_is_replaced(cluster: Cluster) -> None:
    cluster.start()
    (pod,) = cluster.pods
    cluster.user.delete("pods", "default", name_of(pod))
    cluster.sim.run_for(15 * SECOND)
    (other,) = cluster.pods
    assert name_of(other) != name_of(pod)
    assert cluster.job["status"]["failed"] == 1


def test_equal_seeds_give_equal_runs_and_forks_go_on_alike() -> None:
    one, two = Cluster(3), Cluster(3)
    for cluster in (one, two):
        cluster.start(completions=4, parallelism=2)
        cluster.end_all(1)
    twin: Cluster = pickle.loads(pickle.dumps(one))
    for cluster in (one, two, twin):
        cluster.sim.run_for(12 * SECOND)
        cluster.end_all(0)
    assert one.sim.digest.hex() == two.sim.digest.hex() == twin.sim.digest.hex()


def test_a_success_policy_ends_a_job_before_all_indexes_are_done(cluster: Cluster) -> None:
    rules = [{"succeededIndexes": "0-1", "succeededCount": 1}]
    cluster.start(completions=4, parallelism=4, completionMode="Indexed", successPolicy={"rules": rules})
    first = next(pod for pod in cluster.running if pod["metadata"]["labels"][INDEX] == "1")
    cluster.end(first, 0)
    cluster.sim.run_for(40 * SECOND)
    assert cluster.conditions == [("SuccessCriteriaMet", "SuccessPolicy"), ("Complete", "SuccessPolicy")]
    assert cluster.job["status"]["conditions"][0]["message"] == "Matched rules at index 0"
    assert cluster.running == []


def test_a_replacement_may_have_to_wait_until_its_predecessor_is_gone(cluster: Cluster) -> None:
    cluster.kubelets.stop_ns = 20 * SECOND
    cluster.start(podReplacementPolicy="Failed")
    (pod,) = cluster.running
    cluster.user.delete("pods", "default", name_of(pod))
    cluster.sim.run_for(15 * SECOND)
    assert cluster.running == []
    assert cluster.job["status"]["terminating"] == 1
    (left,) = cluster.pods
    cluster.end(left, 143)  # its kubelet's last report
    cluster.sim.run_for(40 * SECOND)
    assert len(cluster.running) == 1


def test_a_job_of_another_manager_is_left_alone(cluster: Cluster) -> None:
    cluster.start(managedBy="example.com/queue")
    cluster.sim.run_for(60 * SECOND)
    assert cluster.pods == []
    assert "startTime" not in (cluster.job.get("status") or {})


def test_the_failure_policy_can_give_up_an_index_at_once(cluster: Cluster) -> None:
    rule = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [42]}}
    cluster.start(
        completions=2,
        parallelism=2,
        completionMode="Indexed",
        backoffLimitPerIndex=3,
        podFailurePolicy={"rules": [rule]},
    )
    lost = next(pod for pod in cluster.running if pod["metadata"]["labels"][INDEX] == "0")
    cluster.end(lost, 42)
    cluster.sim.run_for(5 * SECOND)
    cluster.end_all(0)
    cluster.sim.run_for(10 * SECOND)
    assert (cluster.job["status"]["failedIndexes"], cluster.job["status"]["completedIndexes"]) == ("0", "1")
    assert cluster.conditions[-1] == ("Failed", "FailedIndexes")
