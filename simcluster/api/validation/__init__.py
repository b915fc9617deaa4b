"""What the API server refuses, with its own words.

Each function returns causes in the order of the server's own validation; no causes means
accepted. Expects objects that are decoded and defaulted. Texts follow
k8s.io/apimachinery/pkg/util/validation and pkg/apis/*/validation of Kubernetes 1.32.
"""

from simcluster.api.validation.validate import validate_create, validate_status_update, validate_update

__all__ = ["validate_create", "validate_status_update", "validate_update"]
