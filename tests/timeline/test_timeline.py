"""The timeline harness against a short recording of its own, and against that of a real cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcluster.testing.recordings import recordings
from simcluster.testing.timeline import Instant, Verdict, compare, instants_of, play, read_recording
from simcluster.testing.timeline.__main__ import main
from simcluster.testing.timeline.compare import compare_runs
from simcluster.testing.timeline.instants import speaks_newer
from simcluster.testing.timeline.roles import Roles
from simcluster.testing.timeline.stage import nodes_of
from simcluster.testing.timeline.ties import tied_pairs

OWN = Path(__file__).parent / "data" / "own"
OTHER = Path(__file__).parent / "data" / "other"
#: Share of the recorded instants that must lie inside; six runs know little of a distribution's ends.
FEW_SEEDS, FEW_FLOOR = 6, 0.90
MANY_SEEDS, MANY_FLOOR = 100, 0.97


def test_own_recording() -> None:
    report = compare(read_recording(OWN), 3)
    # What follows back-offs, leases and periodic checks is spread wider than three runs show.
    assert len(report.having(Verdict.INSIDE)) >= FEW_FLOOR * len(report.findings) > 50
    assert report.ties > 20
    assert report.disorders == ()


def test_a_wrong_instant_and_a_wrong_order_are_found() -> None:
    recording = read_recording(OWN)
    run = instants_of(recording.lines)
    late = next(instant for instant in run if instant.fact == "r0 waiting ContainerCreating")
    shifted = {**run, late: run[late] + 5}
    before_its_cause = {**run, Instant("pod", late.role, "bound", 1): run[late] + 4}
    report = compare_runs(run, [shifted] * 3)
    assert [finding.instant for finding in report.having(Verdict.OUTSIDE)] == [late]
    assert compare_runs(run, [before_its_cause] * 3).disorders != ()
    assert len(compare_runs(run, [{}]).having(Verdict.MISSING)) == len(run)


def test_instants_are_named_by_role() -> None:
    pod = {"w": "pod", "node": None, "phase": "Pending", "del_": False, "reason": None, "conds": {}, "cs": []}
    event = {
        "w": "event",
        "type": "ADDED",
        "obj": "Pod/web-5b6b9c6c44-ndvdh",
        "reason": "Pulled",
        "count": 3,
        "src": "kubelet",
    }
    lines = [
        {**pod, "t": 1.0, "type": "ADDED", "name": "web-5b6b9c6c44-ndvdh"},
        {**pod, "t": 2.0, "type": "MODIFIED", "name": "web-5b6b9c6c44-ndvdh", "node": "n"},
        {**event, "t": 3.0, "name": "e", "msg": "Successfully pulled image in 4s"},
        {**pod, "t": 4.0, "type": "DELETED", "name": "web-5b6b9c6c44-ndvdh", "node": "n"},
    ]
    assert instants_of(lines) == {
        Instant("pod", "web#1", "added", 1): 1.0,
        Instant("pod", "web#1", "Pending", 1): 1.0,
        Instant("pod", "web#1", "bound", 1): 2.0,
        Instant("event", "web#1", "Pulled Successfully pulled image", 3): 3.0,
        Instant("pod", "web#1", "deleted", 1): 4.0,
    }
    assert (Instant("pod", "web#1", "added", 1), Instant("pod", "web#1", "bound", 1)) in tied_pairs(instants_of(lines))


def test_same_seed_same_lines() -> None:
    recording = read_recording(OWN)
    assert play(recording, 4, until_ns=15 * 10**9) == play(recording, 4, until_ns=15 * 10**9)


def test_command_line() -> None:
    result = CliRunner().invoke(main, [str(OWN), "--seeds", "1", "--json"])
    report = json.loads(result.stdout)
    assert report["seeds"] == 1
    assert sum(report["totals"].values()) == len(report["findings"])


def test_a_folder_without_a_recording(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no recording"):
        read_recording(tmp_path)


@pytest.mark.parametrize(
    ("seeds", "floor"),
    [(FEW_SEEDS, FEW_FLOOR), pytest.param(MANY_SEEDS, MANY_FLOOR, marks=pytest.mark.slow(sample=0))],
    ids=["few", "whole"],
)
def test_real_cluster(seeds: int, floor: float) -> None:
    report = compare(read_recording(recordings() / "timeline"), seeds)
    outside = [str(finding.instant) for finding in report.findings if finding.verdict is not Verdict.INSIDE]
    assert 1 - len(outside) / len(report.findings) >= floor, outside
    assert [f"{effect} before {cause}" for cause, effect, count in report.disorders if count > seeds / 20] == []


def test_another_cluster_with_other_kinds_and_operations() -> None:
    recording = read_recording(OTHER)
    assert [spec.name for spec in nodes_of(recording)] == ["control-plane", "rack-a", "rack-b"]
    assert recording.namespaces == ("far",)
    report = compare(recording, 2)
    kinds = {finding.instant.watched for finding in report.findings}
    assert kinds >= {"pod", "event", "node", "sts", "ds", "job", "cronjob"}
    assert len(report.having(Verdict.INSIDE)) >= FEW_FLOOR * len(report.findings) > 100
    assert report.disorders == ()


def test_a_verb_that_nobody_knows() -> None:
    recording = replace(read_recording(OTHER), operations=((0, ("frobnicate", "web")),))
    with pytest.raises(ValueError, match="unknown operation: frobnicate web"):
        play(recording, 0, until_ns=10**9)


def test_newer_kubelets_say_it_otherwise() -> None:
    event = {"w": "event", "type": "ADDED", "name": "e", "obj": "Pod/a", "reason": "Created", "count": 1, "t": 1.0}
    newer = [{**event, "msg": "Container created"}]
    assert speaks_newer(newer)
    assert not speaks_newer([{**event, "msg": "Created container: c"}])
    assert instants_of(newer, newer=True) == instants_of([{**event, "msg": "Created container: c"}], newer=True)


@pytest.mark.parametrize(
    ("kind", "name", "role"),
    [
        ("Pod", "web-5b6b9c6c44-ndvdh", "web#1"),
        ("Pod", "log-shipper-ckh55", "log-shipper"),
        ("Pod", "tick-29540701-bnpz9", "tick#1"),
        ("Pod", "db-0", "db-0"),
        ("Pod", "toolbox", "toolbox"),
        ("ReplicaSet", "web-5b6b9c6c44", "web#1"),
        ("ReplicaSet", "plain", "plain"),
        ("Job", "tick-29540701", "tick#1"),
        ("Job", "once", "once"),
        ("PersistentVolume", "pvc-d21d9f06-1c53-4f2a-a6a5-6f6d1b1c9a10", "pvc-UID"),
    ],
)
def test_roles_are_read_from_names(kind: str, name: str, role: str) -> None:
    assert Roles().of(kind, name) == role
