"""The Endpoints controller."""

from simcluster.control.endpoints.controller import EndpointsController

__all__ = ["EndpointsController"]
