"""Availability of the APIs that others than the API server serve."""

from simcluster.control.apiservices.availability import ApiServiceAvailability

__all__ = ["ApiServiceAvailability"]
