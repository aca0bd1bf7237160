import numpy as np

from transpile import fuse


from collections import UserList

@fuse
def double(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2

double(UserList([1, 2]), np.zeros(2))
