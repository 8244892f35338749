"""Schemas of the output of commands."""
