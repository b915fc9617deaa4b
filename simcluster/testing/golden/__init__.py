"""Replays recorded kubectl transcripts against a simulated cluster and compares what is printed.

Start at `replay.replay`; on the command line `python -m simcluster.testing.golden DIR`.
"""

from simcluster.testing.golden.compare import Comparison, Verdict, compare
from simcluster.testing.golden.replay import replay
from simcluster.testing.golden.transcripts import Step, Transcripts

__all__ = ["Comparison", "Step", "Transcripts", "Verdict", "compare", "replay"]
