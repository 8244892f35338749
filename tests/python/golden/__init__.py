"""Archives that other versions of torch wrote."""
