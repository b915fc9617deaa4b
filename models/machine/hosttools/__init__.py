"""Programs of a node's host, one file for each family."""

from simcluster.models.machine.hosttools.table import TOOLS as PROGRAMS
from simcluster.models.machine.hosttools.table import run_on_host

__all__ = ["PROGRAMS", "run_on_host"]
