"""The mechanisms of noise, one module each."""
