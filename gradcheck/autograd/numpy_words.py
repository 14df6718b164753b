"""What NumPy says of a call that it cannot do, in the words of the case language."""

from __future__ import annotations

import re

#: NumPy's sentences, and what each means.
_MEANINGS = (
    (r"Singular matrix", "the matrix is singular"),
    (r"Matrix is not positive definite", "the matrix is not positive definite"),
    (r"(\w+) did not converge", r"the search for \1 does not converge"),
    (
        r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)",
        r"index \1 is beyond dimension \2, which has a size of \3",
    ),
    (r"index (-?\d+) is out of bounds for size (\d+)", r"index \1 is beyond \2 elements"),
    (
        r"too many indices for array: array is (\d+)-dimensional, but (\d+) were indexed",
        r"\2 indices for a tensor with \1 dimensions",
    ),
    (
        r"boolean index did not match indexed array along (?:axis|dimension) (\d+);"
        r" (?:size of axis|dimension) is (\d+) but (?:size of )?.* is (\d+)",
        r"a mask of \3 along dimension \1, which has a size of \2",
    ),
    (
        r"shape mismatch: indexing arrays could not be broadcast together with shapes (.*)",
        r"indices of shapes \1 do not broadcast",
    ),
    (r"The truth value of an array with more than one element .*", "one number is wanted, not a tensor of several"),
    (r"only (?:integer scalar|0-dimensional) arrays can be converted to .*", "a number is wanted, not a tensor"),
    (r"cannot reshape array of size (\d+) into shape (.*)", r"\1 elements do not fill the shape \2"),
    (r"operands could not be broadcast together with shapes (.*)", r"shapes \1 do not broadcast"),
    (r"'(\w+)' object is not iterable|iteration over a 0-d array", "several values are wanted, not one"),
    (r"data type (.*) not understood", r"\1 is no dtype"),
    (r"must be real number, not (\w+)", r"a real number is wanted, not a \1"),
)


def in_our_words(text: str) -> str:
    """The same, said as the rest is; what is not known stays."""
    for pattern, meaning in _MEANINGS:
        found = re.fullmatch(pattern, text.strip())
        if found:
            return found.expand(meaning)
    return text
