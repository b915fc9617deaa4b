"""Cluster DNS: names of Services, as CoreDNS' kubernetes plugin serves them."""

from simcluster.control.clusterdns.zone import ClusterDns

__all__ = ["ClusterDns"]
