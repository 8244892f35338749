"""What is left of an output when writing it is disturbed.

`python -m tests.python.faults` runs every scenario often; `test_writing.py` runs each a few times.
"""
