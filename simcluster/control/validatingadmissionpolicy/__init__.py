"""The controller that reports on validating admission policies."""

from simcluster.control.validatingadmissionpolicy.controller import ValidatingAdmissionPolicyStatusController

__all__ = ["ValidatingAdmissionPolicyStatusController"]
