"""What code writes past Python."""

from __future__ import annotations

import os
from typing import Any

from gradcheck.engines.implementation.stdout_capture import capture_stdout
from gradcheck.engines.tensor_class.user_code_guard import Output


def test_what_is_written_to_the_descriptor_is_kept_with_the_rest(capfd: Any) -> None:
    output = Output()
    for word in ("first", "second"):
        with capture_stdout(output):
            print("python")
            os.write(1, f"{word} kernel\n".encode())
        assert output.take() == f"python\n{word} kernel\n"
    print("ours")
    assert capfd.readouterr().out == "ours\n"


def test_each_within_another(capfd: Any) -> None:
    outer, inner = Output(), Output()
    with capture_stdout(outer):
        os.write(1, b"a")
        with capture_stdout(inner):
            os.write(1, b"b")
        os.write(1, b"c")
    assert (outer.take(), inner.take(), capfd.readouterr().out) == ("ac", "b", "")
