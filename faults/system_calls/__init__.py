"""System calls that fail for processes which have done nothing wrong."""
