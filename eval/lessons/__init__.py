"""Lessons: a failure mode as a prediction, a run, a picture and an explanation from the run's own numbers."""

from simcluster.eval.lessons.lesson import Lesson, ids, load
from simcluster.eval.lessons.taught import Taught, teach

__all__ = ["Lesson", "Taught", "ids", "load", "teach"]
