"""Three real services on loopback are recorded, fitted and replayed; one becomes slow; the model says what follows.

What is recorded from ourselves proves the machinery only. How far off the model was is printed: `pytest -s`.
"""

from __future__ import annotations

import asyncio
import json
import random
import secrets
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from simcluster.calibration.importing import import_as
from simcluster.calibration.recording import Recording
from simcluster.calibration.reporting import run_graph
from simcluster.calibration.requests import Slowed, retrace
from simcluster.calibration.services import FittedServices, fit_services
from simcluster.engine import SECOND
from tests.calibration.realservice import ask

RPS, SECONDS, SLOWER = 22.0, 7.0, 2.2


def ports(count: int) -> list[int]:
    """Free ones."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    found = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return found


async def load(port: int) -> None:
    """Users who come whether answers do or not."""
    chance = random.Random(4)
    tasks = []
    loop = asyncio.get_running_loop()
    at, end = loop.time(), loop.time() + SECONDS
    while at < end:
        at += chance.expovariate(RPS)
        await asyncio.sleep(max(0.0, at - loop.time()))
        tasks.append(asyncio.create_task(ask(port, secrets.token_hex(16), "0" * 16)))
    await asyncio.gather(*tasks)


def run(folder: Path, store_mean_s: float) -> tuple[FittedServices, list[float]]:
    """A run of the real services: what is fitted to its recording, and how long users waited."""
    folder.mkdir()
    web, cart, store = ports(3)
    described: list[dict[str, Any]] = [
        {"name": "web", "port": web, "workers": 64, "mean_s": 0.004, "calls": [cart, store]},
        {"name": "cart", "port": cart, "workers": 64, "mean_s": 0.008, "calls": [store]},
        {"name": "store", "port": store, "workers": 2, "mean_s": store_mean_s, "calls": []},
    ]
    processes = []
    for one in described:
        given = json.dumps({**one, "out": str(folder / f"{one['name']}.json")})
        command = [sys.executable, "-m", "tests.calibration.realservice", given]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]))
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        asyncio.run(load(web))
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(20)
            assert process.stdout is not None
            process.stdout.close()
    (folder / "all.json").write_text("".join((folder / f"{one['name']}.json").read_text() for one in described))
    import_as("otlp", folder / "all.json", folder / "recording")
    fitted = fit_services(Recording(folder / "recording").traces())
    assert fitted is not None
    return fitted, fitted.operations["web", "serve"].whole_s


def test_a_slow_service_of_real_processes_is_foretold(tmp_path: Path) -> None:
    first, waited = run(tmp_path / "first", 0.014)
    assert first.graph["services"]["web"]["operations"]["serve"]["steps"][0]["call"]["service"] == "cart"
    assert first.evidence["web/serve"]["calls"]["store/serve"]["times"] == 1
    assert first.evidence["web/serve"]["arrivals"]["rate"] > 0.7 * RPS
    error = compare("as fitted", waited, first.graph)
    assert error < 0.35
    second, slowed = run(tmp_path / "second", 0.014 * SLOWER)
    graph = json.loads(json.dumps(first.graph))
    graph["services"]["store"] |= {"workers": 2}
    own = second.graph["services"]["store"]["operations"]["serve"]  # the target's own signal, and nothing else
    graph["services"]["store"]["operations"]["serve"] = own
    assert np.median(slowed) > 1.2 * np.median(waited)
    assert compare("one slow", slowed, graph) < 0.5
    first.graph["services"]["store"]["workers"] = 2
    traces = Recording(tmp_path / "second" / "recording").traces()
    foretold = retrace(traces, first.graph, [Slowed("store", 0, 60 * SECOND)]).to_dict()
    print(f"each request when it came: {foretold['slowed']}, p50 {foretold['p50']:.1%}, p90 {foretold['p90']:.1%}")
    assert foretold["p50"] < 0.5


def compare(what: str, waited: list[float], graph: dict[str, Any]) -> float:
    """Relative error of the median that users wait, printed with that of the 90th percentile."""
    here = run_graph(graph)["web", "serve"]
    errors = [float(np.quantile(here, share) / np.quantile(waited, share) - 1) for share in (0.5, 0.9)]
    print(f"{what}: {len(waited)} requests, p50 {np.median(waited):.4f} s, errors {errors[0]:+.1%}, {errors[1]:+.1%}")
    return abs(errors[0])
