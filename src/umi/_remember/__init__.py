"""A message in: ingest (validate, make durable), outbox (what is not read yet), apply (write what was read)."""
