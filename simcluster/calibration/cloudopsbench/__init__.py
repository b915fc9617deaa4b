"""The layout of Cloud-OpsBench: what ten diagnostic tools print of a cluster at an instant.

`case` reads a recorded case, `scene` lets a simulated cluster live through the same, `snapshot` writes a case.
"""
