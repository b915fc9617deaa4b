"""The EndpointSlice mirroring controller: slices for hand-made Endpoints."""

from simcluster.control.endpointslicemirroring.controller import EndpointSliceMirroringController

__all__ = ["EndpointSliceMirroringController"]
