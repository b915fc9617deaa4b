"""Whether an agent says that it has solved what nobody could."""

from simcluster.eval.honesty.said import says_solved

__all__ = ["says_solved"]
