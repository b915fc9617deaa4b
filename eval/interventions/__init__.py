"""Whether a claim names a cause: the incident without it, and the broken world with only that set right."""

from simcluster.eval.interventions.court import Court, proved
from simcluster.eval.interventions.grade import diagnosed
from simcluster.eval.interventions.worlds import Paged

__all__ = ["Court", "Paged", "diagnosed", "proved"]
