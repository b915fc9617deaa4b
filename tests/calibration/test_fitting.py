"""Known figures and laws are found again; what cannot be known is said; drift is noticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from simcluster.calibration.laws import fit_law
from simcluster.calibration.record.layout import Header
from simcluster.calibration.record.segments import StreamWriter
from simcluster.calibration.record.store import Store
from simcluster.calibration.recording import Change
from simcluster.calibration.replaying import Act, Replay, Script
from simcluster.calibration.reporting import run_graph
from simcluster.calibration.services import fit_services
from simcluster.cli import main
from simcluster.engine import SECOND
from simcluster.engine.content import ContentError
from simcluster.world.profile import Profile, read_profile
from simcluster.world.world import default_nodes

#: Far from what is usual.
TRUE = Profile(parameters={"runtime.sandbox": "900ms", "runtime.start": "400ms", "node.grace": "25s"})
_LABELS = {"app": "web"}
_SPEC: dict[str, Any] = {"containers": [{"name": "c", "image": "nginx:1.27"}]}
WEB: dict[str, Any] = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"replicas": 8, "selector": {"matchLabels": _LABELS},
             "template": {"metadata": {"labels": _LABELS}, "spec": _SPEC}},
}  # fmt: skip


def write(folder: Path, changes: list[Change], operations: list[dict[str, Any]]) -> None:
    """A recording of what a watch saw."""
    store = Store(folder, Header())
    streams = {name: StreamWriter(folder / "objects" / name) for name in {change.resource for change in changes}}
    for change in changes:
        streams[change.resource].write({"t": change.t_ns, "type": change.kind, "object": change.object})
    streams["operations"] = StreamWriter(folder / "operations")
    for line in operations:
        streams["operations"].write(line)
    for stream in streams.values():
        stream.close()
    store.header.sessions[-1]["began_ns"] = changes[0].t_ns
    store.close()
    store.header.sessions[-1]["ended_ns"] = changes[-1].t_ns
    store.header.write(folder)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a cluster with unusual figures: eight pods, and a kubelet that stops."""
    acts = [Act(5 * SECOND, 0, "apply", WEB), Act(40 * SECOND, 1, "stop", {"unit": "kubelet", "node": "worker-3"})]
    script = Script(list(default_nodes(3)), [], acts, {"shop"}, 90 * SECOND)
    replay = Replay(script, 7, TRUE)
    replay.play()
    begin_ns = replay.changes[0].t_ns
    nodes = replay.world.api.store.objects("nodes")
    listed = [Change(begin_ns, "LISTED", "nodes", dict(node)) for node in nodes]
    made = Change(begin_ns + 5 * SECOND, "ADDED", "deployments.apps", WEB)
    stop = {"t": begin_ns + 40 * SECOND, "at_s": 40.0, "outcome": "done",
            "operation": {"run": "ssh", "means": "stop kubelet worker-3"}}  # fmt: skip
    folder = tmp_path_factory.mktemp("known") / "recording"
    write(folder, [*listed, made, *replay.changes], [stop])
    return folder


@pytest.fixture(scope="module")
def profile(recording: Path) -> Path:
    """What is fitted to it."""
    out = recording.parent / "profile.yaml"
    assert main(["calibrate", "fit", str(recording), "--out", str(out)]) == 0
    return out


def test_unusual_figures_are_recovered(profile: Path) -> None:
    fitted = read_profile(profile)
    evidence = {one.get("figure", one["quantity"]): one for one in fitted.evidence["control_plane"]}
    for name, true in TRUE.figures.items():
        found = evidence[name]
        assert abs(found["value"] - true) <= 0.1 * true or found["low"] <= true <= found["high"], found
        assert fitted.figures[name] == found["value"]
    for unknown in ("backoff.first", "termination"):
        assert "stays as usual" in evidence[unknown]["warnings"][-1]


