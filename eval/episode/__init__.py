"""Episodes: a world, a task, a clock policy and a record of what was done."""

from simcluster.eval.episode.episode import Episode, Finished
from simcluster.eval.episode.replay import replay
from simcluster.eval.episode.report import Report
from simcluster.eval.episode.start import Starts, start
from simcluster.eval.worlds.healthy import NotAnIncident

__all__ = ["Episode", "Finished", "NotAnIncident", "Report", "Starts", "replay", "start"]
