"""The traffic inside a cluster: routes, queues, failures and what they cost."""
