"""Our own speed: how fast the world runs, forks, boots and answers, what size costs, and how it stands a day."""

from simcluster.eval.bench.bench import Measurement, measure
from simcluster.eval.bench.scale import measure_scale
from simcluster.eval.bench.soak import measure_soak
from simcluster.eval.bench.telemetry import measure_telemetry
from simcluster.eval.bench.traffic import measure_traffic

__all__ = ["Measurement", "measure", "measure_scale", "measure_soak", "measure_telemetry", "measure_traffic"]
