"""The search index of one namespace, in RAM, derived from committed rows. Used by both stores."""
