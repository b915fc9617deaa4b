"""What the API server fills into an object that leaves fields out.

`apply` is the versioned defaulting (k8s.io/kubernetes pkg/apis/*/v1/defaults.go) together
with the empty structs that Go's encoder always prints.
"""

from simcluster.api.defaults.apply import apply
from simcluster.api.defaults.strategy import count_template_generation, generate_job_selector

__all__ = ["apply", "count_template_generation", "generate_job_selector"]
