"""Logs of a cluster: promtail, the agent on every node that tails files and the journal, and Loki, which keeps them."""
