"""The REST paths, by what they do."""
