"""Functions for tests: each fails with gradcheck's report.

cases     `check_cases`, `check_engine`
function  `check_function`: a function with its own backward, compared with a specification
jacobian  `check_jacobian`: a function with its own Jacobian, compared with differences
over      `over`: pytest's parametrization over dtypes and sizes
moving    `gradcheck` and `gradgradcheck`, called as those of `torch.autograd`
"""

from gradcheck.testing.case_checks import check_cases, check_engine
from gradcheck.testing.function_check import check_function, over
from gradcheck.testing.jacobian_check import check_jacobian
from gradcheck.testing.torch_signature import gradcheck, gradgradcheck

__all__ = ["check_cases", "check_engine", "check_function", "check_jacobian", "gradcheck", "gradgradcheck", "over"]
