"""Weights that come from elsewhere than the program."""
