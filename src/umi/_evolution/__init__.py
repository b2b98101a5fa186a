"""What a new statement does to older ones, the relations that record it, and the states that follow from them."""
