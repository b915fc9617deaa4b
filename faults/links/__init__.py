"""Network interfaces that fail in part."""
