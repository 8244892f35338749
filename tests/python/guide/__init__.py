"""The guides, as readers follow them."""
