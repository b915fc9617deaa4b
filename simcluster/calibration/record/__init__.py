"""Writes down what a cluster does, over the APIs that every cluster has: objects, logs, series, traces, operations.

Nothing here knows the simulator. The format is described in docs/RECORDINGS.md; start at `recorder.Recorder`.
"""
