"""The resource quota controller: counts what a namespace uses."""

from simcluster.control.resourcequota.controller import ResourceQuotaController

__all__ = ["ResourceQuotaController"]
