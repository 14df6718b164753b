"""The errors that gradcheck raises, each with a place and a hint if known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position in a case file; lines and columns count from 1."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Hint(str):
    """A hint with an edit: the text at `place`, and its replacement."""

    old: str
    new: str
    place: Place | None

    def __new__(cls, text: str = "", old: str = "", new: str = "", place: Place | None = None) -> Hint:
        made = super().__new__(cls, text)
        made.old, made.new, made.place = old, new, place
        return made


def exception_text(error: BaseException) -> str:
    """Return an exception's text, stripped; empty if its `__str__` raises."""
    try:
        return str(error).strip()
    except (Exception, SystemExit, GeneratorExit, KeyboardInterrupt):
        return ""


class GradcheckError(Exception):
    """The base class of gradcheck's errors."""

    kind = "error"
    lacks = ""  # the missing feature, if an engine cannot express a case

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class InvalidCase(GradcheckError):
    """A case file, or one key of it, that is not valid."""

    kind = "invalid"
    needs_graph_values = False  # whether the graph's values are needed; the case then fails

    def __init__(self, message: str, *, place: Place | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.place = place or Place()

    def __str__(self) -> str:
        text = super().__str__()
        return f"{self.place}: {text}" if str(self.place) else text


class CodeNotAllowed(InvalidCase):
    """A case that needs user code, in a run that does not allow any."""

    kind = "code_not_allowed"


class UsageError(GradcheckError):
    """An invalid command line, configuration or call."""

    kind = "usage"


class Unsupported(GradcheckError):
    """An engine cannot express a case; `lacks` is the missing op or feature."""

    kind = "unsupported"

    def __init__(self, message: str, *, hint: str = "", lacks: str = "") -> None:
        super().__init__(message, hint=hint)
        self.lacks = lacks


class TensorError(GradcheckError):
    """An error of an engine's computation; `kind` is its name in the contract."""

    code: Place | None = None  # the line of the engine's own file that raised it
    is_own_message = True  # in gradcheck's words, not the library's
    library_would_continue = False  # whether the contract requires it though the library would continue


class ArgumentError(TensorError, TypeError):
    """An op was called with arguments that its signature does not allow."""

    kind = "bad_argument"


class NonScalarBackward(TensorError):
    """`backward()` without a gradient, from a tensor of more than one element."""

    kind = "non_scalar_backward"


class NoGradRequired(TensorError):
    """`backward()` from a tensor that requires no gradient."""

    kind = "no_grad_required"


class BackwardTwice(TensorError):
    """A second backward pass through a graph whose saved values are freed."""

    kind = "backward_twice"


class ShapeMismatch(TensorError, ValueError):
    """Shapes that do not go together."""

    kind = "shape_mismatch"


class DtypeMismatch(TensorError, TypeError):
    """Dtypes that do not go together, or that an op does not take."""

    kind = "dtype_mismatch"


class IndexOutOfRange(TensorError, IndexError):
    """An index, or a dimension, beyond the end."""

    kind = "index_out_of_range"


class DomainError(TensorError, ValueError):
    """A value outside an op's domain, such as a singular matrix."""

    kind = "domain_error"


class TooLarge(TensorError, ValueError):
    """A tensor, or a number, beyond the budget that protects the machine."""

    kind = "too_large"
    #: For a tensor: the op that would make it, and its number of elements.
    op = ""
    elements = 0
