"""What happened on the way: a record every 5 s, and verifiers computed from the record alone."""

from simcluster.eval.trajectory.recorder import Recorder
from simcluster.eval.trajectory.verifiers import Verdict, verify

__all__ = ["Recorder", "Verdict", "verify"]
