"""What an operator leaves behind: how a cluster at rest differs from its healthy twin."""

from simcluster.eval.residue.residue import Residue, Trace, residue

__all__ = ["Residue", "Trace", "residue"]
