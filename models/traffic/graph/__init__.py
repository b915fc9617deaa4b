"""The language of call graphs: services, operations, calls, load and events, read from one YAML file.

Both traffic engines read it: `models.traffic.exact` gives every request its own events,
`models.traffic.aggregate` counts requests per tick. What a run of either shows is a
`graph.result.Result`.
"""

from simcluster.models.traffic.graph.result import Result
from simcluster.models.traffic.graph.spec import GraphSpec, load_spec, spec_of

__all__ = ["GraphSpec", "Result", "load_spec", "spec_of"]
