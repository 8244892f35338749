"""Faults that are seeded into models, and the commands that find them."""
