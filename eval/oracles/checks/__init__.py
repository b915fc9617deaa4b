"""The checks by which tasks say when an incident is over, by what they look at."""
