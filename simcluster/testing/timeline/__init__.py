"""Replays a time-stamped recording of a real cluster over many seeds and compares the instants.

Start at `compare.compare`; on the command line `python -m simcluster.testing.timeline DIR`.
"""

from simcluster.testing.timeline.compare import Report, Verdict, compare
from simcluster.testing.timeline.instants import Instant, instants_of
from simcluster.testing.timeline.recording import Recording, read_recording
from simcluster.testing.timeline.stage import play

__all__ = ["Instant", "Recording", "Report", "Verdict", "compare", "instants_of", "play", "read_recording"]
