"""Exemplar requests: a few of the users' requests, followed one by one through the traffic as it goes on."""
