"""What `umi bench` runs."""
