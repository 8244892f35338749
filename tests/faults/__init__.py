"""Faults that the program must survive."""
