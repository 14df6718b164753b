"""What is claimed, and whether it holds: one module a kind of claim, each a stage of the pipeline.

A stage has `applies(context)` and `check(context)`, which yields comparisons; what earlier stages found is in
`context.found`. Stages take numbers and evaluations from the context's points, judge closeness by `closeness`, and know
nothing of how failures are explained. A new kind of claim is a module here, a member of `ClaimKind` and a line in
`pipeline.STAGES`.
"""
