"""Every place of a case file where a value can stand; the values are the fuzzer's."""

from __future__ import annotations

from benchmarks.fuzz.values import VALUES

__all__ = ["PLACES", "VALUES", "text_of"]

_CASE = "inputs: {x: [1, 2]}\ngraph: {y: x * x, loss: y.sum()}\n"
_SIZED = f"{_CASE}shapes: {{x: [n]}}\nformulas: {{x: 2 * x}}\n"
_CODE = f"{_CASE}implementations: "
_KEYS = (
    *("name", "description", "source", "tags", "dtype", "seed", "dims", "constants", "values", "expected"),
    *("formulas", "wrong_formulas", "jacobians", "hessians", "let", "checks", "shapes", "generalize"),
    *("implementations", "tolerance", "only", "skip", "xfail", "backward", "steps", "unknown"),
)
#: Case files with `@` in the place of a value.
PLACES = {
    "document": "@\n",
    "item of a document": "- @\n- 1\n",
    "inputs": "inputs: @\ngraph: {y: x}\n",
    "graph": "inputs: {x: [1, 2]}\ngraph: @\n",
    **{key: f"{_CASE}{key}: @\n" for key in _KEYS},
    "dims.n": "dims: {n: @}\ninputs: {x: 'randn(n)'}\ngraph: {y: x * x, loss: y.sum()}\n",
    "inputs.x": "inputs: {x: @}\ngraph: {y: x * x, loss: y.sum()}\n",
    "inputs.x[0]": "inputs: {x: [@, 1]}\ngraph: {y: x * x, loss: y.sum()}\n",
    "inputs.x[0], a line": "inputs:\n  x:\n    - @\n    - 1\ngraph: {y: x * x, loss: y.sum()}\n",
    "inputs.x.values": "inputs: {x: {values: @}}\ngraph: {y: x * x, loss: y.sum()}\n",
    "inputs.x.shape": "inputs: {x: {values: [1, 2], shape: @}}\ngraph: {y: x * x, loss: y.sum()}\n",
    "inputs.x.shape[0]": "inputs: {x: {values: [1, 2], shape: [@]}}\ngraph: {y: x * x, loss: y.sum()}\n",
    "inputs.x.dtype": "inputs: {x: {values: [1, 2], dtype: @}}\ngraph: {y: x * x, loss: y.sum()}\n",
    "size of randn": "inputs: {x: 'randn(@)'}\ngraph: {y: x * x, loss: y.sum()}\n",
    "low bound": "inputs: {x: 'uniform(@, 1, [2])'}\ngraph: {y: x * x, loss: y.sum()}\n",
    "high bound": "inputs: {x: 'uniform(0, @, [2])'}\ngraph: {y: x * x, loss: y.sum()}\n",
    "bound of randint": "inputs: {x: [1, 2]}\nconstants: {i: 'randint(0, @, [2])'}\ngraph: {y: (x * i).sum()}\n",
    "constants.c": "inputs: {x: [1, 2]}\nconstants: {c: @}\ngraph: {y: x * c, loss: y.sum()}\n",
    "constants.c[0]": f"{_CASE}constants: {{c: [@, 1]}}\n",
    "graph.z": "inputs: {x: [1, 2]}\ngraph: {z: @, loss: x.sum()}\n",
    "exponent": "inputs: {x: [1, 2]}\ngraph: {z: x ** (@), loss: z.sum()}\n",
    "factor": "inputs: {x: [1, 2]}\ngraph: {loss: (x * @).sum()}\n",
    "index": "inputs: {x: [1, 2]}\ngraph: {loss: 'x[@].sum()'}\n",
    "end of a slice": "inputs: {x: [1, 2]}\ngraph: {loss: 'x[:@].sum()'}\n",
    "dim": "inputs: {x: [1, 2]}\ngraph: {loss: 'x.sum(dim=@)'}\n",
    "repeats": "inputs: {x: [1, 2]}\ngraph: {loss: 'x.repeat(@).sum()'}\n",
    "values.y": f"{_CASE}values: {{y: @}}\n",
    "values.y[0]": f"{_CASE}values: {{y: [@, 1]}}\n",
    "expected.x": f"{_CASE}expected: {{x: @}}\n",
    "expected.x[0]": f"{_CASE}expected: {{x: [@, 1]}}\n",
    "formulas.x": f"{_CASE}formulas: {{x: @}}\n",
    "formulas.x[0]": f"{_CASE}formulas: {{x: [@, 2 * x]}}\n",
    "wrong_formulas.x": f"{_CASE}wrong_formulas: {{x: @}}\n",
    "factor of a formula": f"{_CASE}formulas: {{x: x * @}}\n",
    "let.k": f"{_CASE}let: {{k: @}}\nformulas: {{x: 2 * x}}\n",
    "checks[0]": f"{_CASE}checks: [@]\n",
    "side of a check": f"{_CASE}checks: [grad(x) == @]\n",
    "jacobians.y.x": f"{_CASE}jacobians: {{y: {{x: @}}}}\n",
    "hessians.loss.x": f"{_CASE}hessians: {{loss: {{x: @}}}}\n",
    "shapes.x": f"{_CASE}shapes: {{x: @}}\nformulas: {{x: 2 * x}}\n",
    "shapes.x[0]": f"{_CASE}shapes: {{x: [@]}}\nformulas: {{x: 2 * x}}\n",
    "bound of a shape": f"{_CASE}shapes: {{x: 'uniform(0, @, [n])'}}\nformulas: {{x: 2 * x}}\n",
    "generalize.trials": f"{_CASE}generalize: {{trials: @}}\n",
    "generalize.dims": f"{_SIZED}generalize: {{dims: @}}\n",
    "generalize.dims.n": f"{_SIZED}generalize: {{dims: {{n: @}}}}\n",
    "generalize.dims.n[0]": f"{_SIZED}generalize: {{dims: {{n: [@, 7]}}}}\n",
    "generalize.dims.n[1]": f"{_SIZED}generalize: {{dims: {{n: [1, @]}}}}\n",
    "tolerance.rtol": f"{_CASE}expected: {{x: [2, 4]}}\ntolerance: {{rtol: @}}\n",
    "tolerance.x": f"{_CASE}expected: {{x: [2, 4]}}\ntolerance: {{x: @}}\n",
    "tolerance.x.atol": f"{_CASE}expected: {{x: [2, 4]}}\ntolerance: {{x: {{atol: @}}}}\n",
    "tolerance.engines.rtol": f"{_CASE}tolerance: {{engines: {{rtol: @}}}}\n",
    "rtol": f"{_CASE}rtol: @\n",
    "only[0]": f"{_CASE}only: [@]\n",
    "tags[0]": f"{_CASE}tags: [@]\n",
    "xfail.reason": f"{_CASE}xfail: {{reason: @}}\n",
    "xfail.only": f"{_CASE}xfail: {{reason: a, only: @}}\n",
    "xfail.only[0]": f"{_CASE}xfail: {{reason: a, only: [@]}}\n",
    "xfail.until": f"{_CASE}xfail: {{reason: a, until: @}}\n",
    "backward.y": f"{_CASE}backward: {{y: @}}\n",
    "backward.y[0]": f"{_CASE}backward: {{y: [@, 1]}}\n",
    "steps[0]": f"{_CASE}steps: [@]\n",
    "steps[0].backward": f"{_CASE}steps: [{{backward: @}}]\n",
    "steps[0].backward.y": f"{_CASE}steps: [{{backward: {{y: @}}}}]\n",
    "steps[0].zero_grad": f"{_CASE}steps: [{{zero_grad: @}}, {{backward: loss}}]\n",
    "steps[0].forward": f"{_CASE}steps: [{{forward: @}}, {{backward: loss}}]\n",
    "steps[0].forward.x": f"{_CASE}steps: [{{forward: {{x: @}}}}, {{backward: loss}}]\n",
    "steps[0].retain_graph": f"{_CASE}steps: [{{backward: loss, retain_graph: @}}]\n",
    "steps[0].raises": f"{_CASE}steps: [{{backward: loss, raises: @}}]\n",
    "steps[0].values": f"{_CASE}steps: [{{backward: loss, values: @}}]\n",
    "steps[0].values.y": f"{_CASE}steps: [{{backward: loss, values: {{y: @}}}}]\n",
    "steps[0].expected.x": f"{_CASE}steps: [{{backward: loss, expected: {{x: @}}}}]\n",
    "steps[0].checks": f"{_CASE}steps: [{{backward: loss, checks: @}}]\n",
    "steps[0].checks[0]": f"{_CASE}steps: [{{backward: loss, checks: [@]}}]\n",
    "implementations.y": f"{_CODE}{{y: @}}\n",
    "implementations.y.call": f"{_CODE}{{y: {{call: @}}}}\n",
    "implementations.y.forward": f"{_CODE}{{y: {{forward: @, backward: 'a:b'}}}}\n",
    "implementations.y.arguments": f"{_CODE}{{y: {{call: 'a:b', arguments: @}}}}\n",
    "implementations.y.arguments[0]": f"{_CODE}{{y: {{call: 'a:b', arguments: [@]}}}}\n",
    "implementations.y.dtypes": f"{_CODE}{{y: {{call: 'a:b', dtypes: @}}}}\n",
    "implementations.y.dtypes[0]": f"{_CODE}{{y: {{call: 'a:b', dtypes: [@]}}}}\n",
    "implementations.y.tolerance": f"{_CODE}{{y: {{call: 'a:b', tolerance: @}}}}\n",
    "implementations.y.tolerance.rtol": f"{_CODE}{{y: {{call: 'a:b', tolerance: {{rtol: @}}}}}}\n",
    "a key": f"{_CASE}@: 1\n",
    "a name of inputs": "inputs: {@: 1, x: [1, 2]}\ngraph: {y: x * x, loss: y.sum()}\n",
    "a name of dims": f"{_CASE}dims: {{@: 1}}\n",
    "a name of graph": "inputs: {x: [1, 2]}\ngraph: {@: x, loss: x.sum()}\n",
    "a name of expected": f"{_CASE}expected: {{@: 1}}\n",
    "a name of formulas": f"{_CASE}formulas: {{@: 1}}\n",
    "a name of backward": f"{_CASE}backward: {{@: 1}}\n",
    "a name of shapes": f"{_CASE}shapes: {{@: [n]}}\n",
    "a key of steps[0]": f"{_CASE}steps: [{{@: 1}}]\n",
    "a key of tolerance": f"{_CASE}tolerance: {{@: 1}}\n",
    "a key of generalize": f"{_CASE}generalize: {{@: 1}}\n",
    "a name of generalize.dims": f"{_CASE}generalize: {{dims: {{@: [1, 2]}}}}\n",
    "a name of implementations": f"{_CODE}{{@: 'a:b'}}\n",
    "a key of xfail": f"{_CASE}xfail: {{@: a}}\n",
}


def text_of(place: str, value: str) -> bytes:
    """The case file with this value, by its name, in this place."""
    text, written = PLACES[place], VALUES[value]
    if text.split("@")[0].rpartition("\n")[2].count("'") % 2:  # inside of a text
        written = written.strip('"')
    return text.replace("@", written).encode("utf-8", "surrogatepass")
