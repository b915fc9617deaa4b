"""The EndpointSlice controller."""

from simcluster.control.endpointslice.controller import EndpointSliceController

__all__ = ["EndpointSliceController"]
