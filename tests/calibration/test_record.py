"""The recorder against a served cluster, over its real sockets; and what becomes of broken recordings."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from simcluster.calibration.record.clocks import fit_clock
from simcluster.calibration.record.kubeconfig import NoAccess, read_kubeconfig
from simcluster.calibration.record.layout import Header, RecordingError, read_header
from simcluster.calibration.record.operations import read_script
from simcluster.calibration.record.recorder import Recorder, Wanted
from simcluster.calibration.record.redaction import Redaction
from simcluster.calibration.record.segments import segments
from simcluster.calibration.record.series import Sample, read_series, write_series
from simcluster.calibration.record.store import Store
from simcluster.calibration.record.verify import verify
from simcluster.cli import main
from tests.architecture.importing import imported_modules
from tests.surface.http.served import ServedCluster

MANIFESTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: nginx:1.27, env: [{name: DB_PASSWORD, value: hunter-two}]}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: default}
stringData: {a: open-sesame}
"""
SCRIPT = """
- {at: 1s, apply: web.yaml}
- {at: 2s, scale: deployment/web, replicas: 3}
- {at: 3s, delete: pod, selector: app=web}
- {at: 3s, delete: pod/no-such-pod}
- {at: 3s, run: echo hello, means: nothing}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCluster]:
    cluster = ServedCluster(tmp_path_factory.mktemp("serve"), "--empty", "--telemetry", "--clock", "realtime:5")
    cluster.wait()
    yield cluster
    cluster.end()


@pytest.fixture(scope="module")
def recording(served: ServedCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sessions of one recording."""
    folder = tmp_path_factory.mktemp("recording")
    (folder / "web.yaml").write_text(MANIFESTS)
    (folder / "script.yaml").write_text(SCRIPT)
    out = folder / "out"
    prometheus = f"{served.environment['SIMCLUSTER_DESK']}/prometheus"
    script = tuple(read_script(folder / "script.yaml"))
    wanted = Wanted(served.out / "kubeconfig", out, prometheus=prometheus, seconds=15, lag_s=1,
                    metrics="up|container_cpu.*", script=script, script_folder=folder)  # fmt: skip
    asyncio.run(Recorder(wanted).run())
    asyncio.run(Recorder(Wanted(served.out / "kubeconfig", out, seconds=1)).run())
    return out


def lines(folder: Path, stream: str) -> list[dict[str, Any]]:
    return [line for segment in segments(folder / stream) for line in segment]


def test_a_pod_is_seen_from_its_making_to_its_end(recording: Path) -> None:
    pods = [line for line in lines(recording, "objects/pods") if line["object"]["metadata"]["namespace"] == "default"]
    kinds = {line["type"] for line in pods}
    assert {"ADDED", "MODIFIED", "DELETED"} <= kinds
    assert any(line["object"]["spec"].get("nodeName") for line in pods)
    assert [line["t"] for line in pods] == sorted(line["t"] for line in pods)


def test_the_script_is_carried_out_and_written_down(recording: Path) -> None:
    outcomes = [line["outcome"] for line in lines(recording, "operations")]
    assert [outcome == "done" for outcome in outcomes] == [True, True, True, False, True]
    assert "404" in outcomes[3]
    replicas = [line["object"]["spec"]["replicas"] for line in lines(recording, "objects/deployments.apps")
                if line["object"]["metadata"]["name"] == "web"]  # fmt: skip
    assert replicas[0] == 2
    assert replicas[-1] == 3


def test_secrets_are_not_written_down(recording: Path) -> None:
    texts = b"".join(gzip.decompress(path.read_bytes()) for path in recording.glob("**/*.jsonl.gz"))
    assert b"DB_PASSWORD" in texts
    for secret in (b"hunter-two", b"open-sesame", b"b3Blbi1zZXNhbWU"):
        assert secret not in texts


def test_a_second_session_goes_on_where_the_first_ended(recording: Path) -> None:
    header = read_header(recording)
    assert len(header.sessions) == 2
    listed = [line for line in lines(recording, "objects/nodes") if line["type"] == "LISTED"]
    assert len(listed) == 4  # by the first session alone
    assert header.cluster["version"].startswith("v1.32")


def test_a_session_that_ends_while_watches_are_opened_leaves_no_socket_open(
    served: ServedCluster, recording: Path, tmp_path: Path
) -> None:
    """The second session lists nothing, so that all its watches shake hands when it ends."""
    address = urlsplit(served.url)
    folder = shutil.copytree(recording, tmp_path / "again")

    async def run() -> None:
        going: set[asyncio.Task[None]] = set()

        def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            going.add(asyncio.create_task(_slow(str(address.hostname), int(address.port or 0), reader, writer)))

        door = await asyncio.start_server(met, "127.0.0.1", 0)
        port = door.sockets[0].getsockname()[1]
        config = (served.out / "kubeconfig").read_text().replace(address.netloc, f"127.0.0.1:{port}")
        (tmp_path / "kubeconfig").write_text(config)
        await Recorder(Wanted(tmp_path / "kubeconfig", folder, seconds=0.05)).run()
        door.close()
        await asyncio.wait(going, timeout=10)

    gc.collect()
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        asyncio.run(run())
        gc.collect()
    assert [str(one.message) for one in met] == []
    assert len(read_header(folder).sessions) == 3


