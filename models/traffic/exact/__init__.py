"""The exact engine: every request is an object with its own events.

`ExactRun(spec, seed).run()` gives the `Result` of one run. It is the reference against which
the `aggregate` engine is validated, and slow in proportion to the number of attempts.
"""

from simcluster.models.traffic.exact.run import ExactRun

__all__ = ["ExactRun"]
