"""`python -m tests.calibration.roundtrip`: ten minutes of twenty services, recorded, fitted, replayed, reported.

The cluster is served at twenty times the clock's pace and watched with its telemetry; printed are seconds of the
clock and of the CPU of each step.
"""

from __future__ import annotations

import asyncio
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from simcluster.calibration.record.operations import read_script
from simcluster.calibration.record.recorder import Recorder, Wanted
from simcluster.cli import main as simcluster
from tests.calibration.recovery import MANIFESTS
from tests.surface.http.served import ServedCluster

PACE, SIMULATED_S, SERVICES = 20, 600, 20
SCRIPT = """
- {at: 1s, apply: web.yaml}
- {at: 8s, scale: deployment/web-3, replicas: 6, namespace: shop}
- {at: 12s, delete: pod, selector: app=web-5, namespace: shop}
- {at: 16s, drain: worker-2}
"""


def manifests() -> str:
    """Twenty Deployments with a Service each."""
    namespace, web = list(yaml.safe_load_all(MANIFESTS))[:2]
    found = [namespace]
    for number in range(SERVICES):
        text = yaml.safe_dump(web).replace("web", f"web-{number}").replace("replicas: 12", "replicas: 2")
        found.append(yaml.safe_load(text))
        spec = {"selector": {"app": f"web-{number}"}, "ports": [{"port": 80}]}
        metadata = {"name": f"web-{number}", "namespace": "shop"}
        found.append({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
    return yaml.safe_dump_all(found)


def record(folder: Path) -> None:
    """Serve, and record it."""
    (folder / "web.yaml").write_text(manifests())
    (folder / "script.yaml").write_text(SCRIPT)
    cluster = ServedCluster(folder / "serve", "--empty", "--telemetry", "--clock", f"realtime:{PACE}")
    try:
        cluster.wait()
        prometheus = f"{cluster.environment['SIMCLUSTER_DESK']}/prometheus"
        script = tuple(read_script(folder / "script.yaml"))
        wanted = Wanted(cluster.out / "kubeconfig", folder / "rec", prometheus=prometheus, seconds=SIMULATED_S / PACE,
                        lag_s=1, script=script, script_folder=folder)  # fmt: skip
        asyncio.run(Recorder(wanted).run())
    finally:
        cluster.end()


def main() -> None:
    """Each step, timed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rec, profile = str(folder / "rec"), str(folder / "p.yaml")
        page = str(folder / "r.html")
        steps: dict[str, Callable[[], object]] = {
            "record": lambda: record(folder),
            "fit": lambda: simcluster(["calibrate", "fit", rec, "--out", profile]),
            "replay": lambda: simcluster(["calibrate", "replay", rec, "--profile", profile, "--seeds", "1"]),
            "report": lambda: simcluster(["calibrate", "report", rec, "--profile", profile, "--html", page]),
        }
        for step, do in steps.items():
            began_s, cpu_s = time.perf_counter(), _cpu_s()
            do()
            print(f"{step}: {time.perf_counter() - began_s:.1f} s, {_cpu_s() - cpu_s:.1f} s of CPU", flush=True)


def _cpu_s() -> float:
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


if __name__ == "__main__":
    main()
