"""Images that cannot be pulled."""
