"""The attach/detach controller, and which volumes it is about."""

from simcluster.control.attachdetach.controller import AttachDetachController

__all__ = ["AttachDetachController"]
