"""Cluster DNS: names of Services, and CoreDNS, which answers for them."""

from simcluster.control.clusterdns.coredns import CoreDns
from simcluster.control.clusterdns.zone import ClusterDns

__all__ = ["ClusterDns", "CoreDns"]
