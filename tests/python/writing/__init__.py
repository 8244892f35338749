"""Written files: with and without weights, and their sizes."""
