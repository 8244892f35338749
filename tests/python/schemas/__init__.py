"""Schemas of what commands print."""
