"""Generated programs: each agrees with eager at every size in its stated range, or is refused.

`python -m tests.python.generated 1234` tries one seed and shrinks its failure; `--count 300` prints
a table.
"""
