"""A root shell on a node, in process: systemctl, journalctl, text filters and the host's own programs."""

from simcluster.surface.nodeshell.shell import NodeShell

__all__ = ["NodeShell"]
