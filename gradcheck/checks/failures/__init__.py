"""Why something failed: asked only where something has, and never changing what is compared.

`explain` goes through it: `arbitration` asks everybody who knows who is wrong (`conventions` where there is no
derivative); `engine_faults`, `localize` and `gradient_flow` find where an engine goes wrong first; `evidence` gathers
what is known of each failure and `diagnosis/` recognises the mistake; `correction/` looks for what was meant and for
numbers that refute a formula. All of it is facts: `reports/phrases` finds the words. A new mistake to recognise is a
function in `diagnosis/`.
"""
