"""The same thing told again with another value, where no slot knows it: "three Korean restaurants", later "four"."""
