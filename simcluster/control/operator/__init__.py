"""Operators: controllers that an application brings along and that run in pods of the cluster."""

from simcluster.control.operator.failure import ReconcileError, Requeue
from simcluster.control.operator.operator import Operator
from simcluster.control.operator.program import OperatorProgram
from simcluster.control.operator.registry import Operators

__all__ = ["Operator", "OperatorProgram", "Operators", "ReconcileError", "Requeue"]
