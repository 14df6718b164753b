"""Whoever imports this has every op's action on residues in the table."""

from __future__ import annotations

from gradcheck.oracles import (
    residue_functions,
    residue_linalg,
    residue_moves,
    residue_ops,
    residue_pieces,
    residue_places,
    residue_powers,
    residue_products,
)
from gradcheck.oracles.residue import ACTIONS

__all__ = [
    "ACTIONS",
    "residue_functions",
    "residue_linalg",
    "residue_moves",
    "residue_ops",
    "residue_pieces",
    "residue_places",
    "residue_powers",
    "residue_products",
]
