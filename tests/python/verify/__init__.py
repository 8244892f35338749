"""Verifying models: where expected values come from."""
