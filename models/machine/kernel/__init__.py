"""The kernel of one machine: tables and limits, the clock, injected failures, memory, and the files that show them."""
