"""Programs that torchao quantised."""
