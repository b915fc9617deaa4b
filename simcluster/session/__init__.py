"""Sessions: everything between an outside hand and a world. Knows no task, fault, truth or oracle."""

from simcluster.session.sandbox import Sandbox, sandbox

__all__ = ["Sandbox", "sandbox"]
