"""One file for each command; each defines `command`."""
