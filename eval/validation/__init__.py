"""Validation of the traffic models against theory and published experiments: `simcluster validate`."""

from simcluster.eval.validation.finding import Finding
from simcluster.eval.validation.row import Row
from simcluster.eval.validation.run import ROWS, Measured, validate

__all__ = ["ROWS", "Finding", "Measured", "Row", "validate"]
