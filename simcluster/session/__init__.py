"""Sessions: everything between an outside hand and a world. Knows no task, fault, truth or oracle.

Start at `inbox.Inbox.submit`: whatever comes from outside comes through it.
"""

from simcluster.session.sandbox import Sandbox, sandbox

__all__ = ["Sandbox", "sandbox"]
