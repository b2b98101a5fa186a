"""The path of a message: `ingest` takes it in, `apply` holds both transactions, `outbox` embeds and reads what is stored."""
