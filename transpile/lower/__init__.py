"""Lowering: core Python to scalar Loop IR, and the plan of a call.

    def scale(x, k):                    def scale(x: f64[::1], out: mut(f64[::1]), k: f64):
        out = np.empty(len(x))              for i in loop(0, x.shape[0]):
        for i in range(len(x)):     →           out[i] = x[i] / k
            out[i] = x[i] / k
        return out                      plan: x and k are arguments; out is allocated for each call,
                                        by ``np.empty(len(x))``, and is the result; ``np.empty``,
                                        ``len`` and ``range`` must mean the same objects; and NumPy
                                        may warn of line 4, "divide by zero … in scalar divide"

`lower_function.lower` is the entry; the rules for statements, expressions and calls are found
through tables (`STATEMENTS`, `EXPRESSIONS`, `CALLS`). The words that all modules use:

- ``ctx``, a `Lowering`: all that is known while one function is lowered; ``ctx.b``, an `IRBuilder`:
  the kernel under construction; ``b.env``: the `Value` of each Python name at this point.
- `Num`: a scalar, as Loop IR with its type in Python: *strong* if it is NumPy's, *weak* if it is
  Python's; *either*, if that is known at run time only.
- *by the path*, *depending on the data*: known at run time only, since branches or loops decide.
- *require*: what must hold, else Python replays the call. It becomes a guard at kernel entry where
  that is possible, else a check (`guards_and_checks.require`).
- *refuse*: the function, or this part of it, is not compiled, and the report says why.
- *linear form*, *interval*: what is known of an int, by which checks are dropped (`value_ranges`).
- *bind* an expression: assign it to a new variable of the kernel, so that it is computed once
  (`IRBuilder.bind`); *bind* a Python name: give it a value in ``b.env``.
- *live*: the names that are read after a statement; others need no phi.
- ``x``, ``y``: the operands of an operation, as `Num`; ``a``, ``c``: the same as Loop IR, converted
  to one dtype (``b`` is the builder). ``node``: the place in the source, for messages and reports.
"""
