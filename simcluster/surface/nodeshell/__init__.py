"""A root shell on a node, in process."""
