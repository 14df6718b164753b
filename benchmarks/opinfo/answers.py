"""gradcheck's answer to a sample, held to torch's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from benchmarks.opinfo.database import Entry, Sample, flat
from gradcheck.autograd import Tensor, dtypes, grad
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import lookup
from gradcheck.engines.torch import Torch
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY
from gradcheck.language.expr.parser import parse

TORCH = Torch()
#: Relative to each element, and to the largest.
TOLERANCE = {
    "float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4, "float16": 4e-3, "complex32": 4e-3,
    "bfloat16": 3e-2,
}  # fmt: skip
#: What is no further from 0 than rounding leaves where everything cancels, relative to 1.
ROUNDING = 1e-3
#: Of entries whose results are theirs up to a choice, what depends on none: `{}` is the result.
INVARIANT: dict[str, tuple[str, ...]] = {
    "svd": ("{}[1]", "{}[0][..., :{}[1].shape[-1]] * {}[1].unsqueeze(-2) @ {}[2][..., :{}[1].shape[-1]].mH",
            "{}[0][..., :{}[1].shape[-1]].abs()", "{}[2][..., :{}[1].shape[-1]].abs()"),
    "linalg.svd": ("{}[1]", "{}[0][..., :{}[1].shape[-1]] * {}[1].unsqueeze(-2) @ {}[2][..., :{}[1].shape[-1], :]",
                   "{}[0][..., :{}[1].shape[-1]].abs()", "{}[2][..., :{}[1].shape[-1], :].abs()"),
    "linalg.eigh": ("{}[0]", "{}[1].abs()", "{}[1] * exp({}[0]).unsqueeze(-2) @ {}[1].mH"),
    "linalg.eig": ("{}[0]", "{}[1].abs()"),
}  # fmt: skip
#: Entries whose gradient in torch is that of what is always written before them, to that.
BEHIND = {"nn.functional.ctc_loss": ("x0", "log_softmax(x0, -1)")}


def verdict(entry: Entry, sample: Sample) -> str | None:
    """None where values and gradients agree; else what is wrong, its kind before a colon."""
    try:
        with using_default_dtype(np.dtype(np.float32)), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _verdict(entry, sample)
    except GradcheckError as error:
        known = lookup(entry.name) or lookup(entry.name.rpartition(".")[2])
        return f"{'refused' if known else 'unknown'}: {type(error).__name__}: {error}"
    except Exception as error:
        return f"crashed: {type(error).__name__}: {error}"


def _verdict(entry: Entry, sample: Sample) -> str | None:
    written, inside = BEHIND.get(entry.name, ("", ""))
    expr = parse(sample.text.replace(f"({written}, ", f"({inside}, ") if written else sample.text)
    mine = {name: _leaf(tensor) for name, tensor in sample.tensors.items()}
    ours = _parts(evaluate(expr, mine, NUMPY))
    if sample.processed and entry.name in INVARIANT:
        texts = [text.replace("{}", f"({sample.text})") for text in INVARIANT[entry.name]]
        ours = [evaluate(parse(text), mine, NUMPY) for text in texts]
        theirs = [evaluate(parse(text), sample.tensors, TORCH.host) for text in texts]
    else:
        theirs = flat(evaluate(expr, sample.tensors, TORCH.host) if written else sample.run())
    if len(ours) != len(theirs):
        return f"values: {len(ours)} instead of {len(theirs)}"
    taking_part = {str(tensor.dtype).removeprefix("torch.") for tensor in (*theirs, *sample.tensors.values())}
    tolerance = max(TOLERANCE.get(dtype, 0) for dtype in taking_part)
    for index, (got, want) in enumerate(zip(ours, theirs, strict=True)):
        problem = _different(_array(got), _array_of(want), tolerance)
        if problem:
            return f"values: {index}: {problem}"
    return _gradients(sample, mine, ours, theirs, tolerance)


def _gradients(
    sample: Sample, mine: dict[str, Any], ours: list[Any], theirs: list[torch.Tensor], tolerance: float
) -> str | None:
    stream = np.random.default_rng(0)
    roots = [index for index, want in enumerate(theirs) if want.requires_grad]
    if not roots:
        return None
    seeds = [_seed(_array_of(theirs[index]), stream) for index in roots]
    names = [name for name, tensor in sample.tensors.items() if tensor.requires_grad]
    want = torch.autograd.grad(
        [theirs[i] for i in roots], [sample.tensors[n] for n in names], [TORCH.leaf(s, False) for s in seeds],
        allow_unused=True,
    )  # fmt: skip
    pairs = [(ours[i], s) for i, s in zip(roots, seeds, strict=True) if getattr(ours[i], "requires_grad", False)]
    got: Any = [None] * len(names)
    if pairs:
        got = grad([o for o, _ in pairs], [mine[n] for n in names], [Tensor(s) for _, s in pairs])
    for name, g, w in zip(names, got, want, strict=True):
        shape = mine[name].data
        first = np.zeros_like(shape) if g is None else _array(g)
        second = np.zeros_like(shape) if w is None else _array_of(w)
        problem = _different(first, second, tolerance)
        if problem and not _is_torchs(sample, name, pairs, (first, second)):
            return f"gradients: of {name}: {problem}"
    return None


def _is_torchs(sample: Sample, name: str, pairs: list[Any], answers: tuple[np.ndarray, np.ndarray]) -> bool:
    """Whether it is torch's gradient that is wrong: central differences are much closer to the other."""
    point = {key: _array(_leaf(tensor)) for key, tensor in sample.tensors.items()}
    if point[name].dtype != np.float64 or len(pairs) != len(_parts(evaluate(parse(sample.text), point, NUMPY))):
        return False
    way = np.random.default_rng(1).uniform(0.5, 1.5, point[name].shape)
    step = 1e-5 * max(1.0, float(np.abs(point[name]).max(initial=0)))

    def total(sign: int) -> float:
        made = evaluate(parse(sample.text), {**point, name: point[name] + sign * step * way}, NUMPY)
        return sum(float(np.vdot(seed, part).real) for part, (_, seed) in zip(_parts(made), pairs, strict=True))

    slope = (total(1) - total(-1)) / (2 * step)
    mine, theirs = (abs(float(np.vdot(answer, way).real) - slope) for answer in answers)
    return mine < 0.1 * theirs and mine <= 1e-6 * (1 + abs(slope))


