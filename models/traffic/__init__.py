"""Traffic: call graphs, users, queues, timeouts and what they cost."""
