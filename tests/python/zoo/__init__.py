"""Some 230 architectures of transformers, timm and torchvision, small and with random weights.

Too many for every run; after a change of lowerings or of the optimiser:

    python -m pytest tests/python/zoo/check.py        # an hour or two; -k hf_ or the like for less
    python -m pytest tests/python/zoo/check_families.py
"""
