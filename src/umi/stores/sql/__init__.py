"""What the stores on SQL databases share: the statements, the conversion of rows, and the search indexes of a process."""
