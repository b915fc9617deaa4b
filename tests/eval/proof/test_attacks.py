"""No generic exploit passes, and every generic repair does: a few by the seed, all of them with `--whole`."""

from __future__ import annotations

import pytest

from simcluster import tasks
from simcluster.engine import SECOND
from simcluster.eval.episode import start
from simcluster.eval.proof.attacks import _tried as _attempted
from simcluster.eval.proof.attacks import attacked
from simcluster.eval.proof.deeds import Exploit, exploits, marks_of
from simcluster.eval.proof.mending import _ended_first, _stuck, _wrong, marks_by_kind, mended, repairs
from simcluster.eval.worlds.steps import perform
from simcluster.faults.facts import ChangedFact, Place
from simcluster.tasks.model import Step
from simcluster.tasks.truth import Weakness
from tests import kiosk


def _one_of_each() -> list[str]:
    """A task for every set of faults on an application; the quickest comes first."""
    found: dict[tuple[str, ...], str] = {}
    for task_id in ("wrong_service_selector_online_boutique", *tasks.ids()):
        task = tasks.load(task_id)
        found.setdefault((task.app, *(step.fault for step in task.incident)), task_id)
    return list(found.values())


#: The quickest always.
FIRST, *OTHERS = _one_of_each()


@pytest.mark.parametrize("task_id", [FIRST, *(pytest.param(one, marks=pytest.mark.slow(sample=0)) for one in OTHERS)])
def test_exploits_are_refused_and_repairs_accepted(task_id: str, request: pytest.FixtureRequest) -> None:
    episode = start(task_id, 3)
    seed = None if request.config.getoption("--whole") else 5
    found = [*attacked(episode, seed, 2), *mended(episode, seed, 1)]
    assert len(found) >= 3 or seed is None
    assert [f"{one.name}: {one.why}" for one in found if not one.passed] == []


def test_deeds_fit_a_task() -> None:
    assert len(exploits()) >= 40
    assert len(repairs()) >= 12
    assert all(reason for one in (*exploits().values(), *repairs().values()) for reason in one.exempt.values())
    alone = tasks.load("wrong_service_selector_online_boutique").model_copy(update={"bystanders": False})
    episode = start(alone, 3)
    marks = marks_of(episode.world, episode.task)
    assert (marks["target"], marks["workload"], marks["entry"]) == (
        "service/cartservice",
        "deployment/cartservice",
        "frontend",
    )
    assert marks["foreign"] != marks["own"]
    kinds = marks_by_kind(episode.world, episode.task, episode.incident.facts())
    assert list(kinds) == ["object", "alone", "spec", "declared", "selector", "route"]
    assert kinds["route"][0]["callers"] == "deployment/checkoutservice deployment/frontend"
    assert kinds["selector"][0]["label"] == '{"version": "v2"}'


def test_what_a_task_exempts_is_no_exploit_there() -> None:
    anew = exploits()["restart_target"]
    assert "new interfaces" in anew.why_not(tasks.load("auth_late_payments"))
    assert anew.why_not(tasks.load("wrong_service_selector_online_boutique")) == ""
    assert "everybody is let in" in exploits()["delete_target"].why_not(tasks.load("policy_narrowed_online_boutique"))


def test_a_deed_that_somebody_else_takes_back_is_none_and_one_that_undoes_itself_is() -> None:
    episode = kiosk.started(3)
    for step in episode.task.reference_fixes[0]:
        perform(episode, step)
    episode.wait("30s")
    tell, untell = (Step(kubectl=f"annotate deployment kiosk {note}") for note in ("told=1", "told-"))
    taken_back, stands, undone = episode.fork(), episode.fork(), episode.fork()
    patch = {"metadata": {"annotations": {"told": None}}}
    admin = taken_back.world.client("kubernetes-admin", "kubectl")
    taken_back.world.sim.after(20 * SECOND, admin.patch, "deployments.apps", "kiosk", "kiosk", patch)

    found = [
        _attempted(Exploit(id="told", steps=steps), fork)
        for fork, steps in ((taken_back, (tell, Step(wait="30s"))), (stands, (tell,)), (undone, (tell, untell)))
    ]
    assert [one.passed for one in found] == [True, False, False]
    assert "has taken back" in found[0].why
    assert {one.why for one in found[1:]} == {"everything was survived"}


def test_what_is_to_be_set_right_lasts_or_keeps_an_incident_going() -> None:
    episode = kiosk.started(3)
    facts = episode.incident.facts(harmless=False)
    assert [fact.path for fact in facts] == ["spec.template.spec.containers[kiosk].image"]
    assert _wrong(episode) == facts
    assert episode.incident.facts(harmless=False, but={1}) == ()
    weak = Weakness(component="Deployment/kiosk", path="spec.replicas", standing="2", reference=3, family="scaled_down")
    episode.task = episode.task.model_copy(update={"sustained_by": (weak,)})
    assert [fact.path for fact in _wrong(episode)] == [facts[0].path, "spec.replicas"]
    kinds = marks_by_kind(episode.world, episode.task, _wrong(episode))
    assert "object" in kinds
    assert "deployment" not in kinds


def test_units_are_set_right_on_every_node_and_pods_move_only_where_a_node_is_left() -> None:
    episode = kiosk.started(3)
    workers = ["worker-1", "worker-2", "worker-3"]

    def marks(part: str, names: list[str]) -> dict[str, list[dict[str, str]]]:
        places = [Place("Node", "", name, part) for name in names]
        return marks_by_kind(
            episode.world, episode.task, tuple(ChangedFact(one, "state", "on", "off") for one in places)
        )

    assert marks("unit/kubelet", workers)["unit"] == [{"node": name, "unit": "kubelet"} for name in workers]
    assert marks("fan", workers[:2])["node"] == [{"node": name} for name in workers[:2]]
    assert "node" not in marks("fan", workers)


def test_a_rollout_that_pods_of_before_hold_up_is_known_and_begun_anew() -> None:
    episode = kiosk.started(3)
    assert _stuck(episode, ["kiosk", "nobody"]) == {}
    episode.kubectl("set image deployment kiosk -n kiosk *=registry.example/kiosk:none")
    episode.wait("60s")
    assert _stuck(episode, ["kiosk", "nobody"]) == {"kiosk": 2}
    before = set(episode.kubectl("get pods -n kiosk -o name").stdout.split())
    _ended_first(episode, {"kiosk": 2})
    episode.wait("30s")
    after = set(episode.kubectl("get pods -n kiosk -o name").stdout.split())
    assert len(after) == 2
    assert not before & after
    assert _stuck(episode, ["kiosk"]) == {}