async def _slow(host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection to a server that takes its time for a handshake."""
    there, back = await asyncio.open_connection(host, port)

    async def copied(source: asyncio.StreamReader, sink: asyncio.StreamWriter, late_s: float = 0.0) -> None:
        with contextlib.suppress(OSError):
            while part := await source.read(65536):
                await asyncio.sleep(late_s)
                sink.write(part)
        sink.close()
        with contextlib.suppress(OSError):
            await sink.wait_closed()

    await asyncio.gather(copied(reader, back), copied(there, writer, 0.2))


def test_series_are_raw_samples_of_the_window(recording: Path) -> None:
    samples = [sample for _, part in read_series(recording) for sample in part]
    names = {sample.name for sample in samples}
    assert "up" in names
    assert "container_cpu_usage_seconds_total" in names
    assert all(name == "up" or name.startswith("container_cpu") for name in names)


def test_verify_names_what_is_missing_and_how_clocks_differ(recording: Path) -> None:
    found = {(fault.kind, fault.where) for fault in verify(recording)}
    assert ("missing", "jaeger") in found
    assert ("refused", "operation at 3.0 s") in found
    assert {where for kind, where in found if kind == "skew"} >= {"node worker-1", "node control-plane"}
    assert any("times as fast" in fault.what for fault in verify(recording))
    assert main(["record", "--verify", str(recording)]) == 0


def test_verify_finds_truncation_and_damage(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in recording.glob("**/*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(recording)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    pods = tmp_path / "objects/pods/000001.jsonl.gz"
    pods.write_bytes(pods.read_bytes()[:-40])
    events = tmp_path / "objects/events/000001.jsonl.gz"
    events.write_bytes(events.read_bytes()[:200] + b"\xff" * 40 + events.read_bytes()[240:])
    series = next(tmp_path.glob("series/*.parquet"))
    series.write_bytes(series.read_bytes()[:100])
    assert main(["record", "--verify", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "GRAVE truncated: objects/pods/000001.jsonl.gz" in said
    assert "GRAVE damaged: objects/events/000001.jsonl.gz" in said
    assert "GRAVE damaged: series" in said


def test_gaps_and_resets_of_series_are_counted(tmp_path: Path) -> None:
    Store(tmp_path / "r", Header()).close()
    times = [*range(0, 100, 5), *range(200, 300, 5)]
    write_series(tmp_path / "r", [Sample("a_total", "{}", t * 1000, float(t % 150)) for t in times])
    found = {(fault.kind, fault.where) for fault in verify(tmp_path / "r")}
    assert ("gap", "series a_total") in found
    assert ("reset", "series a_total") in found


@pytest.mark.parametrize(("skew_s", "rate"), [(0.0, 1.0), (-3600.0, 1.0), (12.5, 20.0)])
def test_clocks_are_fitted(skew_s: float, rate: float) -> None:
    delays = [0.3, 0.01, 0.2, 0.05, 0.1] * 8
    samples = [(round((10 * n + delay) * 1e9), round((skew_s + 10 * n * rate) * 1e9)) for n, delay in enumerate(delays)]
    fit = fit_clock(samples)
    assert fit is not None
    assert fit.rate == pytest.approx(rate, rel=0.01)
    assert fit.skew_ns / 1e9 == pytest.approx(
        skew_s - samples[0][0] / 1e9 * (1 if rate == 1 else 0), abs=6 if rate > 1 else 0.5
    )


def test_redaction_keeps_what_is_no_secret() -> None:
    redaction = Redaction(("(?i)acme-[0-9]+",))
    plain = {"kind": "Pod", "metadata": {"name": "a", "managedFields": []}, "spec": {"secretName": "tls", "n": 3}}
    assert redaction.object(plain) == {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"secretName": "tls", "n": 3}}
    assert "ACME-12" not in redaction.text("customer ACME-12 with Bearer abcdefgh1234")
    assert "abcdefgh1234" not in redaction.text("customer ACME-12 with Bearer abcdefgh1234")
    with pytest.raises(ValueError, match="not a regular expression"):
        Redaction(("(",))


def test_what_cannot_be_recorded_is_refused_by_name(tmp_path: Path) -> None:
    bad = tmp_path / "kubeconfig"
    for text in ("[", "{}", "{current-context: a, contexts: [{name: a, context: {cluster: b}}]}"):
        bad.write_text(text)
        with pytest.raises(NoAccess, match="kubeconfig"):
            read_kubeconfig(bad)
    (tmp_path / "recording.json").write_text(json.dumps({"format": "simcluster-recording", "version": 99}))
    with pytest.raises(RecordingError, match="version 99"):
        read_header(tmp_path)
    with pytest.raises(RecordingError, match="holds no recording"):
        read_header(tmp_path / "nothing")
    for number, text in enumerate(("{}", "- {at: soon, apply: x}", "- {at: 1s}", "- {at: 1s, scale: deployment/x}")):
        script = tmp_path / f"{number}.yaml"
        script.write_text(text)
        with pytest.raises(ValueError, match=f"{number}.yaml"):
            read_script(script)


def test_the_recorder_knows_no_simulator() -> None:
    folder = Path(__file__).parents[2] / "simcluster" / "calibration" / "record"
    for path in folder.glob("*.py"):
        for line, module in imported_modules(path):
            if module.startswith("simcluster."):
                assert module.startswith(("simcluster.calibration.record.", "simcluster.engine")), f"{path}:{line}"
