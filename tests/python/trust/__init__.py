"""Faults that are seeded into models, and what finds them."""
