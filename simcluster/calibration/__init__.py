"""Recordings of real clusters in, parameters and honest errors out.

`record` writes down what a cluster does: any cluster, for it speaks the public APIs and knows no simulator.
`importing` brings what others recorded into the same format, `recording` reads it. `fitting` and `services` draw a
profile from it, `replaying` lets a simulated cluster live through it, and `reporting` says how far off that was.
`cloudopsbench` is the layout of a published data set: an incident can be written in it, and a recorded one lived
through.
"""
