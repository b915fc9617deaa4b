"""Short ways of the writes that a cluster makes most: the same bytes as the long way, at a fraction of its work."""
