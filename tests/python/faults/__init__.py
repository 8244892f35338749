"""The files of an output after its writing was disturbed.

`python -m tests.python.faults` runs every scenario often; `test_writing.py` runs each a few times.
"""
