"""PromQL as Prometheus 3.x evaluates it, its HTTP API, its rules, and the alerts that come of them.

Nothing here knows a world: samples are read through `storage.Queryable`, instants are handed in.
"""
