"""What callers do beside remembering plain talk and asking about it."""
