"""Brokers of messages as programs: topics, partitions, consumer groups, memory."""
