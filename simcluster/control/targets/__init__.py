"""Programs that a monitoring system reaches: what is discovered of them, and how a request gets there."""
