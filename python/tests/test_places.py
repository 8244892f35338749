"""Lines of the user's code, and of libraries that it calls."""

from __future__ import annotations

import importlib.util

from onnxport._export import places


def test_a_wrapped_library_has_its_own_line(tmp_path):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "lib.py").write_text(
        "def helper():\n    raise ValueError\ndef call():\n    helper()\n"
    )
    spec = importlib.util.spec_from_file_location("lib", folder / "lib.py")
    library = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(library)

    def caught(call):
        try:
            call()
        except ValueError as error:
            return error
        return None

    def user():
        raise ValueError

    error = caught(library.call)
    assert places.of_error(error)["file"] == __file__
    (note,) = places.within_library(error)
    assert note == f"in the library that it calls: {folder / 'lib.py'}:2: raise ValueError"
    assert places.within_library(caught(user)) == ()
    assert places.within_library(None) == ()
