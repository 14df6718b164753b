"""Cases that are begun together, a few at a time, which takes half the time of one after another (`in_steps`).

What comes of a case is the same. Only those are begun that ask the core and torch alone, about small tensors, have no
limit to their time and bring no code; what goes wrong meanwhile goes wrong again when the case has its turn, and is
told then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.checks.in_steps import Beginning, Finish, begin
from gradcheck.checks.limits import limit_of
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.pipeline import Begun
from gradcheck.engines.base import Engine
from gradcheck.language.case import Case, Work
from gradcheck.language.evaluation.evaluate import program
from gradcheck.language.expr.nodes import Call

#: So many cases are begun together.
MOST = 512
#: Engines whose answers depend on nothing but the problem, by module and name: what is made of them may do more.
_PLAIN = frozenset({("gradcheck.engines.core", "Core"), ("gradcheck.engines.torch", "Torch")})


def begun_together(
    work: Sequence[Work],
    options: Options,
    engines: Engines,
    finish: Finish | None = None,
    may_begin: Callable[[Case], bool] = lambda case: True,
) -> Iterator[tuple[Work, Begun | None]]:
    """Each item that `may_begin` with what is begun of it, if anything is. Where hardly anything is left to do,
    `finish` does it. Raises KeyboardInterrupt after what had finished."""
    rest = iter(work)
    limited = bool(options.overridden("memory"))
    while items := list(islice(rest, MOST)):
        chosen = ((at, item) for at, item in enumerate(items) if isinstance(item, Case) and may_begin(item))
        found = {} if limited else dict(_beginnings(chosen, options, engines))
        stopped: KeyboardInterrupt | None = None
        try:
            if len(found) > 1:
                for dtype in dict.fromkeys(one.dtype for one in found.values()):
                    begin([one for one in found.values() if one.dtype == dtype], dtype, finish)
        except KeyboardInterrupt as interrupt:
            stopped = interrupt
        pairs = deque((item, found[at].begun if at in found else None) for at, item in enumerate(items))
        found.clear()
        while pairs:
            item, begun = pairs.popleft()
            if stopped is not None and (begun is None or begun.result is None):
                raise stopped
            yield item, begun
        if stopped is not None:
            raise stopped


def _beginnings(
    items: Iterable[tuple[int, Case]], options: Options, engines: Engines
) -> Iterator[tuple[int, Beginning]]:
    """Those that can be begun, by their places."""
    known: dict[tuple[int, tuple[str, ...]], tuple[bool, Options]] = {}  # which are kept, so that no others have the id
    for at, item in items:
        if item.skip is None and not item.implementations:
            chosen = options.of(item)
            theirs = engines.of(chosen)
            key = (id(chosen), item.only)
            if key not in known:
                known[key] = _are_plain(theirs.only(item.only), theirs, chosen), chosen
            if known[key][0] and not any(_draws(claim.expr) for claim in item.graph.values()):
                dtype = dtypes.real_of(dtypes.BY_NAME[chosen.apply(item).dtype])
                yield at, Beginning(item, chosen, theirs, dtype)


def _are_plain(asked: Engines, theirs: Engines, options: Options) -> bool:
    """Whether there are engines to ask, plain ones, and no limit to the time that all of them take."""
    plain = all(map(_is_plain, asked.all)) and limit_of(options.timeout, theirs.tested) is None
    return plain and bool(asked.tested)


def _is_plain(engine: Engine) -> bool:
    kind = type(engine)
    return (kind.__module__, kind.__name__) in _PLAIN and getattr(engine, "device", None) is None


def _draws(expr: object) -> bool:
    """Whether an expression draws numbers."""
    return any(_is_random(what.op) for kind, what, _ in program(expr) if kind is Call)  # type: ignore[arg-type]


@cache
def _is_random(op: Op) -> bool:
    return any(parameter.name == "generator" for parameter in op.parameters)
