"""What the API server fills into an object that leaves fields out.

`apply` is the versioned defaulting (k8s.io/kubernetes pkg/apis/*/v1/defaults.go) together
with the empty structs that Go's encoder always prints. `prepare_for_create` and
`prepare_for_update` are what the registry strategies set: fresh status, a Job's selector.
"""

from simcluster.api.defaults.apply import apply
from simcluster.api.defaults.strategy import pod_qos_class, prepare_for_create, prepare_for_update

__all__ = ["apply", "pod_qos_class", "prepare_for_create", "prepare_for_update"]
