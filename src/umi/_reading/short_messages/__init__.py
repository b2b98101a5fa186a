"""The reader of short messages: finds what a message names, and classifies what it does with which fact (ADR 0013)."""
