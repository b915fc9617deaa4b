"""How an agent worked: its transcript, the steps in it, and the process measures of three published benchmarks."""

from simcluster.eval.process.measures import measured
from simcluster.eval.process.transcript import Transcript, Turn

__all__ = ["Transcript", "Turn", "measured"]
