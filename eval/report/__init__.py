"""What an evaluation found, for people and for programs."""

from simcluster.eval.report.scoreboard import scoreboard
from simcluster.eval.report.summary import evaluation_object, summarize

__all__ = ["evaluation_object", "scoreboard", "summarize"]
