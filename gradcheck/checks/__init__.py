"""Check cases against their claims and explain failures as typed facts.

A case goes through a row of stages (`pipeline`). Each stage takes the same `context` and yields comparisons
(`result`). `points` decides at which numbers and sizes a case is evaluated, `closeness` decides when two arrays
agree, and `claims` has one module a kind of claim. `failures` is imported only where a comparison failed.
`scheduling` runs many cases, in sequence or in worker processes; `isolation` keeps one case from harming others.
`reuse` holds results of earlier runs, `baseline` known failures. `shrinking`, `mutation` and `conformance` use all of
these. Nothing here prints, writes sentences or imports `reports`. A new kind of claim starts in `ClaimKind`.
"""
