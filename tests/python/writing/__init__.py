"""What is written: with and without weights, and how large it is."""
