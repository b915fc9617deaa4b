"""Payments: eight small services, sized so that a cluster of four workers runs 78 pods."""
