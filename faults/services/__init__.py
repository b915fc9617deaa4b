"""Services that lead nowhere."""
