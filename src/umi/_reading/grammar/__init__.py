"""Reading statements without a model: pure functions, no clock, no I/O."""
