"""kube-state-metrics: what the objects of the API say, as metrics."""
