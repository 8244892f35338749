"""Checkpoints of language models as folders for servers."""
