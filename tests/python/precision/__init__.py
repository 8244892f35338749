"""Tests of the types in which weights are stored."""
