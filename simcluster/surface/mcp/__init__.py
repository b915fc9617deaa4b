"""The Model Context Protocol: the tools of an on-call agent over one session."""
