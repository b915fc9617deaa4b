"""What every namespace is given: its default service account and the cluster's CA; tokens in Secrets."""

from simcluster.control.serviceaccount.cleaner import LegacyTokenCleaner, track_use
from simcluster.control.serviceaccount.controller import RootCaPublisher, ServiceAccountController
from simcluster.control.serviceaccount.tokens import TokenController

__all__ = ["LegacyTokenCleaner", "RootCaPublisher", "ServiceAccountController", "TokenController", "track_use"]
