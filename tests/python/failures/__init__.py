"""The page of the most frequent failures, and what its messages suggest."""
