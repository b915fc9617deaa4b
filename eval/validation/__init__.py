"""Validation of the traffic models against theory and published experiments: `simcluster validate`."""

from simcluster.eval.validation.finding import Finding
from simcluster.eval.validation.run import ROWS, Row, validate

__all__ = ["ROWS", "Finding", "Row", "validate"]
