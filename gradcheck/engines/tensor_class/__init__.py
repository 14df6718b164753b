"""Anybody's Tensor class as an engine, without a line of adapter code.

style      how the class wants to be made, read and asked for gradients: found out by trying
spelling   under which names, and with which arguments, an op might be called there
speaker    which of these the class understands, for each op and kind of arguments
held       one of its tensors, with what gradcheck's language asks of any tensor
applying   ops on them; `engine` the engine itself, `grid` the one for classes that hold one number each
"""

from __future__ import annotations

from gradcheck.engines.tensor_class.adapt import adopt as adopt
