"""NetworkPolicies, as a CNI plugin that enforces them programs the nodes."""

from simcluster.control.networkpolicy.agent import NetworkPolicyAgent

__all__ = ["NetworkPolicyAgent"]
