"""ingress-nginx: a controller that watches Ingresses, and the nginx that it configures, in one process."""

from simcluster.control.ingress.controller import IngressController

__all__ = ["IngressController"]
