import numpy as np

from transpile import fuse


names = {}
exec("def twice(x):\n    return [v * 2.0 for v in x]", names)
twice = fuse(names["twice"])
twice(np.ones(8))
