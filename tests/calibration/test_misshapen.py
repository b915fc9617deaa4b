"""Recordings that are whole gzip and JSON and still not what they should be: handled, or refused by file and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcluster.calibration.counters import grid_of, grown, kept_series, watched
from simcluster.calibration.record.layout import HEADER, Header, RecordingError, read_header
from simcluster.calibration.record.segments import StreamWriter, segments
from simcluster.calibration.record.series import Sample, write_series
from simcluster.calibration.record.store import Store
from simcluster.calibration.record.verify import verify
from simcluster.calibration.recording import Recording
from simcluster.calibration.replaying import script_of
from simcluster.calibration.reporting import other_release
from simcluster.cli import main

POD = {"t": 5, "type": "ADDED", "object": {"metadata": {"name": "a", "uid": "u"}, "spec": {}}}
SPAN: dict[str, Any] = {"id": "1", "parent": "", "service": "web", "operation": "GET", "kind": "server", "error": False,
                        "start_ns": 10, "duration_ns": 5_000_000, "tags": {}}  # fmt: skip


def stream(folder: Path, name: str, lines: list[dict[str, Any]]) -> None:
    """Write a stream of a recording."""
    if not (folder / HEADER).exists():
        Store(folder, Header()).close()
    writer = StreamWriter(folder / name)
    for line in lines:
        writer.write(line)
    writer.close()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({**POD, "t": "soon"}, "t is no whole number"),
        ({**POD, "type": "CHANGED"}, "type 'CHANGED'"),
        ({**POD, "object": "pod"}, "metadata with a name"),
        ({**POD, "object": {"metadata": {"name": "a", "uid": "u"}}}, "pods have a spec"),
        ({**POD, "object": {**POD["object"], "status": 3}}, "status is no map"),  # type: ignore[dict-item]
    ],
)
def test_lines_of_another_form_are_passed_over_and_named(tmp_path: Path, line: dict[str, Any], words: str) -> None:
    stream(tmp_path / "r", "objects/pods", [POD, line, POD])
    read = [one for segment in segments(tmp_path / "r/objects/pods") for one in segment]
    assert read == [POD, POD]
    fault = next(one for one in verify(tmp_path / "r") if one.kind == "misshapen")
    assert fault.grave
    assert "objects/pods/000001.jsonl.gz" in fault.where
    assert "line 2" in fault.what
    assert words in fault.what


def test_a_fit_goes_on_with_the_traces_that_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = [{"t": n, "spans": [{**SPAN, "start_ns": n * 40_000_000}]} for n in range(60)]
    bad = [{"t": 60}, {"t": 61, "spans": [{**SPAN, "duration_ns": -1}]}, {"t": 62, "spans": [{"id": "1"}]}]
    stream(tmp_path / "r", "traces", [*good, *bad])
    assert main(["calibrate", "fit", str(tmp_path / "r"), "--out", str(tmp_path / "p.yaml")]) == 0
    said = capsys.readouterr().err
    assert "traces/000001.jsonl.gz: 3 lines are passed over; line 61: a trace has spans" in said


def test_headers_of_another_form_are_refused(tmp_path: Path) -> None:
    stream(tmp_path / "r", "notes", [])
    path = tmp_path / "r" / HEADER
    whole = json.loads(path.read_text())
    for wrong, words in (({"sessions": {}}, "sessions is no list"), ({"sessions": [{"began_ns": "now"}]}, "session 1")):
        path.write_text(json.dumps({**whole, **wrong}))
        with pytest.raises(RecordingError, match=words):
            read_header(tmp_path / "r")


def test_nodes_say_their_size_as_quantities(tmp_path: Path) -> None:
    for name, cpu in (("odd", "3920m"), ("none", "many")):
        node = {"metadata": {"name": "n"}, "spec": {}, "status": {"capacity": {"cpu": cpu, "memory": "16Gi"}}}
        stream(tmp_path / name, "objects/nodes", [{"t": 1, "type": "LISTED", "object": node}])
    assert [(one.cpu, one.memory) for one in script_of(Recording(tmp_path / "odd")).nodes] == [(4, 16 << 30)]
    with pytest.raises(RecordingError, match="capacity of node n"):
        script_of(Recording(tmp_path / "none"))


def test_series_of_another_form_are_refused_and_gaps_left_out(tmp_path: Path) -> None:
    times = [*range(0, 100, 5), *range(600, 700, 5)]
    stream(tmp_path / "r", "notes", [])
    write_series(tmp_path / "r", [Sample("a_total", "{}", t * 1000, float(t)) for t in times])
    write_series(tmp_path / "r", [Sample("a_total", "{}", 701_000, float("nan"))])
    lines = kept_series([tmp_path / "r"], ("a_total",)).lines["a_total"]
    grid = grid_of(lines, 1)
    cells = watched(lines, grid)
    assert len(lines[0].times_s) == len(times)
    assert grown(lines, grid)[cells].sum() == pytest.approx(190, abs=5)
    write_series(tmp_path / "r", [Sample("a_total", "{no", 1000, 1.0)])
    with pytest.raises(RecordingError, match=r"000003\.parquet: labels"):
        kept_series([tmp_path / "r"], ("a_total",))
    write_series(tmp_path / "s", [Sample("a_total", "{}", 1000, "much")])  # type: ignore[arg-type]
    with pytest.raises(RecordingError, match="the column value holds string"):
        kept_series([tmp_path / "s"], ("a_total",))


def test_clusters_of_another_release_are_named(tmp_path: Path) -> None:
    for version, said in (("v1.27.3+k3s1", "Kubernetes 1.27"), ("v1.32.4", "")):
        store = Store(tmp_path / version, Header(cluster={"version": version}))
        store.close()
        words = other_release(Recording(tmp_path / version))
        assert said in words
        assert bool(words) == bool(said)
