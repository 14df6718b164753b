"""One module a kind of claim, each a stage of the pipeline.

A stage has `applies(context)` and `check(context)`, which yields comparisons; those of earlier stages are in
`context.found`. Stages take numbers and evaluations from the context's points, compare by `closeness`, and do not
know how failures are explained. A new kind of claim is a module here, a member of `ClaimKind` and a line in
`pipeline.STAGES`.
"""
