"""The op table's entries, by family. Importing this package fills the table."""

from typing import Any

from gradcheck.autograd.op import TABLE, lookup
from gradcheck.autograd.ops import activation as activation
from gradcheck.autograd.ops import arithmetic as arithmetic
from gradcheck.autograd.ops import cast as cast
from gradcheck.autograd.ops import comparison as comparison
from gradcheck.autograd.ops import complex_parts as complex_parts
from gradcheck.autograd.ops import contraction as contraction
from gradcheck.autograd.ops import creation as creation
from gradcheck.autograd.ops import determinant as determinant
from gradcheck.autograd.ops import exponential as exponential
from gradcheck.autograd.ops import extrema as extrema
from gradcheck.autograd.ops import gathering as gathering
from gradcheck.autograd.ops import indexing as indexing
from gradcheck.autograd.ops import joining as joining
from gradcheck.autograd.ops import linalg as linalg
from gradcheck.autograd.ops import matrix as matrix
from gradcheck.autograd.ops import nn_attention as nn_attention
from gradcheck.autograd.ops import nn_classification as nn_classification
from gradcheck.autograd.ops import nn_distances as nn_distances
from gradcheck.autograd.ops import nn_layers as nn_layers
from gradcheck.autograd.ops import nn_losses as nn_losses
from gradcheck.autograd.ops import nn_margins as nn_margins
from gradcheck.autograd.ops import nn_norms as nn_norms
from gradcheck.autograd.ops import nn_padding as nn_padding
from gradcheck.autograd.ops import nn_softmax as nn_softmax
from gradcheck.autograd.ops import nn_windows as nn_windows
from gradcheck.autograd.ops import norms as norms
from gradcheck.autograd.ops import order as order
from gradcheck.autograd.ops import ordering as ordering
from gradcheck.autograd.ops import power as power
from gradcheck.autograd.ops import products as products
from gradcheck.autograd.ops import random as random
from gradcheck.autograd.ops import reduction as reduction
from gradcheck.autograd.ops import rounding as rounding
from gradcheck.autograd.ops import scan as scan
from gradcheck.autograd.ops import selection as selection
from gradcheck.autograd.ops import shape as shape
from gradcheck.autograd.ops import spectral as spectral
from gradcheck.autograd.ops import trigonometric as trigonometric


def __getattr__(name: str) -> Any:
    entry = lookup(name)
    if entry is None:
        raise AttributeError(f"there is no op {name!r}")
    return entry


def __dir__() -> list[str]:
    return sorted(TABLE)
