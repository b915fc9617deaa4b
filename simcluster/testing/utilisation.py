"""`python -m simcluster.testing.utilisation`: what a cluster's users wait at each utilisation, beside queueing theory.

Pods of one program with exponential work behind a Service are M/M/c each: kube-proxy draws the pod of a connection,
so what comes to each is Poisson again.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import click

import simcluster
from simcluster.eval.validation.theory import mmc_quantile, mmc_sojourn

#: What one worker serves in a second: the mean work of a request is 10 ms.
_RATE = 100.0
#: By how much a figure may leave theory.
_TOLERANCE = 0.05
_GRAPH = """\
name: station
run: {{duration: 10s, warmup: 1s, window: 1s}}
services:
  server:
    replicas: {pods}
    workers: {workers}
    operations:
      serve: {{work: {{law: exponential, mean: 10ms}}}}
load:
  users: {{target: server, open: {{rate: 1}}}}
"""


class Station(NamedTuple):
    """Pods, workers in each of them, and the share of time that each worker is to be busy."""

    pods: int
    workers: int
    utilisation: float

    @property
    def each(self) -> float:
        """Requests a second that come to a pod."""
        return self.utilisation * self.workers * _RATE

    def theory(self) -> dict[str, float]:
        """Mean, median and 99th percentile of M/M/c, in ms."""
        figures = {"mean": mmc_sojourn(self.each, _RATE, self.workers)}
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            figures[name] = mmc_quantile(self.each, _RATE, self.workers, share)
        return {name: 1000.0 * seconds for name, seconds in figures.items()}

    def measured(self, minutes: int, seed: int) -> dict[str, float]:
        """The same of what users of a cluster met in so many minutes, after five others, in ms."""
        box = simcluster.sandbox(nodes=3, cpu=16, seed=seed)
        with tempfile.TemporaryDirectory() as folder:
            graph = Path(folder) / "station.yaml"
            graph.write_text(_GRAPH.format(pods=self.pods, workers=self.workers), encoding="utf-8")
            box.deploy(str(graph))
        load = box.load("server", rps=self.each * self.pods, timeout="60s")
        box.wait(f"{5 + minutes}m")
        seen = load.window(f"{minutes}m")
        return {"mean": seen.mean_ms, "p50": seen.quantile_ms(0.5), "p99": seen.quantile_ms(0.99)}


@click.command()
@click.option("--pods", multiple=True, default=(1, 3), show_default=True, type=click.IntRange(1))
@click.option("--workers", multiple=True, default=(1, 4), show_default=True, type=click.IntRange(1, 12))
@click.option("--utilisation", multiple=True, default=(0.2, 0.5, 0.8, 0.88, 0.95, 0.97), show_default=True)
@click.option("--minutes", default=55, show_default=True, type=click.IntRange(1), help="Simulated minutes of a run.")
@click.option("--seeds", default=0, type=click.IntRange(0), help="Runs; 0: one, above 0.85 four, above 0.96 eight.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a station.")
def main(
    pods: tuple[int, ...],
    workers: tuple[int, ...],
    utilisation: tuple[float, ...],
    minutes: int,
    seeds: int,
    as_json: bool,
) -> None:
    """Compare; the exit status is 1 where a figure is more than 5 % and its own scatter away from theory."""
    failed = False
    for station in (Station(p, w, u) for u in utilisation for w in workers for p in pods):
        runs = [station.measured(minutes, seed) for seed in range(seeds or _runs(station.utilisation))]
        errors = {name: _error([run[name] / value - 1.0 for run in runs]) for name, value in station.theory().items()}
        failed |= any(abs(middle) > _TOLERANCE + spread for middle, spread in errors.values())
        if as_json:
            click.echo(json.dumps({**station._asdict(), "runs": len(runs), "errors": errors}))
        else:
            shown = "  ".join(f"{name} {100 * m:+5.1f} ± {100 * s:3.1f} %" for name, (m, s) in errors.items())
            click.echo(f"{station.utilisation:4.2f}  pods {station.pods}  workers {station.workers}  {shown}")
    sys.exit(1 if failed else 0)


def _runs(utilisation: float) -> int:
    """A queue that is nearly full wanders for long, so it takes more of them."""
    return 8 if utilisation > 0.96 else 4 if utilisation > 0.85 else 1


def _error(found: list[float]) -> tuple[float, float]:
    """Its mean and twice its standard error (0 of a single run)."""
    spread = statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else 0.0
    return statistics.fmean(found), 2.0 * spread


if __name__ == "__main__":
    main()
