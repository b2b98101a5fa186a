"""What the public interface refuses, and what lies just inside each border."""
