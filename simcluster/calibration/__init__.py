"""Recordings of real clusters in, parameters and honest errors out.

`record` writes down what a cluster does: any cluster, for it speaks the public APIs and knows no simulator.
"""
