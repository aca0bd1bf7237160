import numpy as np

from transpile import fuse


@fuse
def jitter(a, out, noise):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a)):
        noise[i] = np.random.gamma(2.0)

jitter(np.ones(8), np.zeros(8), np.zeros(8))
