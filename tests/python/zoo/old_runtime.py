"""Run a model in an old ONNX Runtime: `python old_runtime.py MODEL INPUTS OUTPUTS`, files of numpy.

It needs nothing but numpy and onnxruntime, and Python 3.6. Inputs and outputs are named by the case
and their names or numbers, as `0/x`.
"""

import sys

import numpy
import onnxruntime


def main(model, inputs, outputs):
    """Write the outputs of every case."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options)
    given = numpy.load(inputs)
    results = {}
    for case in range(int(given["cases"])):
        feeds = {entry.name: given[f"{case}/{entry.name}"] for entry in session.get_inputs()}
        for index, result in enumerate(session.run(None, feeds)):
            results[f"{case}/{index}"] = result
    numpy.savez(outputs, **results)


if __name__ == "__main__":
    # Old releases read names of types that numpy has dropped.
    for name in ("bool", "object", "int", "float"):
        if not hasattr(numpy, name):
            setattr(numpy, name, {"bool": bool, "object": object, "int": int, "float": float}[name])
    main(*sys.argv[1:])
