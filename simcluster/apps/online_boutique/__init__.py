"""Online Boutique: eleven services of a web shop."""
