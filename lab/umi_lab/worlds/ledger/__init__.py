"""Small worlds with an exact oracle: a ledger of messages, statements and relations that is kept beside the product and compared with it."""
