"""What is claimed against what came out, and why where it differs: typed facts, never sentences.

A case goes through a row of stages (`pipeline`); each takes the same `context` and yields comparisons (`result`).
`points` says at which numbers and sizes, `closeness` how near is near enough, `claims` holds a module a kind of claim,
and only where something failed `failures` is imported. `scheduling` runs many cases, one after another or in worker
processes, and `isolation` keeps one case from harming others. `reuse` holds results of earlier runs, `baseline` known
failures. `shrinking`, `mutation` and `conformance` stand on top. Nothing here prints, words anything or imports
`reports`. A new kind of claim begins in `claim_kind.ClaimKind`.
"""
