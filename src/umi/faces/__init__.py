"""Ways to reach Umi from outside Python."""
