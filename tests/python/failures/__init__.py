"""The page of the most frequent failures, and the suggestions of its messages."""
