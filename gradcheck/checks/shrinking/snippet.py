"""A small case as a few lines of Python that need a Tensor class and NumPy alone."""

from __future__ import annotations

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.result import ClaimKind, Comparison
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.engines.tensor_class.source_code import source_code
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.sampling import draw


def snippet(case: Case, engine: TensorClassEngine, lead: Comparison | None) -> str:
    """The case in the class's own words, with the gradient that the lead is about; empty where it takes more than
    constructors, calls and backward passes."""
    wanted = None
    if lead is not None and lead.what is ClaimKind.GRADIENT and lead.want_array is not None:
        wanted = lead.tensor, lead.want_array
    try:
        with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), quiet():
            return source_code(engine, draw(case), wanted)
    except (GradcheckError, KeyError):
        return ""
