"""Who may do what: RBAC, the node authorizer, impersonation, and the roles a cluster starts with.

Without an authorizer (the state of a new `Api`) everything is allowed, which is what
`--authorization-mode=AlwaysAllow`, kube-apiserver's own default, does.
"""

from simcluster.api.authorization.authorizer import Authorizer
from simcluster.api.authorization.question import Decision, Question

__all__ = ["Authorizer", "Decision", "Question"]
