"""What both controllers of endpoints need: the pods that a Service selects, and its ports."""
