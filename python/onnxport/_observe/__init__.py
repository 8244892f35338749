"""Watching a model being called, to learn which dimensions of its inputs are dynamic."""

from onnxport._observe.observer import Observer, observe

__all__ = ["Observer", "observe"]
