from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from simcluster import tasks
from simcluster.engine.content import ContentError, UnknownName
from simcluster.eval.oracles.registry import WrongCheck, checks, checks_of
from simcluster.faults import registry
from simcluster.tasks.loader import CATALOG
from simcluster.tasks.model import FORBIDDEN, TARGET, resolve
from tests.clusters.shop import ShopWorld


def source(task_id: str) -> str:
    return tasks.path_of(task_id).read_text()


def broken(folder: Path, old: str, new: str, task_id: str = "wrong_service_selector_online_boutique") -> ContentError:
    text = source(task_id)
    assert old in text
    path = folder / f"{task_id}.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ContentError) as caught:
        tasks.load(str(path))
    return caught.value


@pytest.mark.parametrize("task_id", tasks.ids())
def test_every_task_loads_with_checks_that_exist(task_id: str) -> None:
    task = tasks.load(task_id)
    assert task.id == task_id
    names = [check.name for check in checks_of(task)]
    assert {"cause_gone", "nothing_worse_than_before", "users_succeed"} <= set(names)
    assert len(task.reference_fixes) >= 2
    assert sorted({*task.must_not_pass, *(one.attempt for one in task.exempt)}) == sorted(FORBIDDEN)
    assert task.app.replace("-", "_") in task_id


#: Mechanisms without a task of their own: they are proved by their cases and by pairs.
PROVED_BY_PAIRS = {"clock_cap", "drive_outage", "link_state", "memory_errors"}


def test_there_is_a_task_for_every_mechanism_and_for_every_check() -> None:
    loaded = [tasks.load(task_id) for task_id in tasks.ids()]
    faults = {step.fault for task in loaded for step in task.incident if step.fault}
    used = {registry.load(fault).mechanism for fault in faults}
    assert set(registry.mechanisms()) - used == PROVED_BY_PAIRS
    asked = {spec.check for task in loaded for spec in task.accepted_when}
    assert set(checks()) - asked <= {"deployment_available", "service_reachable"}  # for other tasks to come


def test_suites() -> None:
    assert tasks.suite("all") == tasks.ids()
    assert set(tasks.suite("lite")) < set(tasks.ids())
    with pytest.raises(UnknownName, match="did you mean lite"):
        tasks.suite("lita")


def test_problems_of_others_run_by_the_names_they_have_there() -> None:
    page = (Path(__file__).parents[2] / "docs" / "SREGYM.md").read_text()
    called = [(tasks.load(task_id).known_as["sregym"], task_id) for task_id in tasks.suite("sregym")]
    assert len({name for name, _ in called}) == len(called) > 40
    for name, task_id in called:
        assert f"| {name} | {task_id} |" in page
        assert tasks.path_of(name) == tasks.path_of(task_id)
    assert tasks.load("pvc_claim_mismatch").id == "pvc_claim_mismatch_hotel_reservation"
    assert set(tasks.suite("sregym-lite")) < set(tasks.suite("sregym"))


def test_an_unknown_task_lists_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean kubelet_stopped_online_boutique"):
        tasks.load("kubelet_stoped_online_boutique")


def test_mistakes_name_file_line_and_the_right_word(tmp_path: Path) -> None:
    error = broken(tmp_path, "protects:", "protect:")
    assert "unknown key 'protect'; did you mean 'protects'?" in str(error)
    assert error.line == 1 + source("wrong_service_selector_online_boutique").split("protects:")[0].count("\n")
    error = broken(tmp_path, "service_selector_mismatch", "service_selector_mismatc")
    assert "did you mean service_selector_mismatch" in error.problem
    error = broken(tmp_path, "params: {label: version", "params: {lable: version")
    assert "unknown key 'lable'; did you mean 'label'?" in error.problem
    error = broken(tmp_path, "target: {kind: Service,", "target: {kind: Deployment,")
    assert error.problem == "fault service_selector_mismatch takes a Service, not a Deployment"
    stated = "truth: {component: Servce/cartservice, family: service_selector, scope: [cartservice]}\naccepted_when:"
    error = broken(tmp_path, "accepted_when:", stated)
    assert "unknown kind 'Servce'; did you mean Service" in error.problem
    error = broken(tmp_path, "family: retry_storm", "family: retry_storms", "metastable_load_spike_storefront")
    assert "unknown family 'retry_storms'; known: " in error.problem
    error = broken(tmp_path, "at: 60s", "at: -60s")
    assert error.problem == "incident.0.at: Input should be greater than or equal to 0"
    error = broken(tmp_path, "id: wrong", "id: other")
    assert error.problem.startswith("id must be the file's name")


def test_the_truth_derives_from_the_incident() -> None:
    found = {task_id: tasks.load(task_id).truth for task_id in tasks.ids()}
    selector = found["wrong_service_selector_online_boutique"]
    assert (selector.component, selector.family) == ("Service/cartservice", "service_selector")
    assert (selector.details, selector.scope) == ({"version": "v2"}, ("cartservice",))
    assert selector.mechanism == "a Service selects labels that no pod carries"
    assert found["metastable_load_spike_storefront"].details == {"INVENTORY_ATTEMPTS": "4"}
    assert found["retry_storm_storefront"].component == "Deployment/catalog"  # the neighbour is over by itself
    assert found["thermal_throttling_online_boutique"].family == "overheating"  # what runs there hurts nobody
    task = tasks.load("metastable_load_spike_storefront").model_copy(update={"stated": None, "sustained_by": ()})
    with pytest.raises(ValueError, match="say what it is sustained_by"):
        _ = task.truth


def test_an_exemption_needs_a_reason(tmp_path: Path) -> None:
    document = yaml.safe_load(source("kubelet_stopped_online_boutique"))
    document["must_not_pass"] = ["noop"]
    path = tmp_path / "kubelet_stopped_online_boutique.yaml"
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(ContentError, match="must_not_pass lacks restart_all"):
        tasks.load(str(path))
    document["exempt"] = [{"attempt": name, "reason": "because"} for name in FORBIDDEN[1:]]
    path.write_text(yaml.safe_dump(document))
    assert tasks.load(str(path)).must_not_pass == ("noop",)


def test_wrong_checks_say_which() -> None:
    task = tasks.load("kubelet_stopped_online_boutique")
    wrong = task.accepted_when[0].model_copy(update={"check": "unit_activ"})
    with pytest.raises(WrongCheck, match="did you mean unit_active"):
        checks_of(task.model_copy(update={"accepted_when": (wrong,)}))
    wrong = task.accepted_when[0].model_copy(update={"args": {"node": "x", "unti": "y"}})
    with pytest.raises(WrongCheck, match="did you mean 'unit'"):
        checks_of(task.model_copy(update={"accepted_when": (wrong,)}))


def test_a_rule_is_resolved_everywhere() -> None:
    world = ShopWorld()
    task = tasks.load("kubelet_stopped_online_boutique").model_copy(update={"namespace": "shop"})
    assert not task.resolved
    found = resolve(task, world)
    assert found.resolved
    assert found.truth.component == "Node/worker-2"
    assert found.reference_fixes[0][0].node == "worker-2"
    assert TARGET not in str(found.model_dump())
    assert resolve(found, world) is found


def test_the_catalogue_holds_tasks_only() -> None:
    assert sorted(path.stem for path in CATALOG.rglob("*.*")) == tasks.ids()
