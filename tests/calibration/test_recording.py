"""The clock of a cluster that falls behind its own pace."""

from __future__ import annotations

from pathlib import Path

from simcluster.calibration.record.layout import OBJECTS, Header
from simcluster.calibration.record.segments import StreamWriter
from simcluster.calibration.record.store import Store
from simcluster.calibration.recording import LEASES, Recording
from simcluster.engine import SECOND


def renewed(at_s: float) -> dict[str, object]:
    """A node's Lease as it says the simulated second of an hour in 1970."""
    minute, second = divmod(at_s, 60)
    time = f"1970-01-01T00:{int(minute):02d}:{second:09.6f}Z"
    return {"metadata": {"name": "n", "namespace": "kube-node-lease"}, "spec": {"renewTime": time}}


def recorded(folder: Path, shown: list[tuple[int, float]]) -> Recording:
    """Of a cluster whose clock showed these seconds at these seconds of the recorder's."""
    store = Store(folder, Header())
    leases = StreamWriter(folder / OBJECTS / LEASES)
    for t_s, at_s in shown:
        leases.write({"t": t_s * SECOND, "type": "MODIFIED", "object": renewed(at_s)})
    leases.close()
    store.close()
    return Recording(folder)


def test_a_paced_cluster_is_followed_where_it_falls_behind(tmp_path: Path) -> None:
    # three seconds in one, but for six seconds in which its machine was busy
    steady = [(t, 3.0 * t) for t in range(0, 30, 3)]
    slow = [(30, 84.0), (33, 87.0), (36, 96.0)]
    late = [(t, 3.0 * t - 12) for t in range(39, 60, 3)]
    recording = recorded(tmp_path, [*steady, *slow, *late])
    assert 2.5 < recording.pace < 3.1
    assert recording.at(28 * SECOND + SECOND // 2) // SECOND in (82, 83)
    assert recording.at(32 * SECOND) == 86 * SECOND
    assert recording.at(45 * SECOND) == 123 * SECOND


def test_clocks_of_one_pace_stay_a_line(tmp_path: Path) -> None:
    recording = recorded(tmp_path, [(t, t + 100.0 + (0.5 if t == 20 else 0.0)) for t in range(0, 60, 10)])
    assert recording.pace == 1.0
    assert recording.at(35 * SECOND) == round(135.5 * SECOND)
