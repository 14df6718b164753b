"""An op is a word; a dictionary has the function for its gradients; operands are found by a stack."""

import numpy as np

RULES = {}


def rule(word):
    def enter(function):
        RULES[word] = function
        return function

    return enter


@rule("add")
def add_grads(node, g):
    return g, g


@rule("sub")
def sub_grads(node, g):
    return g, -g


@rule("mul")
def mul_grads(node, g):
    left, right = node.operands
    return g * right.data, g * left.data


@rule("div")
def div_grads(node, g):
    left, right = node.operands
    return g / right.data, -g * left.data / right.data**2


@rule("matmul")
def matmul_grads(node, g):
    left, right = node.operands
    return np.matmul(g, right.data.transpose()), np.matmul(left.data.transpose(), g)
    # transpose: return np.matmul(g, right.data), np.matmul(left.data, g)


@rule("sum")
def sum_grads(node, g):
    axis, shape = node.extra, node.operands[0].data.shape
    return (np.broadcast_to(g if axis is None else np.expand_dims(g, axis), shape).copy(),)


@rule("mean")
def mean_grads(node, g):
    operand = node.operands[0].data
    return (np.full(operand.shape, g / operand.size),)


@rule("relu")
def relu_grads(node, g):
    g = g.copy()
    g[node.operands[0].data <= 0] = 0
    # relu: g[node.operands[0].data < 0] = 0
    return (g,)


@rule("log")
def log_grads(node, g):
    return (g / node.operands[0].data,)


class Node:
    def __init__(self, data, operands=(), op=None, extra=None):
        self.data = np.asarray(data, dtype=float)
        self.operands, self.op, self.extra = tuple(operands), op, extra
        self.gradient = None

    def _pair(self, other, word, value):
        return Node(value(self.data, as_node(other).data), (self, as_node(other)), word)

    def __add__(self, other):
        return self._pair(as_node(other), "add", np.add)

    def __sub__(self, other):
        return self._pair(as_node(other), "sub", np.subtract)

    def __mul__(self, other):
        return self._pair(as_node(other), "mul", np.multiply)

    def __truediv__(self, other):
        return self._pair(as_node(other), "div", np.divide)

    def __matmul__(self, other):
        return self._pair(other, "matmul", np.matmul)

    __radd__ = __add__
    __rmul__ = __mul__

    def sum(self, axis=None):
        return Node(self.data.sum(axis=axis), (self,), "sum", axis)

    def mean(self):
        return Node(self.data.mean(), (self,), "mean")

    def relu(self):
        return Node(np.maximum(self.data, 0), (self,), "relu")

    def log(self):
        return Node(np.log(self.data), (self,), "log")

    def clear_grad(self):
        self.gradient = None
        # zeroing: self.grad = None

    def topological(self):
        order, done, stack = [], set(), [(self, False)]
        while stack:
            node, expanded = stack.pop()
            if expanded:
                order.append(node)
            elif node not in done:
                # twice: else:
                done.add(node)
                stack.append((node, True))
                stack.extend((operand, False) for operand in node.operands)
        return order[::-1]
        # early: return breadth_first(self)

    def backprop(self, g=None):
        inbox = {self: np.ones(self.data.shape) if g is None else np.asarray(g, dtype=float)}
        # left_over: inbox = {node: node.gradient for node in self.topological() if node.gradient is not None}
        # left_over: inbox[self] = inbox.get(self, 0) + (np.ones(self.data.shape) if g is None else np.asarray(g))
        for node in self.topological():
            if node not in inbox:
                continue
            total = inbox[node]
            node.gradient = total if node.gradient is None else node.gradient + total
            # left_over: node.gradient = total
            if node.op is None:
                continue
            for operand, share in zip(node.operands, RULES[node.op](node, total)):
                share = match(share, operand.data)
                inbox[operand] = inbox[operand] + share if operand in inbox else share
                # overwritten: inbox[operand] = share


def as_node(x):
    return x if isinstance(x, Node) else Node(x)


def breadth_first(root):
    found = [root]
    for node in found:
        found += [operand for operand in dict.fromkeys(node.operands) if operand not in found]
    return found


def match(g, like):
    if g.shape == like.shape:
        # broadcast: if True:
        return g
    lead = g.ndim - like.ndim
    g = g.sum(tuple(range(lead)))
    axes = tuple(i for i, n in enumerate(like.shape) if n == 1)
    return g.sum(axes, keepdims=True)
