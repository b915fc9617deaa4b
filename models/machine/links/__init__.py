"""NICs and the links between them: bandwidth, delay, jitter, loss, partitions, shaping, and what TCP makes of them."""