def _leaf(tensor: torch.Tensor) -> Tensor:
    made = Tensor.wrap(TORCH.array(tensor.detach().resolve_conj()).copy())
    made.requires_grad = tensor.requires_grad and dtypes.is_differentiable(made.dtype)
    return made


def _array_of(tensor: torch.Tensor) -> np.ndarray:
    """Its values; NumPy has no complex numbers of half precision."""
    plain = tensor.detach()
    return TORCH.array(plain.to(torch.complex64) if plain.dtype is torch.complex32 else plain)


def _parts(made: Any) -> list[Any]:
    if isinstance(made, (tuple, list)):
        return [t for part in made for t in _parts(part)]
    return [made]


def _array(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.data if isinstance(tensor, Tensor) else tensor)


def _seed(array: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    drawn: Any = stream.uniform(0.5, 1.5, array.shape) * stream.choice([-1, 1], array.shape)
    if array.dtype.kind == "c":
        drawn = drawn + 1j * stream.uniform(-1, 1, array.shape)
    return np.asarray(drawn).astype(array.dtype)


def _different(got: np.ndarray, want: np.ndarray, tolerance: float) -> str | None:
    if got.shape != want.shape:
        return f"shape {list(got.shape)} instead of {list(want.shape)}"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype} instead of {want.dtype}"
    if not got.size:
        return None
    with np.errstate(all="ignore"):
        g, w = (a.astype(np.complex128 if a.dtype.kind == "c" else np.float64) for a in (got, want))
        finite = np.isfinite(w)
        largest = np.abs(w[finite]).max() if finite.any() else 0.0
        near = (np.abs(g - w) <= tolerance * (np.abs(w) + largest + ROUNDING)) | (g == w) | (np.isnan(g) & np.isnan(w))
    if near.all():
        return None
    place = tuple(int(i) for i in np.argwhere(~near)[0]) if got.ndim else ()
    return f"{got[place]} instead of {want[place]} at {list(place)}, {int((~near).sum())} of {got.size}"
