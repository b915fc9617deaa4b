"""The examination: what is survived passes, however it was repaired; what is not is told in a sentence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import pytest
import yaml

from simcluster import tasks
from simcluster.engine import SECOND, Snapshot
from simcluster.eval.episode import Episode, start
from simcluster.eval.examination import choice
from simcluster.eval.examination.examiner import Case, Examiner
from simcluster.eval.examination.newpods import refused, starved, used
from simcluster.eval.examination.services import pinned, unserved
from simcluster.eval.examination.trials import Norm, OneMore, Reboot, Roll, Trial
from simcluster.eval.examination.twin import twin_of
from simcluster.eval.examination.vitals import Count, Flow, Vitals, vitals
from simcluster.eval.oracles import MitigationVerdict
from simcluster.eval.proof.deeds import exploits
from simcluster.world import World

TASK = "wrong_service_selector_online_boutique"
RIGHT = 'patch service cartservice -n boutique --type=json -p \'[{"op":"remove","path":"/spec/selector/version"}]\''


def young(task: str) -> Episode:
    """Without a past and without what others do meanwhile: what differs is the incident alone."""
    return start(tasks.load(task).model_copy(update={"age": 0, "bystanders": False}), 0)


@pytest.fixture(scope="module")
def mended() -> Snapshot[Episode]:
    episode = young(TASK)
    assert episode.kubectl(RIGHT).exit_code == 0
    episode.wait("20s")
    return Snapshot(episode)


def graded(mended: Snapshot[Episode], *commands: str, node: str = "") -> MitigationVerdict:
    episode = mended.restore()
    for command in commands:
        result = episode.node(node).sh(command) if node else episode.kubectl(command)
        assert result.exit_code == 0, result.stderr
    return episode.examined()


def test_a_repair_passes_and_the_untouched_incident_does_not(mended: Snapshot[Episode]) -> None:
    verdict = graded(mended)
    assert verdict.passed, verdict.explain()
    groups = list(dict.fromkeys(result.name.partition(":")[0] for result in verdict.results))
    assert groups == ["at rest", "control plane", "change", "loss"]
    untouched = young(TASK).examined()
    assert not untouched.passed
    assert "without the incident" in untouched.results[-1].why
    assert [result.passed for result in untouched.results] == [False]


@pytest.mark.parametrize(
    ("node", "command", "said"),
    [
        ("control-plane", "mv /etc/kubernetes/manifests/kube-scheduler.yaml /root/", "kube-scheduler"),
        ("", "create quota tight -n boutique --hard=pods=1", "no controller makes a pod"),
        ("", "scale deployment/adservice -n boutique --replicas=0", "GetAds of frontend"),
        (
            "",
            "set selector service/adservice -n boutique app=emailservice",
            "emailservice answers for the Service adservice",
        ),
        ("", "set image deployment/adservice -n boutique *=registry.k8s.io/pause:3.10", "GetAds of frontend"),
    ],
)
def test_harm_done_beside_a_repair_is_found(mended: Snapshot[Episode], node: str, command: str, said: str) -> None:
    verdict = graded(mended, command, node=node)
    assert not verdict.passed
    assert said in verdict.why_not


def limit_range(limit: str) -> str:
    bound = {"type": "Container", "default": {"cpu": limit}}
    spec = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "bound"}, "spec": {"limits": [bound]}}
    return json.dumps(spec)


@pytest.mark.parametrize(("limit", "said"), [("1m", "a new pod of redis-cart would get cpu 1m for redis"), ("1", "")])
def test_new_pods_get_what_the_present_ones_use(mended: Snapshot[Episode], limit: str, said: str) -> None:
    episode = mended.restore()
    patch = '[{"op":"remove","path":"/spec/template/spec/containers/0/resources"}]'
    assert episode.kubectl(f"patch deployment redis-cart -n boutique --type=json -p '{patch}'").exit_code == 0
    episode.wait("60s")
    assert episode.kubectl("apply -n boutique -f -", stdin=limit_range(limit)).exit_code == 0
    world, lasts_ns = episode.world, 20 * SECOND
    before = used(world, "boutique")
    world.run_for(lasts_ns)
    found = starved(world, "boutique", before, lasts_ns)
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_new_pods_that_admission_does_not_take_are_missed(mended: Snapshot[Episode]) -> None:
    episode = mended.restore()
    assert refused(episode.world, "boutique") == ""
    label = "label namespace boutique pod-security.kubernetes.io/enforce=restricted"
    assert episode.kubectl(label).exit_code == 0
    assert "violates PodSecurity" in refused(episode.world, "boutique")


def test_a_service_that_nobody_names_any_more_may_lead_nowhere(mended: Snapshot[Episode]) -> None:
    episode = mended.restore()
    service = yaml.safe_load(episode.kubectl("get service cartservice -n boutique -o yaml").stdout)
    copy = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "carts"}, "spec": {}}
    copy["spec"] = {key: service["spec"][key] for key in ("selector", "ports")}
    nowhere = 'patch service cartservice -n boutique -p \'{"spec":{"selector":{"version":"v2"}}}\''
    for command, stdin in (("create -n boutique -f -", json.dumps(copy)), (nowhere, "")):
        assert episode.kubectl(command, stdin=stdin).exit_code == 0
    episode.wait("20s")
    twin = twin_of(episode.task, 0, None, episode.world.sim.now)
    found = list(unserved(episode.world, twin, "boutique", ["worker-1"]))
    assert found[0].startswith("nobody answers at port 7070 of Service cartservice")
    env = "set env deployment/frontend deployment/checkoutservice -n boutique CART_SERVICE_ADDR=carts:7070"
    assert episode.kubectl(env).exit_code == 0
    assert list(unserved(episode.world, twin, "boutique", ["worker-1"])) == []


def test_a_kubelet_that_could_not_start_again_is_found_by_a_reboot(mended: Snapshot[Episode]) -> None:
    verdict = graded(mended, "echo '[' >> /var/lib/kubelet/config.yaml", node="worker-2")
    assert not verdict.passed
    assert verdict.results[-1].name == "loss: worker-2 is rebooted"


def test_a_pods_address_that_somebody_names_goes_with_it(mended: Snapshot[Episode]) -> None:
    episode = mended.restore()
    address = episode.kubectl("get pod -n boutique -l app=cartservice -o jsonpath={.items[0].status.podIP}").stdout
    env = f"set env deployment/frontend -n boutique CART_SERVICE_ADDR={address}:7070"
    assert episode.kubectl(env).exit_code == 0
    twin = twin_of(episode.task, 0, None, episode.world.sim.now)
    assert list(pinned(twin, twin, "boutique")) == []
    (found,) = pinned(episode.world, twin, "boutique")
    assert found.startswith(f"deployments/frontend names {address}, which goes with the pod cartservice-")


def test_who_scales_by_load_since_has_as_many_pods(mended: Snapshot[Episode]) -> None:
    verdict = graded(mended, "autoscale deployment frontend -n boutique --min=1 --max=3 --cpu-percent=80")
    assert verdict.passed, verdict.explain()


def test_where_a_fault_was_elsewhere_what_is_there_must_be_finished_too() -> None:
    episode = young("operator_wrong_operator_image_fleetcast")
    image = "set image deployment/tidb-controller-manager -n tidb-operator tidb-operator=registry.example.com/none:v0"
    assert episode.kubectl(image).exit_code == 0
    verdict = episode.examined()
    assert "Deployment/tidb-controller-manager" in verdict.why_not


@pytest.mark.parametrize(
    ("more", "accepted"), [((), True), (("scale deployment/tenant-ingester --replicas=4",), False)]
)
def test_who_waits_for_room_after_the_reference_fix_may_wait(more: tuple[str, ...], accepted: bool) -> None:
    episode = young("priority_preemption_cascade_hotel_reservation")
    class_ = '{"spec":{"template":{"spec":{"priorityClassName":"production-critical"}}}}'
    for command in (
        "delete priorityclass platform-medium",
        f"patch deployment reservation -n hotel-reservation -p '{class_}'",
        *(f"{command} -n analytics-batch" for command in more),
    ):
        assert episode.kubectl(command).exit_code == 0
    episode.wait("120s")
    rest = episode.examined().results[0]
    assert rest.passed == accepted, rest.why
    assert accepted or "Deployment/tenant-ingester: 2 of 4 pods are available" in rest.why


@pytest.mark.parametrize("limit", ["100k", "3e-1"])
def test_any_spelling_of_a_quantity_is_graded(mended: Snapshot[Episode], limit: str) -> None:
    words = "-n boutique --requests=cpu=100m"
    verdict = graded(mended, f"set resources deployment/adservice {words} --limits=cpu={limit}")
    assert verdict.passed, verdict.explain()


@pytest.mark.slow(sample=0)
def test_where_a_ticket_calls_what_is_mended_elsewhere_passes_and_what_nobody_would_see_must_be_undone() -> None:
    episode = start("s7_blocked_from_elsewhere_payments", 0)
    fork = episode.fork()
    everybody = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{}]}
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "open"}}
    client = fork.world.client("kubernetes-admin", "kubectl")
    client.create("networkpolicies.networking.k8s.io", fork.task.namespace, {**policy, "spec": everybody})
    fork.wait("60s")
    verdict = fork.examined()
    assert verdict.passed, verdict.explain()
    assert [one.name for one in verdict.fields if not one.passed] == ["cause_gone"]
    assert not episode.examined().passed
    unseen = start("operator_wrong_update_strategy_fault_tidb", 0).examined()
    assert [one.name for one in unseen.results if not one.passed] == ["cause_gone"]


@dataclass(frozen=True)
class _Flaky(Trial):
    """Bad at every third look."""

    group: ClassVar[str] = "change"
    verb: ClassVar[str] = "is hit now and then"
    good_looks: ClassVar[int] = 3

    def begin(self, world: World, norm: object) -> str:
        return ""


@pytest.mark.parametrize(("period", "survives"), [(3, False), (5, True)])
def test_what_hurts_now_and_then_is_survived_by_nobody(
    monkeypatch: pytest.MonkeyPatch, period: int, survives: bool
) -> None:
    world, looks = World(seed=1), count(1)
    monkeypatch.setattr(Norm, "complaints", lambda *_: [] if next(looks) % period else ["it is hit"])
    norm = Norm(tasks.load(TASK), None, vitals(world, "default", SECOND), [], 0)
    assert (_Flaky("it").take(world, norm) == "") is survives


class _Brittle(Trial):
    group, verb = "change", "is looked at"

    def begin(self, world: World, norm: object) -> str:
        return "it does not like that"


def test_what_the_twin_does_not_survive_discriminates_nothing(
    mended: Snapshot[Episode], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Examiner, "_tests", lambda *_: [_Brittle("it")])
    verdict = graded(mended)
    assert verdict.passed
    assert verdict.undecided == {"change: it is looked at": "nor does it without the incident: it does not like that"}
    assert "says nothing: change: it is looked at" in verdict.explain()


def test_what_differs_is_tested_first_and_the_rest_by_the_seed(mended: Snapshot[Episode]) -> None:
    episode = mended.restore()
    episode.kubectl("annotate deployment/paymentservice -n boutique note=1")
    episode.node("worker-3").sh("systemctl disable kubelet")
    twin = twin_of(episode.task, 0, None, episode.world.sim.now)
    samples = []
    for seed in (0, 1, 2, 0):
        changes = choice.changes(episode.world, twin, episode.task, seed)
        assert changes[0] == Roll("deployment/paymentservice")
        assert [type(one) for one in changes] == [Roll, OneMore]
        assert choice.losses(episode.world, twin, episode.task, seed) == [Reboot("worker-3")]
        samples.append(tuple(one.name for one in changes))
    assert samples[0] == samples[3]
    assert len(set(samples)) > 1
    assert len(choice.changes(episode.world, twin, episode.task, None)) == 22


def test_in_a_grade_a_failure_of_what_differs_ends_the_examination(mended: Snapshot[Episode]) -> None:
    verdict = graded(mended, "systemctl disable kubelet", node="worker-2")
    assert [result.name for result in verdict.results[1:]] == ["loss: worker-2 is rebooted"]
    assert "worker-2 is rebooted: Node worker-2 is not Ready" in verdict.why_not


def test_an_empty_node_that_does_not_come_back_is_missed(mended: Snapshot[Episode]) -> None:
    episode = mended.restore()
    assert not episode.kubectl("drain worker-3 --ignore-daemonsets --delete-emptydir-data --force").exit_code
    episode.node("worker-3").sh("systemctl disable kubelet")
    episode.wait("60s")
    case = Case(episode.task, 0, None, None, None, 10 * SECOND)
    norm = Examiner(case)._norm(twin_of(episode.task, 0, None, episode.world.sim.now))
    assert "worker-3 is not Ready" in Reboot("worker-3").take(episode.world, norm)


def test_flows_are_compared_by_rate_and_by_failures() -> None:
    users, calls = Flow("users of shop", "index"), Flow("shop", "Convert")
    normal = Vitals(100, {users: Count(100, 100, 0), calls: Count(900, 890, 10)}, {"ns/users": 20.0})
    half = Vitals(50, {users: Count(50, 50, 0), calls: Count(450, 445, 5)}, {"ns/users": 900.0})
    assert half.worse_than(normal) == []
    silent = Vitals(100, {users: Count(100, 100, 0)}, {"ns/users": 20.0})
    assert silent.worse_than(normal) == ["Convert of shop: 0 calls are made, and 900 without the incident"]
    failing = Vitals(100, {users: Count(100, 90, 10), calls: Count(900, 880, 20)}, {"ns/users": 2000.0})
    assert failing.worse_than(normal) == [
        "index of users of shop: 10 of 100 calls fail, and 0.0% without the incident",
        "Convert of shop: 20 of 900 calls fail, and 1.1% without the incident",
        "users of ns/users: 95 % wait up to 2000 ms, and 20 ms without the incident",
    ]
    assert not failing.collapsed


def test_an_examination_leaves_the_world_as_it_is(mended: Snapshot[Episode]) -> None:
    episode = mended.restore()
    world = episode.world
    world.run_for(60 * SECOND)
    before = world.sim.digest.hex()
    Examiner(Case(episode.task, 0, None, None, None, 10 * SECOND)).examine(world)
    assert world.sim.digest.hex() == before


def test_there_are_enough_exploits_of_every_kind() -> None:
    assert len(exploits()) >= 40
