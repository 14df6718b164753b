# ruff: noqa
# mypy: ignore-errors
"""Normalisations and softmaxes by hand."""

import numpy as np
import torch
from torch.autograd.function import once_differentiable

# layer: batchnorm


class BatchNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gamma, beta):
        mu = x.mean(0)
        var = x.var(0, unbiased=False)
        inv = 1 / torch.sqrt(var + 1e-5)
        xhat = (x - mu) * inv
        ctx.save_for_backward(xhat, gamma, inv)
        return gamma * xhat + beta

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        xhat, gamma, inv = ctx.saved_tensors
        dgamma, dbeta = (g * xhat).sum(0), g.sum(0)
        dxhat = g * gamma
        dx = inv * (dxhat - dxhat.mean(0) - xhat * (dxhat * xhat).mean(0))
        return dx, dgamma, dbeta


def batchnorm_forward(x, gamma, beta):
    mu = x.mean(axis=0)
    xmu = x - mu
    var = np.mean(xmu**2, axis=0)
    ivar = 1.0 / np.sqrt(var + 1e-5)
    return gamma * xmu * ivar + beta, (xmu, ivar, gamma)


def batchnorm_backward(dout, cache):
    xmu, ivar, gamma = cache
    n = dout.shape[0]
    dbeta = dout.sum(axis=0)
    dgamma = (dout * xmu * ivar).sum(axis=0)
    dxhat = dout * gamma
    dvar = (dxhat * xmu).sum(axis=0) * -0.5 * ivar**3
    dmu = -(dxhat * ivar).sum(axis=0)
    dx = dxhat * ivar + dvar * 2 * xmu / n + dmu / n
    return dx, dgamma, dbeta


# layer: layernorm


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gamma, beta):
        mean = x.mean(-1, keepdim=True)
        rstd = (x.var(-1, unbiased=False, keepdim=True) + 1e-5).rsqrt()
        ctx.save_for_backward(x, gamma, mean, rstd)
        return (x - mean) * rstd * gamma + beta

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, gamma, mean, rstd = ctx.saved_tensors
        xhat = (x - mean) * rstd
        wg = g * gamma
        c1 = (wg * xhat).mean(-1, keepdim=True)
        c2 = wg.mean(-1, keepdim=True)
        dx = (wg - xhat * c1 - c2) * rstd
        return dx, (g * xhat).sum((0, 1)), g.sum((0, 1))


def layernorm_forward(x, gamma, beta):
    mean = x.mean(axis=-1, keepdims=True)
    std = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    xhat = (x - mean) / std
    return xhat * gamma + beta, (xhat, std, gamma)


def layernorm_backward(dout, cache):
    xhat, std, gamma = cache
    d = xhat.shape[-1]
    dxhat = dout * gamma
    dx = (d * dxhat - dxhat.sum(-1, keepdims=True) - xhat * (dxhat * xhat).sum(-1, keepdims=True)) / (d * std)
    return dx, (dout * xhat).sum((0, 1)), dout.sum((0, 1))


# layer: groupnorm


class GroupNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gamma, beta):
        n, c, l = x.shape
        xg = x.reshape(n, 2, -1)
        mean = xg.mean(-1, keepdim=True)
        rstd = 1 / torch.sqrt(xg.var(-1, unbiased=False, keepdim=True) + 1e-5)
        xhat = ((xg - mean) * rstd).reshape(n, c, l)
        ctx.save_for_backward(xhat, rstd, gamma)
        return xhat * gamma[None, :, None] + beta[None, :, None]

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        xhat, rstd, gamma = ctx.saved_tensors
        n, c, l = g.shape
        dgamma, dbeta = (g * xhat).sum((0, 2)), g.sum((0, 2))
        d = (g * gamma[None, :, None]).reshape(n, 2, -1)
        h = xhat.reshape(n, 2, -1)
        dx = rstd * (d - d.mean(-1, keepdim=True) - h * (d * h).mean(-1, keepdim=True))
        return dx.reshape(n, c, l), dgamma, dbeta


def groupnorm_forward(x, gamma, beta):
    n, c, l = x.shape
    g = x.reshape(n * 2, -1).T
    mean, var = g.mean(axis=0), g.var(axis=0)
    xhat = ((g - mean) / np.sqrt(var + 1e-5)).T.reshape(n, c, l)
    return gamma[:, None] * xhat + beta[:, None], (xhat, var, gamma)


def groupnorm_backward(dout, cache):
    xhat, var, gamma = cache
    n, c, l = dout.shape
    dgamma = np.sum(dout * xhat, axis=(0, 2))
    dbeta = np.sum(dout, axis=(0, 2))
    dh = (dout * gamma[:, None]).reshape(n * 2, -1).T
    h = xhat.reshape(n * 2, -1).T
    m = h.shape[0]
    dg = (m * dh - dh.sum(0) - h * (dh * h).sum(0)) / m / np.sqrt(var + 1e-5)
    return dg.T.reshape(n, c, l), dgamma, dbeta


# layer: rmsnorm


class RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        ctx.save_for_backward(x, w, r)
        return x * r * w

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, w, r = ctx.saved_tensors
        gw = g * w
        dx = r * gw - x * r**3 * (gw * x).mean(-1, keepdim=True)
        return dx, (g * x * r).sum(0)


def rmsnorm_forward(x, w):
    rms = np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)
    return x / rms * w, (x, w, rms)


def rmsnorm_backward(dout, cache):
    x, w, rms = cache
    dn = dout * w
    n = x / rms
    dx = (dn - n * np.mean(dn * n, axis=-1, keepdims=True)) / rms
    dw = np.sum(dout * n, axis=0)
    return dx, dw


# layer: l2norm


class L2Normalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        norm = x.norm(dim=1, keepdim=True)
        y = x / norm
        ctx.save_for_backward(y, norm)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        y, norm = ctx.saved_tensors
        return (g - y * (y * g).sum(1, keepdim=True)) / norm


def l2norm_forward(x):
    n = np.linalg.norm(x, axis=1, keepdims=True)
    return x / n, (x, n)


def l2norm_backward(dout, cache):
    x, n = cache
    return dout / n - x * (x * dout).sum(1, keepdims=True) / n**3


# layer: softmax


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        e = torch.exp(x - x.max(-1, keepdim=True).values)
        p = e / e.sum(-1, keepdim=True)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return p * (g - (g * p).sum(-1, keepdim=True))


def softmax_forward(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p, p


def softmax_backward(dout, p):
    inner = np.sum(dout * p, axis=-1, keepdims=True)
    return p * (dout - inner)


# layer: log_softmax


class LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x - torch.logsumexp(x, dim=1, keepdim=True)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return g - out.exp() * g.sum(1, keepdim=True)


def log_softmax_forward(x):
    m = x.max(1, keepdims=True)
    out = x - m - np.log(np.exp(x - m).sum(1, keepdims=True))
    return out, out


def log_softmax_backward(dout, out):
    return dout - np.exp(out) * dout.sum(1, keepdims=True)
