"""Tables of a node's kernel that are too small."""
