"""`python -m tests.calibration.recovery --worlds N`: unusual clusters, recorded over their sockets and fitted.

Every world draws each figure from a range far around the usual one, is served at three times the clock's pace, recorded
while a script works on it, and fitted by what was recorded alone. A figure is recovered if the fitted one is within a
tenth of the true one or the true one in its interval. Figures that the fit says are too coarse to tell are not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import tempfile
from pathlib import Path

import yaml

from simcluster.calibration.fitting import fit_control_plane
from simcluster.calibration.record.operations import read_script
from simcluster.calibration.record.recorder import Recorder, Wanted
from simcluster.calibration.recording import Recording
from simcluster.world.profile import Profile
from tests.surface.http.served import ServedCluster

PACE, SECONDS, AT_ONCE = 3, 62.0, 4
RANGES_MS = {
    "runtime.sandbox": (500, 3000),
    "runtime.create": (300, 1500),
    "runtime.start": (300, 1500),
    "image.resolve": (1000, 4000),
    "kubelet.signal": (400, 3000),
    "node.grace": (20_000, 70_000),
    "kubelet.backoff.initial": (4_000, 25_000),
}
SCRIPT = """
- {at: 2s, apply: web.yaml}
- {at: 17s, scale: deployment/web, replicas: 24, namespace: shop}
- {at: 27s, scale: deployment/web, replicas: 10, namespace: shop}
- {at: 33s, run: STOP, means: stop kubelet worker-3}
"""
MANIFESTS = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 12
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: "nginx:1.27", imagePullPolicy: Always}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: crash, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: crash}}
  template:
    metadata: {labels: {app: crash}}
    spec: {containers: [{name: c, image: "busybox:1.36", command: [sh, -c, "exit 1"]}]}
"""


def true_figures(seed: int) -> Profile:
    """A profile drawn from the ranges."""
    drawn = random.Random(seed)
    return Profile(parameters={name: f"{drawn.randint(*ends)}ms" for name, ends in RANGES_MS.items()})


async def record(folder: Path, seed: int) -> None:
    """Serve a world and record it."""
    (folder / "true.yaml").write_text(yaml.safe_dump({"parameters": true_figures(seed).parameters}))
    (folder / "web.yaml").write_text(MANIFESTS)
    given = ("--empty", "--seed", str(seed), "--profile", str(folder / "true.yaml"), "--clock", f"realtime:{PACE}")
    cluster = await asyncio.to_thread(ServedCluster, folder / "serve", *given, stderr=subprocess.PIPE)
    try:
        await asyncio.to_thread(cluster.wait)
        desk = f"{cluster.environment['SIMCLUSTER_DESK']}/node/worker-3"
        stop = f"curl -s -d 'systemctl stop kubelet' {desk}"
        (folder / "script.yaml").write_text(SCRIPT.replace("STOP", json.dumps(stop)))
        script = tuple(read_script(folder / "script.yaml"))
        wanted = Wanted(
            cluster.out / "kubeconfig", folder / "recording", seconds=SECONDS, script=script, script_folder=folder
        )
        await Recorder(wanted).run()
    finally:
        await asyncio.to_thread(cluster.end)


async def record_all(folder: Path, seeds: list[int]) -> None:
    """A few at once."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(seed: int) -> None:
        async with gate:
            place = folder / str(seed)
            place.mkdir()
            await record(place, seed)

    await asyncio.gather(*(one(seed) for seed in seeds))


def judge(folder: Path, seed: int, counts: dict[str, list[int]]) -> None:
    """Fit one recording and count which figures are recovered."""
    fitted = fit_control_plane([Recording(folder / str(seed) / "recording")])
    for name, true in true_figures(seed).figures.items():
        found = next((one for one in fitted.evidence if one.figure == name), None)
        row = counts.setdefault(name, [0, 0, 0, 0])
        row[3] += 1
        if found is None or any("coarse" in warning for warning in found.warnings):
            continue
        near, inside = abs(found.value - true) <= 0.1 * true, found.low <= true <= found.high
        row[0] += 1
        row[1] += near or inside
        row[2] += inside
        missed = "" if near or inside else "  MISSED"
        values = [round(one / 1e6) for one in (found.value, found.low, found.high, true)]
        print(seed, name, "{} ({} to {}), true {}".format(*values), missed, flush=True)


def main() -> None:
    """Record, fit, count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    asked = parser.parse_args()
    seeds = list(range(asked.first, asked.first + asked.worlds))
    counts: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(record_all(Path(name), seeds))
        for seed in seeds:
            judge(Path(name), seed, counts)
    for name, (fitted, recovered, inside, worlds) in counts.items():
        print(
            f"{name}: fitted in {fitted} of {worlds} worlds, recovered in {recovered}, inside its interval in {inside}"
        )
    total = [sum(row[index] for row in counts.values()) for index in range(3)]
    print(f"all: recovered {total[1]} of {total[0]}; intervals cover {total[2]}")


if __name__ == "__main__":
    main()
