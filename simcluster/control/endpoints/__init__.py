"""The Endpoints controller, and what it shares with the EndpointSlice controller."""

from simcluster.control.endpoints.controller import EndpointsController

__all__ = ["EndpointsController"]
