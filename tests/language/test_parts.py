"""Names of tensors and of their parts."""

import pytest

from gradcheck.language.parts import part_of, split_name, with_part


def test_a_name_is_an_entry_and_indices() -> None:
    assert split_name("m") == ("m", ())
    assert split_name("m[0]") == ("m", (0,))
    assert split_name("m[10][2]") == ("m", (10, 2))


def test_parts_are_found() -> None:
    values = {"m": ("a", ("b", "c")), "x": "d"}
    assert part_of(values, "x") == "d"
    assert part_of(values, "m[0]") == "a"
    assert part_of(values, "m[1][1]") == "c"
    for missing in ("y", "m[2]", "x[0]", "m[0][0]"):
        with pytest.raises(LookupError):
            part_of(values, missing)


def test_one_part_is_replaced() -> None:
    assert with_part("a", (), "b") == "b"
    assert with_part(("a", "b"), (1,), "c") == ("a", "c")
    assert with_part(("a", ("b", "c")), (1, 0), "d") == ("a", ("d", "c"))
    for whole, indices in (("a", (0,)), (("a",), (1,))):
        with pytest.raises(LookupError):
            with_part(whole, indices, "b")
