"""Our own speed: how fast the world runs, forks, boots and answers."""

from simcluster.eval.bench.bench import Measurement, measure

__all__ = ["Measurement", "measure"]
