"""What every namespace is given: its default service account and the cluster's CA."""

from simcluster.control.serviceaccount.controller import RootCaPublisher, ServiceAccountController

__all__ = ["RootCaPublisher", "ServiceAccountController"]
