"""What Umi does: extract, evolve, remember, retrieve, maintain."""
