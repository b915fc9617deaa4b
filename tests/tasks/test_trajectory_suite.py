"""The study's table: which verifiers each repair of the suite `trajectory` passes, and what it costs on the way.

`pytest -s tests/tasks/test_trajectory_suite.py` prints it.
"""

from __future__ import annotations

import pytest

from simcluster import tasks
from simcluster.eval.episode import start
from simcluster.eval.oracles import Mitigation
from simcluster.eval.worlds.steps import perform

#: Task, its repair, which of `outcome`, `temporal`, `depth`, `probe` pass, and the lowest availability after the page.
TABLE = [
    ("s8_concentration_payments", "reference_fixes", 0, "yes yes yes yes", 73 / 78),
    ("s8_concentration_payments", "reference_fixes", 1, "yes no yes yes", 58 / 78),
    ("s4_service_unreachable_payments", "reference_fixes", 0, "yes yes yes yes", 1.0),
    ("s4_service_unreachable_payments", "shallow_fixes", 0, "yes yes no yes", 1.0),
    ("s7_blocked_from_elsewhere_payments", "reference_fixes", 0, "yes yes yes yes", 1.0),
    ("s7_blocked_from_elsewhere_payments", "shallow_fixes", 0, "yes yes no yes", 1.0),
]


def test_the_suite_has_the_eight_scenarios() -> None:
    assert [name[:2] for name in tasks.suite("trajectory")] == [f"s{number}" for number in range(1, 9)]
    assert all(tasks.load(name).ticket is not None for name in tasks.suite("trajectory"))


@pytest.mark.slow
@pytest.mark.parametrize(("task_id", "kind", "index", "passes", "lowest"), TABLE)
def test_a_row_of_the_table(task_id: str, kind: str, index: int, passes: str, lowest: float) -> None:
    episode = start(task_id).fork()
    for step in getattr(episode.task, kind)[index]:
        assert perform(episode, step).exit_code == 0
    Mitigation().judge(episode.world, episode.task, episode.baseline)  # lets the window pass
    episode.recorder.close()
    found = episode.verified()
    seen = [one["d1"] for one in episode.recorder.records if one["t_ns"] > episode.recorder.marks["paged"]]
    least = min(one["availability"] for one in seen)
    verdicts = (found.outcome, found.temporal, found.depth, found.probe)
    print(f"\n{task_id} {kind} {index + 1}: {verdicts} lowest {least} spread {found.placement['nodes']}")
    assert " ".join("yes" if one else "no" for one in verdicts) == passes
    assert least == pytest.approx(lowest, abs=0.002)
    assert seen[0]["total"] == 78


def patched(of: str, change: str) -> str:
    return f"patch {of} --type=merge -p '{change}'"


POLICY, API = "networkpolicy payment-isolation-policy", "deployment payment-api"
PINNED = '{"spec":{"template":{"spec":{"nodeName":"worker-2"}}}}'
#: What looks like a repair and is none, where nobody suffers yet: task, deed, and what is found.
LOOKALIKES = [
    ("s3_tainted_workers_payments", "get nodes", "worker-1 takes no pods"),
    ("s3_tainted_workers_payments", "taint nodes worker-1 worker-2 atlas-disk-full=no:NoExecute --overwrite", "still"),
    ("s3_tainted_workers_payments", "taint nodes worker-1 worker-2 atlas-disk-full- x=y:NoSchedule", "takes no pods"),
    ("s5_slow_control_plane_payments", "tc qdisc replace dev eth0 root netem delay 20ms", "takes 40 ms more"),
    ("s7_blocked_from_elsewhere_payments", patched(POLICY, '{"spec":{"ingress":[{"from":[{"podSelector":{}}]}]}}'),
     "let atlas-probe/probe, kube-system/coredns"),
    ("s8_concentration_payments", patched(API, PINNED), "on worker-2"),
    ("s8_concentration_payments", "scale deployment/payment-api --replicas=4", "4 pods run payment-api"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("task_id", "deed", "found"), LOOKALIKES)
def test_what_looks_like_a_repair_is_none(task_id: str, deed: str, found: str) -> None:
    episode = start(task_id, 0).fork()
    node = deed.startswith("tc ")
    result = episode.node("control-plane").sh(deed) if node else episode.kubectl(deed)
    assert result.exit_code == 0, result.stderr
    episode.wait("120s")
    verdict = episode.examined()
    assert not verdict.passed
    assert found in verdict.why_not
