"""What a model is shown, and what is made of every form of its answers."""
