"""What every other room stands on: text to terms, vectors, scores, validation, time, and the guard around a user's own parts."""