def test_a_profile_is_reported_and_checked(
    recording: Path, profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, data = tmp_path / "r.html", tmp_path / "r.json"
    given = ["--profile", str(profile), "--seeds", "1"]
    assert main(["calibrate", "report", str(recording), *given, "--html", str(page), "--json", str(data)]) == 0
    rows = {row["quantity"]: row for row in json.loads(data.read_text())["quantities"]}
    assert abs(rows["sandbox"]["after"]["error"]) < 0.2 < abs(rows["sandbox"]["before"]["error"])
    assert "loki" in " ".join(json.loads(data.read_text())["unknown"])
    assert "<svg" in page.read_text()
    tolerance, usual = tmp_path / "t.yaml", tmp_path / "usual.yaml"
    tolerance.write_text("{sandbox: 0.2, start: 0.3}")
    usual.write_text("parameters: {}")
    assert main(["calibrate", "check", str(recording), *given, "--tolerance", str(tolerance)]) == 0
    drifted = ["--profile", str(usual), "--seeds", "1", "--tolerance", str(tolerance)]
    assert main(["calibrate", "check", str(recording), *drifted]) == 1
    assert "sandbox" in capsys.readouterr().out
    tolerance.write_text("{sandbx: 0.2}")
    assert main(["calibrate", "check", str(recording), *given, "--tolerance", str(tolerance)]) == 2


def test_a_shipped_profile_has_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tolerance = tmp_path / "t.yaml"
    tolerance.write_text("{}")
    given = ["calibrate", "check", str(tmp_path), "--tolerance", str(tolerance), "--profile"]
    assert main([*given, "kind-1.32"]) == 1  # no recording lies there
    assert main([*given, "kind-9"]) == 2
    assert "kind-1.32" in capsys.readouterr().err


def test_profiles_with_mistakes_are_refused(tmp_path: Path) -> None:
    for text, word in (
        ("runtime.sandbx: 2s", "runtime.sandbox"),
        ("node.grace: 5", "duration"),
        ("node.grace: 1ms", "from"),
    ):
        path = tmp_path / "p.yaml"
        path.write_text(f"parameters: {{{text}}}")
        with pytest.raises(ContentError, match=word):
            read_profile(path)


@pytest.mark.parametrize("law", ["exponential", "lognormal", "gamma"])
def test_laws_are_chosen_and_fitted(law: str) -> None:
    random = np.random.default_rng(3)
    drawn = {"exponential": random.exponential(2.0, 800), "lognormal": random.lognormal(0.5, 0.8, 800),
             "gamma": random.gamma(5.0, 0.4, 800)}[law]  # fmt: skip
    fit = fit_law(list(drawn))
    assert fit is not None
    assert fit.law == law
    assert fit.mean == pytest.approx(drawn.mean(), rel=0.1)
    assert fit.low < np.median(drawn) < fit.high


def test_censored_and_coarse_samples_are_allowed_for() -> None:
    drawn = np.random.default_rng(5).exponential(10.0, 400)
    ended, censored = drawn[drawn < 8], [8.0] * int((drawn >= 8).sum())
    fit = fit_law(list(np.round(ended)), 1.0, censored, ("exponential",))
    assert fit is not None
    assert fit.mean == pytest.approx(10.0, rel=0.15)
    naive = fit_law(list(ended), laws=("exponential",))
    assert naive is not None
    assert naive.mean < 5
    assert fit_law([1.0, 2.0]) is None


def traced(count: int) -> list[list[dict[str, Any]]]:
    """Requests of a shop: a page that works, asks a store twice, one after the other, and fails now and then."""
    random, t, traces = np.random.default_rng(11), 0, []
    for number in range(count):
        t += int(random.exponential(0.05) * 1e9)
        at, spans = t + int(random.exponential(0.004) * 1e9), []
        for call in range(2):
            took = int(random.lognormal(np.log(0.010), 0.3) * 1e9)
            common = {"error": False, "tags": {}}
            spans.append({"id": f"c{call}", "parent": "p", "service": "web", "operation": "GET", "kind": "client",
                          "start_ns": at, "duration_ns": took + 1_000_000, **common})  # fmt: skip
            spans.append({"id": f"s{call}", "parent": f"c{call}", "service": "store", "operation": "get",
                          "kind": "server", "start_ns": at + 500_000, "duration_ns": took, **common})  # fmt: skip
            at += took + 1_000_000
        whole = {"id": "p", "parent": "", "service": "web", "operation": "page", "kind": "server", "start_ns": t}
        traces.append([{**whole, "duration_ns": at - t, "error": number % 20 == 0, "tags": {}}, *spans])
    return traces


def test_a_call_graph_is_found_in_traces() -> None:
    traces = traced(600)
    fitted = fit_services(traces)
    assert fitted is not None
    said = fitted.evidence["web/page"]
    assert said["calls"]["store/get"]["times"] == 2
    assert said["order"] == "one after the other"
    assert said["errors"][0] < 0.05 < said["errors"][1]
    assert said["arrivals"]["rate"] == pytest.approx(20, rel=0.15)
    assert fitted.evidence["store/get"]["own"]["law"] == "lognormal"
    assert fitted.evidence["store/get"]["way_s"] == pytest.approx(0.0005, rel=0.1)
    here = np.median(run_graph(fitted.graph)["web", "page"])
    there = np.median([trace[0]["duration_ns"] / 1e9 for trace in traces])
    assert here == pytest.approx(there, rel=0.1)
    assert yaml.safe_load(yaml.safe_dump(fitted.graph)) == fitted.graph
    assert fit_services(traced(5)) is None
