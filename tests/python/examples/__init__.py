"""Tests of the examples, as their users run them."""
