# ruff: noqa
# mypy: ignore-errors
"""Losses by hand."""

import numpy as np
import torch
from torch.autograd.function import once_differentiable
import torch.nn.functional as F

# layer: cross_entropy


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, labels):
        logp = torch.log_softmax(logits, 1)
        ctx.save_for_backward(logp, labels)
        return -logp[torch.arange(len(labels)), labels].mean()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        logp, labels = ctx.saved_tensors
        d = logp.exp()
        d[torch.arange(len(labels)), labels] -= 1
        return g * d / len(labels), None


def cross_entropy_forward(logits, labels):
    z = logits - logits.max(1, keepdims=True)
    p = np.exp(z)
    p /= p.sum(1, keepdims=True)
    n = logits.shape[0]
    return -np.log(p[np.arange(n), labels]).sum() / n, (p, labels)


def cross_entropy_backward(dout, cache):
    p, labels = cache
    n = p.shape[0]
    dz = p.copy()
    dz[np.arange(n), labels] -= 1
    return dout * dz / n


# layer: mse


class Mse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, pred, target):
        diff = pred - target
        ctx.save_for_backward(diff)
        return (diff**2).mean()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (diff,) = ctx.saved_tensors
        d = g * 2 * diff / diff.numel()
        return d, -d


def mse_forward(pred, target):
    diff = pred - target
    return np.mean(diff**2), diff


def mse_backward(dout, diff):
    d = dout * 2.0 * diff / diff.size
    return d, -d


# layer: bce


class BceLogits(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, t):
        ctx.save_for_backward(z, t)
        return (torch.clamp(z, min=0) - z * t + torch.log1p(torch.exp(-z.abs()))).mean()

    @staticmethod
    def backward(ctx, g):
        z, t = ctx.saved_tensors
        return g * (torch.sigmoid(z) - t) / z.numel(), -g * z / z.numel()


def bce_forward(z, t):
    loss = np.maximum(z, 0) - z * t + np.log1p(np.exp(-np.abs(z)))
    return loss.mean(), (z, t)


def bce_backward(dout, cache):
    z, t = cache
    sig = 1 / (1 + np.exp(-z))
    return dout * (sig - t) / z.size, -dout * z / z.size


# layer: huber


class Huber(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        e = x - y
        ctx.save_for_backward(e)
        a = e.abs()
        return torch.where(a < 1, 0.5 * e * e, a - 0.5).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (e,) = ctx.saved_tensors
        d = g * e.clamp(-1, 1)
        return d, -d


def huber_forward(x, y):
    e = x - y
    small = np.abs(e) < 1
    return np.sum(np.where(small, 0.5 * e**2, np.abs(e) - 0.5)), (e, small)


def huber_backward(dout, cache):
    e, small = cache
    d = dout * np.where(small, e, np.sign(e))
    return d, -d


# layer: svm


class Svm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, onehot):
        right = (scores * onehot).sum(1, keepdim=True)
        margins = (scores - right + 1).clamp(min=0) * (1 - onehot)
        ctx.save_for_backward(margins, onehot)
        return margins.sum() / scores.shape[0]

    @staticmethod
    def backward(ctx, g):
        margins, onehot = ctx.saved_tensors
        hot = (margins > 0).to(margins.dtype)
        d = hot - onehot * hot.sum(1, keepdim=True)
        return g * d / margins.shape[0], None


def svm_forward(scores, onehot):
    right = (scores * onehot).sum(axis=1, keepdims=True)
    margins = np.maximum(0, scores - right + 1.0) * (1 - onehot)
    return margins.sum() / len(scores), (margins, onehot)


def svm_backward(dout, cache):
    margins, onehot = cache
    dx = np.zeros_like(margins)
    dx[margins > 0] = 1
    dx -= onehot * dx.sum(axis=1, keepdims=True)
    return dout * dx / len(margins)


# layer: kl


class KlDiv(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logq, p):
        ctx.save_for_backward(logq, p)
        return (p * (p.log() - logq)).sum() / p.shape[0]

    @staticmethod
    def backward(ctx, g):
        logq, p = ctx.saved_tensors
        return -g * p / p.shape[0], g * (p.log() - logq + 1) / p.shape[0]


def kl_forward(logq, p):
    return np.sum(p * (np.log(p) - logq)) / len(p), (logq, p)


def kl_backward(dout, cache):
    logq, p = cache
    dlogq = -dout * p / len(p)
    dp = dout * (np.log(p) + 1 - logq) / len(p)
    return dlogq, dp


# layer: cosine


class Cosine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        na, nb = a.norm(dim=1, keepdim=True), b.norm(dim=1, keepdim=True)
        s = (a * b).sum(1, keepdim=True) / (na * nb)
        ctx.save_for_backward(a, b, na, nb, s)
        return s.squeeze(1)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        a, b, na, nb, s = ctx.saved_tensors
        g = g.unsqueeze(1)
        da = g * (b / (na * nb) - s * a / na**2)
        db = g * (a / (na * nb) - s * b / nb**2)
        return da, db


def cosine_forward(a, b):
    na, nb = np.sqrt((a * a).sum(1)), np.sqrt((b * b).sum(1))
    s = (a * b).sum(1) / na / nb
    return s, (a, b, na, nb, s)


def cosine_backward(dout, cache):
    a, b, na, nb, s = cache
    k = (dout / (na * nb))[:, None]
    da = k * b - (dout * s / na**2)[:, None] * a
    db = k * a - (dout * s / nb**2)[:, None] * b
    return da, db
