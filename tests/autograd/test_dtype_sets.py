"""Every engine rejects dtypes without a torch kernel, in equal words."""

from __future__ import annotations

from gradcheck.autograd.dtypes import BY_NAME
from gradcheck.autograd.op import whole_table
from gradcheck.checks.scheduling.run import run
from tests.from_text import case_of

#: Ops, in families that load when they are asked for among them, that torch cannot compute in half precision.
CALLS = [
    *(
        "fft.rfft(x).abs()",
        "fft.fft(x).real",
        "fft.irfftn(x)",
        "special.i1(x[0])",
        "special.i1e(x)",
        "special.ndtri(x)",
    ),
    *("special.erfcx(x)", "special.log_ndtr(x)", "linalg.qr(x)[1]", "linalg.eigvalsh(x)", "linalg.svd(x)[1]"),
    *("linalg.eigh(x)[0]", "linalg.cond(x)", "linalg.vander(x)", "quantile(x, 0.3)", "pdist(x)", "lu_solve(x, x, x)"),
    *("linalg.lstsq(x, x)[0]", "multi_margin_loss(x, tensor([0, 1]))", "cholesky_inverse(x)", "orgqr(x, x[0])"),
]


def test_half_precision_that_torch_has_no_kernel_for_is_refused_by_all() -> None:
    asked = [
        case_of(f"name: {call}\ndtype: {dtype}\ninputs: {{x: [[1.5, 0.5], [0.5, 2.0]]}}\ngraph:\n  y: {call}\n")
        for call in CALLS
        for dtype in ("float16", "bfloat16")
    ]
    found = run(asked).cases
    kinds = {one.name: [error.kind for error in one.errors] for one in found}
    assert {name: kind for name, kind in kinds.items() if kind != ["dtype_mismatch"]} == {}
    apart = [c for one in found for c in one.comparisons if c.status == "failed" and c.reference == "torch"]
    assert apart == []


def test_records_restrict_parameters_that_the_op_has() -> None:
    for entry in whole_table().values():
        assert entry.dtypes.keys() <= {parameter.name for parameter in entry.parameters}, entry.name
        assert all(taken.names < BY_NAME.keys() for taken in entry.dtypes.values()), entry.name
