"""Calls of functions on whole arrays, in each form that is compiled, grouped by function."""
from __future__ import annotations

__all__ = ["FORMS"]

FORMS: dict[str, str] = {
    "sum": """
        np.sum(x)
        X.sum()
        np.sum(X, 0)
        X.sum(axis=-1)
        X.sum(axis=(0, 1))
        np.sum(A, axis=(0, -1))
        np.sum(X, axis=1, keepdims=True)
        np.sum(x, dtype=np.float64)
        x.sum(dtype=np.float32)
        X.sum(axis=0, dtype=np.float64)
        np.sum(X, axis=0, out=y)
        np.sum(x, where=x > 1)
        np.sum(x, initial=2)
        np.sum(x, axis=None)
        x.sum(0)
        np.add.reduce(x)
        np.add.reduce(X)
        np.add.reduce(X, axis=1)
        sum(x)
        np.sum(X[:, 1] * x[:4])
        np.sum(x * y) / np.sum(y)
    """,
    "prod": """
        np.prod(x)
        X.prod(axis=0)
        np.prod(X, axis=1, keepdims=True)
        np.multiply.reduce(x)
        x.prod(dtype=np.float64)
    """,
    "mean": """
        np.mean(x)
        X.mean(axis=0)
        X.mean(1, keepdims=True)
        x.mean(dtype=np.float64)
        np.mean(X, axis=(0, 1))
        np.mean(X, axis=0, out=y)
        np.mean(x, where=m)
        X.mean(axis=1, where=M)
    """,
    "var": """
        np.var(x)
        X.var(axis=0)
        X.var(axis=1, ddof=1)
        np.var(X, axis=1, keepdims=True)
        np.var(x, dtype=np.float64)
    """,
    "std": """
        np.std(x)
        x.std(ddof=1)
        np.std(X, axis=0)
        X.std(1, ddof=1, keepdims=True)
        np.std(x, where=m)
        np.var(X, axis=1, where=M, ddof=1, keepdims=True)
    """,
    "min": """
        np.min(x)
        X.min(axis=0)
        np.amin(X, axis=1)
        x.min(initial=1)
        np.min(X, axis=1, keepdims=True)
        np.minimum.reduce(x)
        np.minimum.reduce(X, axis=1)
        min(x)
        np.min(x, where=x > 1, initial=3)
    """,
    "max": """
        np.max(x)
        X.max(axis=0)
        np.amax(X, axis=1)
        x.max(initial=1)
        np.max(X, axis=1, keepdims=True)
        np.maximum.reduce(x)
        max(x)
        np.max(np.abs(x))
    """,
    "ptp": """
        np.ptp(x)
        np.ptp(X, axis=0)
        np.ptp(X, axis=1, keepdims=True)
    """,
    "any": """
        np.any(x)
        X.any(axis=0)
        np.any(x > 1)
        (X > 1).any(axis=1)
        np.any(X, axis=1, keepdims=True)
        np.logical_or.reduce(x > 1)
        np.any(x == y)
        np.any(m)
    """,
    "all": """
        np.all(x)
        X.all(axis=0)
        np.all(x > 1)
        (X > 1).all()
        np.all(X, axis=(0, 1))
        np.logical_and.reduce(x > 1)
    """,
    "count_nonzero": """
        np.count_nonzero(x)
        np.count_nonzero(x > 1)
        np.count_nonzero(X, axis=0)
        np.count_nonzero(X > 1, axis=1, keepdims=True)
        np.count_nonzero(m)
    """,
    "argmin": """
        np.argmin(x)
        x.argmin()
        X.argmin(axis=0)
        np.argmin(X, axis=1)
        np.argmin(X)
        np.argmin(X, axis=0, keepdims=True)
        np.argmax(x, axis=0, keepdims=True)
    """,
    "argmax": """
        np.argmax(x)
        x.argmax()
        X.argmax(axis=0)
        np.argmax(X, axis=1)
        np.argmax(X)
        np.argmax(x > 1)
    """,
    "cumsum": """
        np.cumsum(x)
        x.cumsum()
        X.cumsum(axis=0)
        np.cumsum(X, axis=1)
        np.cumsum(X)
        np.cumsum(x, dtype=np.float64)
        np.cumsum(x, out=y)
        np.cumsum(m)
        np.cumsum(x > 1)
    """,
    "cumprod": """
        np.cumprod(x)
        x.cumprod()
        X.cumprod(axis=1)
        np.cumprod(x, dtype=np.float64)
    """,
    "diff": """
        np.diff(x)
        np.diff(X)
        np.diff(X, axis=0)
        np.diff(x, n=2)
        np.diff(m)
        np.diff(x, prepend=0)
        np.diff(x, append=x[:1])
        np.diff(X, axis=0, prepend=0)
        np.diff(X, prepend=0.5, append=X[:, :1])
    """,
    "dot": """
        np.dot(x, y)
        x.dot(y)
        np.dot(X, y)
        np.dot(X, Y.T)
        np.dot(X.T, X)
        np.dot(X, y, out=z)
        np.dot(A, x[:3])
        np.dot(A, A.transpose(0, 2, 1))
    """,
    "vdot": """
        np.vdot(x, y)
    """,
    "inner": """
        np.inner(x, y)
        np.inner(X, Y)
        np.inner(X, y)
        np.inner(A, x[:3])
    """,
    "outer": """
        np.outer(x, y)
        np.multiply.outer(x, y)
        np.add.outer(x, y)
        np.subtract.outer(x, y)
        np.outer(x, y) * 2
        np.subtract.outer(x, X)
        np.hypot.outer(X, y)
    """,
    "matmul": """
        X @ y
        X @ Y.T
        x @ y
        x @ X.T
        np.matmul(X, Y.T)
        X.T @ X
        y @ X.T @ X @ y
        A @ A.transpose(0, 2, 1)
        A @ x[:3]
        x[:4] @ A
        X.T @ A
        np.matmul(A, A.transpose(0, 2, 1))
    """,
    "einsum": """
        np.einsum('i,i->', x, y)
        np.einsum('ij,j->i', X, y)
        np.einsum('ij,kj->ik', X, Y)
        np.einsum('ij->', X)
        np.einsum('ii->', X[:4, :4])
        np.einsum('ij,ij->i', X, Y)
        np.einsum('ii->i', X[:4, :4]) * 2
        np.einsum('ii->i', X[:4, :4]).sum()
        np.einsum('ii,i->i', X[:4, :4], z)
        np.einsum('iij->j', A[:, :2])
        np.einsum('i,j->ij', x, y)
        np.einsum('i,i,i', x, y, x)
        np.einsum('ijk,k->ij', A, x[:3])
        np.einsum('i,ij,j->', z, X, y)
        np.einsum('ij,ij', X, Y)
        np.einsum('ij,jk->ki', X, Y.T)
        np.einsum('...i,...i', X, Y)
        np.einsum('...ij,...kj->...ik', A, A)
        np.einsum('ijk->ki', A)
        np.einsum('i,j->ji', x, y)
        np.einsum('ij->ji', X) + 0
        np.tensordot(X, Y, axes=([1], [1]))
        np.tensordot(X, x, 1)
        np.tensordot(A, A, axes=([1, 0], [1, 0]))
    """,
    "where": """
        np.where(x > 1, x, y)
        np.where(m, x, 0)
        np.where(M, X, y)
        np.where(x > y, 1, -1)
        np.where(X > 1, X, 0.0)
        np.where(np.isnan(x), 0, x)
    """,
    "clip": """
        np.clip(x, 0, 2)
        x.clip(0, 2)
        np.clip(X, 0, None)
        np.clip(x, None, 2)
        x.clip(min=1)
        x.clip(max=2)
        np.clip(x, y, 3)
        np.clip(x, 0, 2, out=y)
        np.clip(x, a_min=0, a_max=2)
    """,
    "select": """
        np.select([x > 1, x < 0], [x, y], 0)
        np.select([x > 1, x < 0], [x, y])
        np.select([x > 1], [x], default=y)
        np.select([x > 1, x < 0], [1.0, 2.0], default=3.0)
    """,
    "roll": """
        np.roll(x, 1)
        np.roll(x, -2)
        np.roll(X, 1, axis=0)
        np.roll(X, -1, axis=1)
        np.roll(x, j)
        np.roll(X, j, axis=0)
        np.roll(X, 3)
        np.roll(X, (1, 2), axis=(0, 1))
        np.roll(X, j, axis=(0, 1))
    """,
    "flip": """
        np.flip(x)
        np.flip(X, 0)
        np.flip(X, axis=1)
        np.fliplr(X)
        np.flipud(X)
        x[::-1]
        np.flip(X, axis=(0, 1))
        np.flip(X)
    """,
    "rot90": """
        np.rot90(X)
        np.rot90(X, 2)
        np.rot90(X, k=-1)
        np.rot90(X, k=3)
    """,
    "turned": """
        np.rot90(X, 1, axes=(1, 0)) + 0
        np.rot90(X, k=-1, axes=(0, -1)) * 1
        np.rot90(A, 2, (0, 2)) + 1
    """,
    "concatenate": """
        np.concatenate((x, y))
        np.concatenate([x, y, x[:2]])
        np.concatenate((X, Y), axis=1)
        np.append(x, y)
        np.append(X, Y, axis=0)
        np.hstack((x, y))
        np.hstack([X, Y])
        np.vstack([x, y])
        np.vstack((X, y))
        np.concatenate((x, np.zeros(3)))
        np.concatenate(([0], x, [s, 2.5]))
        np.append(X, Y, axis=1)
        np.dstack((X, Y))
        np.column_stack((z, X))
        np.insert(x, 2, 1.0)
        np.insert(x, j, s)
        np.insert(np.cumsum(x), 0, 0)
        np.delete(x, 1)
        np.delete(x, -1)
        np.delete(x, j)
        np.block([[X, Y], [Y, X]])
    """,
    "stack": """
        np.stack((x, y))
        np.stack([x, y], axis=1)
        np.stack((X, Y), axis=-1)
        np.column_stack((x, y))
        np.column_stack((X, z))
        np.array([x, y])
        np.array([x, y]).T
        np.stack((x, y), axis=-1)
    """,
    "repeat": """
        np.repeat(x, 2)
        x.repeat(3)
        np.repeat(X, 2, axis=0)
        np.repeat(X, 2, axis=1)
        np.repeat(X, 2)
    """,
    "tile": """
        np.tile(x, 2)
        np.tile(x, (2, 1))
        np.tile(X, 2)
        np.tile(X, (2, 3))
        np.tile(x, (2, 3))
    """,
    "arange": """
        np.arange(n)
        np.arange(1, n)
        np.arange(0, n, 2)
        np.arange(n, dtype=np.float64)
        np.arange(n) * 2.0
        np.arange(0.0, 1.0, 0.25)
        np.arange(n, dtype=np.int32)
        np.arange(n - 1, -1, -1)
        np.arange(len(x))
        np.arange(6).reshape(2, 3)
        np.arange(n, dtype=float)
        np.arange(1.0, n)
    """,
    "linspace": """
        np.linspace(0, 1, n)
        np.linspace(0, 1, 5)
        np.linspace(0.0, 2.0, n, endpoint=False)
        np.linspace(0, 1)
        np.linspace(0, 1, num=n)
        np.linspace(x[0], x[1], n)
        np.linspace(0, 1, n, dtype=np.float32)
        np.linspace(x.min(), x.max(), n)
    """,
    "eye": """
        np.eye(3)
        np.eye(n)
        np.eye(n, 2)
        np.eye(n, k=1)
        np.eye(3, dtype=np.float32)
        np.identity(n)
        np.identity(3, dtype=np.int64)
    """,
    "zeros": """
        np.zeros(n)
        np.zeros((n, 2))
        np.zeros(x.shape)
        np.zeros(X.shape[0], dtype=np.int32)
        np.zeros((n, n), dtype=X.dtype)
        np.zeros(n, int)
        np.zeros(n, 'f4')
        np.zeros(shape=(n, 2))
        np.zeros(n, bool)
        np.zeros(X.shape, dtype='float32')
        np.zeros((2, n), order='F')
        np.zeros(shape=n, dtype=np.float64)
        np.zeros([n, 2])
    """,
    "ones": """
        np.ones(n)
        np.ones((n, 2), np.float32)
        np.ones(x.shape, dtype=bool)
        np.ones(X.shape) * 2
        np.ones(shape=(2, n))
    """,
    "full": """
        np.full(n, 2)
        np.full((n, 2), np.nan)
        np.full(x.shape, x[0])
        np.full(n, 0, dtype=np.float32)
        np.full(n, fill_value=2.5)
        np.full(shape=n, fill_value=3)
        np.full(n, True)
        np.full(X.shape, -np.inf)
        np.full((n, n), s)
    """,
    "like": """
        np.zeros_like(x)
        np.ones_like(X)
        np.full_like(x, 3)
        np.zeros_like(x, dtype=np.float64)
        np.zeros_like(X, dtype=bool)
        np.full_like(X, 2.0, dtype=np.float64)
        np.ones_like(x * 2)
        np.zeros_like(X[0])
    """,
    "reshape": """
        X.reshape(-1)
        np.reshape(X, (-1,))
        X.reshape((X.shape[1], X.shape[0]))
        x.reshape(1, -1)
        X.reshape(X.size)
        A.reshape(2, -1)
        A.reshape(A.shape[0], -1)
        np.reshape(x, (n, 1))
        (x + 1).reshape(-1, 1)
        x[:, None] + y
        x.reshape(X.shape[1], 1)
        np.arange(n * 2).reshape(n, 2)
        (x * 2).reshape(1, n)
        np.reshape(x + y, (-1,))
    """,
    "ravel": """
        X.ravel()
        np.ravel(X)
        X.ravel() * 2
        X.ravel('C')
        X.ravel(order='F')
    """,
    "flatten": """
        X.flatten()
        X.flatten(order='C')
        x.flatten()
        A.flatten()
        X.flatten('F')
    """,
    "transpose": """
        X.T * 2
        X.transpose()
        np.transpose(A, (2, 0, 1))
        A.transpose(1, 0, 2)
        A.transpose((0, 2, 1))
        X.T.copy()
        A.T + 1
    """,
    "swapaxes": """
        A.swapaxes(0, 2)
    """,
    "squeeze": """
        np.squeeze(X[:, :1], axis=1)
        X[:1].squeeze(axis=0)
        x.squeeze()
        np.squeeze(x) * 2
        x[:, None].squeeze()
        x[None, :, None].squeeze((0, 2)) + 1
        X.sum(axis=1, keepdims=True).squeeze()
    """,
    "expand_dims": """
        np.expand_dims(x, 0)
        np.expand_dims(x, axis=-1) * 2
        x[:, np.newaxis] * y
        np.expand_dims(X, axis=(0, 2))
        np.atleast_2d(x)
        np.atleast_1d(x)
    """,
    "astype": """
        x.astype(np.float32)
        x.astype(float)
        X.astype(np.float64)
        x.astype(bool)
        (x > 1).astype(np.int32)
        (x > 1).astype(float)
        x.astype('f4')
        x.astype(y.dtype)
        x.astype(np.float32, copy=False)
        x.astype(np.float64) / 3
        np.float32(x)
        np.asarray(x)
        np.asarray(x, dtype=np.float64)
        np.array(x)
        np.array(x, dtype=np.float64)
        np.ascontiguousarray(x)
        np.asarray(x, dtype=float)
        np.array(x, copy=True)
        np.asarray(x).astype(np.float64) + 1
        np.array(x) + 1
    """,
    "copy": """
        x.copy()
        np.copy(X)
        X.copy(order='C')
        X.T.copy()
        x[::2].copy()
        X[1].copy()
        X[:, 0].copy()
        np.copy(X, order='C')
    """,
    "gradient": """
        np.ediff1d(x)
        np.gradient(z)
        np.gradient(z, 2, edge_order=2)
        np.gradient(X[:, :3])
        np.gradient(X[:, :3], 0.5, 2.0)[0]
        np.gradient(A, axis=1)
        np.gradient(A, 2.0, axis=-1)
        np.gradient(z, np.arange(4) ** 2)
        np.gradient(z, np.arange(4) * 2.0)
    """,
    "convolve": """
        np.convolve(z, x[:2])
        np.convolve(z, x[:3], 'same')
        np.convolve(z, z, mode='valid')
        np.correlate(z, z[:2])
        np.correlate(z, z[1:], 'full')
        np.correlate(k, k[:2], 'same')
        np.convolve(z, np.array([1, 2, 1]) / 4, mode='same')
    """,
    "accumulate": """
        np.maximum.accumulate(x)
        np.minimum.accumulate(X, axis=1)
        np.add.accumulate(x)
        np.maximum.accumulate(X)
    """,
    "stepwise": """
        np.bitwise_or.reduce(k)
        np.bitwise_xor.accumulate(k)
        np.logical_xor.reduce(m)
        np.subtract.reduce(x)
        np.subtract.accumulate(X, axis=1)
        np.fmax.reduce(x)
        np.fmin.reduce(X, axis=1)
        np.fmin.accumulate(x)
        np.hypot.reduce(x)
    """,
    "triu": """
        np.triu(X)
        np.tril(X)
        np.triu(X, 1)
        np.tril(X, k=-1)
        np.tril(np.ones((n, n)))
        np.tri(n)
    """,
    "diag": """
        np.diag(x)
        np.diag(X).sum()
        np.diag(X, 1) * 2
        np.diagonal(X, -2) + 0
        np.diagonal(X, 7).sum()
    """,
    "trace": """
        np.trace(X)
        X.trace()
        np.trace(X, 1)
        np.trace(X @ X.T)
    """,
    "isnan": """
        np.isnan(x)
        np.isfinite(X)
        np.isinf(x)
        ~np.isnan(x)
        np.any(np.isnan(X))
        np.isnan(x).any()
        np.isnan(x).sum()
        np.isfinite(x).all()
        x[0] == np.nan
        np.isposinf(x)
        np.isneginf(x)
    """,
    "isclose": """
        np.isclose(x, y)
        np.isclose(x, y, rtol=1e-3, atol=1e-2)
        np.isclose(x, 1.0)
        np.isclose(x, y, equal_nan=True)
        np.isclose(X, y)
    """,
    "allclose": """
        np.allclose(x, y)
        np.allclose(x, x)
        np.allclose(X, Y, rtol=1e-2)
        np.allclose(x, y, equal_nan=True)
        np.array_equal(x, y)
        np.array_equal(x, x)
        np.array_equal(x, y, equal_nan=True)
    """,
    "nan_to_num": """
        np.nan_to_num(x)
        np.nan_to_num(X)
        np.nan_to_num(x, nan=-1)
        np.nan_to_num(x, nan=0.0, posinf=9.0, neginf=-9.0)
    """,
    "nansum": """
        np.nansum(x)
        np.nansum(X, axis=0)
        np.nansum(X, axis=1, keepdims=True)
        np.nanprod(x)
        np.nancumsum(x)
        np.nancumprod(x)
        np.nancumsum(k)
        np.nancumprod(k)
        np.nanprod(k)
        np.nanprod(x > 0)
        np.nancumprod(x > 0)
    """,
    "nanmean": """
        np.nanmean(x)
        np.nanmean(X, axis=0)
        np.nanmean(X, axis=1, keepdims=True)
        np.nanmean(X)
        np.nanmean(x > 1)
        np.nanargmin(X, axis=1)
        np.nanmean(k)
    """,
    "nanmin": """
        np.nanmin(x)
        np.nanmax(x)
        np.nanmin(X, axis=0)
        np.nanmax(X, axis=1)
        np.nanargmax(x)
        np.nanargmin(x)
    """,
    "nanstd": """
        np.nanstd(x)
        np.nanvar(x)
        np.nanstd(X, axis=0)
        np.nanvar(X, axis=1, ddof=1)
    """,
    "round": """
        np.round(x)
        np.round(x, 2)
        x.round()
        x.round(1)
        np.around(x, decimals=2)
        np.rint(x)
        np.round(X, -1)
        np.fix(x)
        np.ceil(X)
        np.trunc(x)
    """,
    "sign": """
        np.sign(x)
        np.sign(X) * 2
        np.signbit(x)
        np.copysign(x, y)
        np.heaviside(x, 0.5)
        np.abs(x)
        np.absolute(x)
        np.fabs(x)
        abs(x)
        np.negative(x)
        np.positive(x)
        np.square(x)
        np.cbrt(x)
    """,
    "complex": """
        np.angle(c)
        np.conj(c)
        c.conj()
        c.conjugate()
        np.abs(c)
        np.real(x)
        np.conj(x)
        x.real
        np.angle(c, deg=True)
        np.abs(c) ** 2
        np.angle(x)
        np.conjugate(c).T
        x.conj()
    """,
    "searchsorted": """
        np.searchsorted(e, x)
        np.searchsorted(e, x, side='right')
        np.searchsorted(e, x, 'right')
        np.searchsorted(e, s)
        e.searchsorted(1.5)
        np.searchsorted(x, X)
        np.searchsorted(x, 2, side='right')
        np.searchsorted(k, x)
        x.searchsorted(y[::2])
    """,
    "digitize": """
        np.digitize(x, e)
        np.digitize(X, e, right=True)
        np.digitize(x, e[::-1])
        np.digitize(s, e)
        np.digitize(s, e[::-1], True)
        np.digitize(k, np.arange(3))
    """,
    "interp": """
        np.interp(x, e, z)
        np.interp(s, e, z)
        np.interp(1, e, z)
        np.interp(X, e, z, left=1, right=2.5)
        np.interp(x, x[:4], z, None, 0)
    """,
    "bincount": """
        np.bincount(k, minlength=9)
        np.bincount(k, weights=y, minlength=9)
        np.bincount(k, None, n + 4)
        np.bincount(k)
        np.bincount(k, weights=y)
        np.bincount(k[1:]) * 2
        np.bincount(k, y, 0) + 1
    """,
    "histogram": """
        np.histogram(x, 4)
        np.histogram(X, bins=7, range=(0, 4))
        np.histogram(x, 5, density=True)
        np.histogram(x, j, (0.5, 4.0), weights=y)
        np.histogram(k)[0]
        np.histogram(x * 2)[1]
        h, e = np.histogram(x, bins=6); h / h.sum() + e[1]
        np.histogram(x, e)
        np.histogram(X, np.arange(4))[0]
        np.histogram(x, bins=[0, 1, 2.5], density=True)[0]
        h, edges = np.histogram(k, z.cumsum() * 0 + np.arange(4)); h * edges[0]
    """,
    "divmod": """
        np.divmod(x, 2)
        divmod(X, 3)[1]
        np.divmod(s, 2)
        divmod(n, 2)[1] + divmod(n, 3)[0]
        np.divmod(n, 2)
        np.modf(x)
        np.modf(2.5)
        u, v = np.modf(X); u + v
    """,
    "formula": """
        np.sinc(X)
        np.sinc(k)
        np.float_power(np.abs(x), 2)
        np.reciprocal(y + 9)
        np.isin(k, [1, 2])
        ~np.isin(X, (1.5, -2, 3))
        np.polyval([1.0, -2.0, 3.0], x)
        np.polyval([1, 2], X)
        np.polyval([1.5, 2, 3], s)
        np.add(x, y, dtype=np.float64)
        np.multiply(x, 2, dtype=np.float32)
    """,
    "number": """
        np.round(s, 1)
        s.round(1)
        np.around(x[0] * 1.25, 2)
        np.round(2.567, 2)
        np.round(n, 1)
        np.rint(s)
        np.deg2rad(s)
        np.degrees(2.5)
        np.nan_to_num(s, nan=1.5)
        np.isclose(s, 1.0)
        np.isclose(s, x[0] + 1, atol=1.5)
        np.fmax(s, 1.0)
        np.heaviside(s, 0.5)
        np.sinc(s)
        np.fix(s)
        np.positive(s)
        s.clip(0, 2)
        np.clip(s, 0, None)
        s.astype(np.float32)
        s.astype(float) / 3
        np.clip(s, a_min=0, a_max=2)
        sum(np.round(v, 1) for v in x)
        x.item(0)
        x.item(-1) + 1
    """,
    "take": """
        np.take(x, k)
        x.take(k - 1)
        np.take(X, k % 3, axis=1)
        np.take(X, k, 0, mode='clip')
        np.take(x, k * 3 - 7, mode='wrap')
        np.take(z, j)
        np.extract(m, x)
        np.compress(m, x)
        np.argwhere(x > 1)
        np.append(x, s)
        np.append(k, 1.5)
        np.matrix_transpose(X) + 1
        np.permute_dims(A, (2, 0, 1))
        np.take_along_axis(X, np.argmax(X, axis=1, keepdims=True), axis=1)
        np.take_along_axis(X, np.argmin(X, axis=0)[None, :], axis=0)
        np.take_along_axis(x, k, axis=0)
    """,
    "display": """
        np.convolve(x, [1, 0, -1], 'same')
        np.digitize(x, [0, 1, 2])
        np.searchsorted([0, 1, 2], x)
        x.take([0, 1])
        np.sum([x, y], axis=0)
        np.max([s, 2])
        np.std((s, 1.0, 2.0))
        np.array([[1, 2], [3, 4]]) @ x[:2]
        x[:3] * [1, 2, 3]
        np.interp(x, [0, 1, 2], [1.0, 2.0, 3.0])
        np.maximum(x[:2], (1, 2))
    """,
    "pad": """
        np.pad(z, 1)
        np.pad(z, (1, 2), 'constant', constant_values=-1)
        np.pad(z, 2, mode='edge')
        np.pad(X[:, :2], 1)
        np.pad(A, ((0, 0), (1, 2), (1, 0)), mode='edge')
        np.pad(z, (0, 3), mode='reflect')
        np.pad(X, 1, 'symmetric')
        np.pad(X, ((1, 1), (2, 2)), mode='wrap')
        np.pad(X, j)
        np.pad(X, ((j, j), (0, 1)), mode='reflect')
        np.pad(x, (j, n - 1), 'symmetric')
        np.pad(x, n)
    """,
    "cross": """
        np.cross(x[:3], y[:3])
        np.cross(X[:, :3], Y[:, :3])
    """,
    "ufunc": """
        np.add(x, y)
        np.add(x, y, out=z0)
        np.add(x, y, z0)
        np.multiply(x, 2, out=x)
        np.add(x, y, where=m, out=z0)
        np.divide(x, y, out=z0, where=y != 0)
        np.divide(x, y, out=np.zeros_like(x), where=y != 0)
        np.exp(-x)
        np.log1p(np.abs(x))
        np.hypot(x, y)
        np.arctan2(x, y)
        np.power(x, 2)
        np.mod(x, 3)
        np.fmod(x, 3)
        np.maximum(x, y)
        np.fmax(x, y)
        np.fmin(x, y)
        np.logical_and(x > 1, y > 1)
        np.logical_not(m)
        np.bitwise_and(k, 3)
        np.left_shift(k, 1)
        np.not_equal(x, y)
        np.greater(x, 1)
        np.true_divide(x, 3)
        np.floor_divide(x, 2)
        np.subtract(X, y)
        np.deg2rad(x)
        np.radians(x)
        np.rad2deg(x)
        np.degrees(x)
        np.exp2(x)
        np.logical_xor(m, x > 1)
        np.invert(k)
        np.remainder(x, 2)
        np.tanh(x)
        np.arcsin(x / 8)
    """,
    "operator": """
        x + y
        X * y
        -x
        x ** 2
        x ** 3
        x / y
        x // 2
        x % 2
        x > y
        x == y
        (x > 1) & (y < 2)
        (x > 1) | (y < 2)
        ~(x > 1)
        x[1:] - x[:-1]
        x[::-1] + x
        2 ** x
        X + x[:4, None]
        x * 2.5 + y
        k << 1
        k & 1
        x @ y
        abs(x)
        +x
        x * s
        np.float32(2) * x
        not x.any()
        x.size
        x.shape
        x.ndim
        X.shape[0] * 2
        len(X)
    """,
    "average": """
        np.average(x)
        np.average(x, weights=y)
        np.average(X, axis=0)
        np.average(X, weights=Y)
        np.average(x, None, y)
        np.average(X, axis=0, weights=z + 9)
        np.average(A, axis=1, weights=np.arange(4))
    """,
    "linalg": """
        np.linalg.norm(x)
        np.linalg.norm(X, axis=1)
        np.linalg.norm(x - y)
        np.linalg.norm(X)
        np.linalg.norm(k)
        x / np.linalg.norm(x)
        np.linalg.norm(X, axis=0, keepdims=True)
        np.linalg.norm(x, 2)
        np.linalg.norm(x, 1)
        np.linalg.norm(x, ord=np.inf)
        np.linalg.norm(x, -np.inf)
        np.linalg.norm(X, 'fro')
        np.linalg.norm(X, ord=1, axis=1)
        np.linalg.norm(X, np.inf, axis=0)
        np.linalg.norm(X, 1)
        np.linalg.norm(X, np.inf)
        np.linalg.norm(A, axis=(1, 2))
        np.linalg.norm(k, 1)
    """,
    "vector_norm": """
        np.linalg.vector_norm(x)
        np.linalg.vector_norm(X)
        np.linalg.vector_norm(X, axis=1)
        np.linalg.vector_norm(X, axis=(0, 1))
        np.linalg.vector_norm(A, axis=(0, -1))
        np.linalg.vector_norm(X, keepdims=True)
        np.linalg.vector_norm(X, axis=0, keepdims=True)
        np.linalg.vector_norm(x - y, ord=1)
        np.linalg.vector_norm(X, ord=0, axis=-1)
        np.linalg.vector_norm(X, ord=np.inf)
        np.linalg.vector_norm(X, ord=-np.inf, axis=0)
        np.linalg.vector_norm(X > 1, axis=0)
        np.linalg.vector_norm(k, ord=1)
    """,
    "cov": """
        np.cov(x, y)
        np.cov(X)
        np.cov(X, rowvar=False)
        np.cov(X.T, bias=True)
        np.cov(X, ddof=0)
        np.cov(k, x, bias=True)
        np.corrcoef(x, y)[0, 1]
        np.corrcoef(X)
        np.corrcoef(X[:, :3], rowvar=False)
    """,
    "grids": """
        np.meshgrid(x, y)[0]
        np.meshgrid(x, y, indexing='ij')[1]
        u, v = np.meshgrid(np.arange(n), np.linspace(0, 1, 4)); u * v
        np.meshgrid(x, k)
        np.indices((3, n))
        u, v = np.indices(X.shape, dtype=np.float64); u * 9 + v
        np.kron(x, y)
        np.kron(X, Y)
        np.vander(x)
        np.vander(x, 3, increasing=True)
    """,
    "triangles": """
        np.triu_indices(n, 1)
        np.tril_indices(n)
        np.tril_indices(n, j, 3)
        u, v = np.triu_indices(4, -1); X[v, u]
        X[np.tril_indices(4, -2)]
        np.unravel_index(np.argmax(X), X.shape)
        u, v, w = np.unravel_index(A.argmin(), A.shape); A[u, v, w] + u * 100 + v * 10 + w
        X[np.unravel_index(X.argmax(), X.shape)]
        np.unravel_index(j, (3, 4))
    """,
    "other": """
        np.trapezoid(x)
        np.sum(x, axis=0)
        np.ndim(x)
        np.size(x)
        x.min() + x.max()
        np.logspace(0, 1, n)
        np.geomspace(1, 8, n)
        np.exp(x) / np.sum(np.exp(x))
    """,
    "written": """
        np.copyto(x, y, where=m); x
        np.copyto(x, 1.0, where=x > 1); x
        x.fill(3); x
        X.fill(s); X
        np.fill_diagonal(X, 0); X
        np.putmask(x, x > 1, 0); x
        np.place(x, m, 0); x
        np.add(x, y, out=z0); z0
        np.add(X, y, X); X
        np.multiply(X, Y, out=X); X
        np.add(x, y, out=x); x
        np.subtract(x[1:], x[:-1], out=x[1:]); x
        np.sqrt(np.abs(x), out=z0); z0
        np.maximum(x, 0, out=x); x
        np.greater(x, 1, out=m); m
        np.multiply(x, y, where=m, out=z0); z0
        np.divide(x, y, out=np.zeros_like(x), where=y != 0)
        np.cumsum(x, out=z0); z0
        np.clip(x, 0, 2, out=x); x
        np.dot(X, y, out=z); z
        np.sum(X, axis=1, out=z); z
        np.log(np.abs(x) + 1, out=z0, where=x > 0); z0
        np.add(x, 1, where=m, out=x)
        np.negative(x, out=x)
        np.put(x, k, 1.5); x
        np.putmask(X, X > 1, 0.5); X
    """,
    "trapezoid": """
        np.trapezoid(x, dx=0.5)
        np.trapezoid(x)
        np.trapezoid(X, axis=0)
        np.trapezoid(X, dx=0.1)
        np.trapezoid(x, y)
        np.trapezoid(X, np.arange(n), axis=1)
        np.trapezoid(A, [0, 1, 3, 4], axis=1)
        np.trapezoid(X, X * 2, axis=0)
        np.trapezoid(k)
    """,
    "of one shape": """
        np.cumprod(X, axis=1, out=Y); Y
        np.max(X, axis=0, out=x); x
        np.clip(X, X, Y, out=Y); Y
        np.all(M, axis=1, out=z > 0)
        np.histogram(X, 3, weights=Y)[0]
        np.average(X, axis=1, weights=y + 5)
        X[M]
        Y[X > 1]
        X[M] = 0; X
        X[M] += 1; X
        X[M] = Y[M]; X
        Y[M] = X[M] * Y[M]; Y
        Y[M] = (X + 1)[M]; Y
        A[A[:, :, 0] > 0] = 1; A
        u = X * 2; u[M] = 1; u
        np.putmask(X, M, 0.5); X
        X[:] = Y; X
        X += Y; X
        np.array_equal(X, Y)
        np.add(X, Y, where=M, out=X); X
    """,
    "quantile": """
        np.percentile(x, 25)
        np.percentile(X, 37.5)
        np.quantile(x, 0.9)
        np.nanpercentile(x, 60)
        np.nanquantile(X, 0.5)
        np.nanmedian(x)
        np.nanmedian(X)
        np.percentile(x, 0) + np.percentile(x, 100)
        np.median(x[x > 1])
        [np.percentile(r, [25, 75])[1] for r in X]
        [np.nanquantile(r, (0.1, 0.9))[0] for r in X]
    """,
    "window": """
        np.bartlett(n)
        np.blackman(n)
        np.hamming(n)
        np.hanning(n)
        x * np.hanning(n)
    """,
    "unwrap": """
        np.unwrap(x)
        np.unwrap(x, period=3)
        np.unwrap(x * 2.0, discont=4.0)
        np.unwrap(x, None, -1)
    """,
    "parts": """
        np.isreal(x)
        np.isreal(X)
        np.iscomplex(X)
        np.isreal(c)
        np.iscomplex(c)
        np.isrealobj(x)
        np.iscomplexobj(x)
        np.isrealobj(c)
        np.iscomplexobj(c)
    """,
    "places": """
        np.nonzero(x)
        np.where(x > 1)
        x.nonzero()
        np.nonzero(X > 1)
        np.where(X)
        X.nonzero()[1]
        np.flatnonzero(X > 1)
        X[np.nonzero(X > 1)]
        np.argwhere(X > 1).sum(axis=0)
        np.extract(x > 1, y)
        np.extract(k, x)
        np.compress(k, x)
    """,
    "flat": """
        x.flat[2]
        X.flat[n]
        X.flat[-3]
        A.flat[7]
        len(X.flat)
        [2 * v for v in x.flat]
        x.flat[1] = 3; x
        X.flat[j] = 2; X
    """,
    "in": """
        2 in x
        s in x
        s not in X
        j in k
        j in list(k)
    """,
    "diagonals": """
        np.diag(x, 2)
        np.diag(x, -1)
        np.diagflat(x)
        np.diagflat(x, 1)
        np.diag(x[1:], j)
        np.tril(x)
        np.triu(x, 1)
        np.tril(x[1:], -1)
    """,
    "stretched": """
        np.repeat(x, k)
        x.repeat(k)
        np.repeat(x, m)
        np.repeat(k, k)
        np.repeat(x * 2, k, axis=0)
    """,
    "as it is": """
        np.asfortranarray(x)
    """,
    "vector transposed": """
        x.transpose()
    """,
    "bounds": """
        np.transpose(x)
        np.isneginf(x, None)
        np.clip(x, -1, 1, None)
        x.clip(None, 2, out=None)
    """,
    "allocations": """
        np.ndarray((n, 2), x.dtype).shape
        np.ndarray(shape=(n, 3), dtype=np.int32).size
        np.ndarray(n, "f4", order="C").dtype
        np.ndarray(X.shape, order="F").shape
        np.ndarray([n, 2]).shape
        np.zeros((n, 2), float, "F")
        np.ones((n, 2), "f4", "F") + 1
        np.full((n, 2), 1.5, None, "F")
        np.zeros(n, order=None)
        np.zeros_like(x, shape=(3, 2))
        np.ones_like(x, shape=5) + 1
        np.ones_like(x, None, "K", True, 7)
        np.full_like(x, 2, shape=(2, n))
        np.full_like(x, fill_value=2, dtype=np.float32, shape=3)
        np.ones_like(a=x, subok=False)
        np.zeros_like(x, order="F")
    """,
    "grids of slices": """
        np.mgrid[0:3, 0:4]
        np.mgrid[0:n, 1:4]
        np.mgrid[:n, :2, -1:2]
        np.mgrid[0:n:2, 9:0:-3]
        np.mgrid[j:n + 2]
        np.mgrid[5:3]
        np.mgrid[1:n + 1,]
        np.mgrid[0:len(x), 0:2][1] * 2
        np.mgrid[0:1:5j, -1:1:3j]
        np.mgrid[0:n, 0:2:4j]
        np.mgrid[0.5:n:4j]
        np.mgrid[0:np.int64(n), 1:4]
        np.mgrid[:np.int64(n), np.int64(7):0:-3]
        np.mgrid[np.int64(1):np.int64(n)]
        np.ogrid[0:3, 0:4]
        np.ogrid[0:n, n:0:-1]
        np.ogrid[0:n, -1:1:4j]
        np.ogrid[0:-3, 0:2]
        np.ogrid[0:np.int64(n), n:0:-1]
        np.ogrid[0:n,]
        np.ogrid[:n]
        np.ogrid[0:4, 0:3][0] * np.ogrid[0:4, 0:3][1]
    """,
    "attributes": """
        (x + 1).shape
        (X * 2).T.shape
        (X + 1).size
        np.zeros_like(x).size
        np.empty((n, 2)).shape
        np.empty_like(X).ndim
        len(np.ones((n, 2)))
        (x + 1).dtype
        np.zeros(n, np.float32).dtype
        X.astype(np.float32).dtype
        x.itemsize
        np.sqrt(np.abs(X)).nbytes
        np.zeros(x.shape, dtype=(x * 2).dtype)
        np.full(X.shape, 2, (X > 1).dtype)
        np.zeros(n, dtype=(s + 1).dtype)
        k.astype((x + 1).dtype)
        np.sum(k, dtype=(x + 1).dtype)
        (x + 1).dtype == np.float64
    """,
}
