"""Which calls are inlined: what they run, and why others stay what they are."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import FunctionType

from .. import ops
from ..draws import Draw, draw_of, is_ours
from ..draws.sized import sized
from ..lower.refusal import refuse
from ..macros.copying import copied
from ..macros.driver import Macro, without_attempts
from ..macros.env import Env
from ..macros.lifting import Lifted
from ..macros.objects import held_type
from ..macros.ways import NotStructured
from ..options import Options
from ..rejections import Refused
from ..scope import Scope, made_in_c
from ..signature import outer_type
from ..source import Source
from ..types import ArgType, StandsIn
from .bodies import Bodies
from .callees import Callee, callee_of
from .folding import known
from .methods import Method, is_property, method_of
from .results import without_return

__all__ = ["Calls"]

_DEEPEST, _ALIKE = 24, 3
"""Calls of one function within each other, and those with the same constants."""


class Calls(Bodies):
    """Inlines calls. `others` are macros that come first, `options` the caller's."""

    def __init__(
        self, source: Source, env: Env, scope: Scope, types: Mapping[str, ArgType],
        others: Sequence[Macro] = (), options: Options | None = None,
    ) -> None:
        super().__init__(source, env, scope, types)
        self.bodies = [self.tree.body]  # the innermost last
        self.calls: list[tuple[object, object]] = []  # being inlined, the innermost last
        self._read: dict[FunctionType, Callee | str] = {}
        self._others = others
        self._options = options or Options()

    def _rewrite(self, e: ast.expr) -> Lifted | None:
        match e:
            case ast.Call(func=func) if not is_property(func, self._objects):
                return self._call(e)
            case ast.Attribute(ctx=ast.Load()) if is_property(e, self._objects):
                return self._call(ast.copy_location(ast.Call(e, [], []), e))
            case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=int(k))):
                found = self._call(call)
                return None if found is None else self._item(found, k, e)
        return None

    def _item(self, found: Lifted, k: int, e: ast.Subscript) -> Lifted:
        """Of several results that are all computed, one."""
        match found.value:
            case ast.Tuple(elts=values) if -len(values) <= k < len(values):
                names = [self._fresh("t") for _ in values]
                pairs = zip(names, values, strict=True)
                lines = [b for n, v in pairs for b in self.cx.code("NAME = E", NAME=n, E=v)]
                return Lifted([*found.before, *lines], ast.Name(names[k], ast.Load()))
        taken = ast.Subscript(found.value, e.slice, ast.Load())
        return Lifted(found.before, ast.copy_location(taken, e))

    def _callee(self, call: ast.Call) -> tuple[Callee, str] | None:
        """What `call` runs, and the Python by which it is known; None: nothing of Python's."""
        func = call.func
        if isinstance(func, ast.Lambda):
            self._define(name := self._fresh("lambda"), func)
            return self.locals[name], name
        if isinstance(func, ast.Name) and func.id in self.locals:
            return self.locals[func.id], func.id
        method = method_of(func, self._objects)
        if method is not None:
            return self._of(method, call)
        if sized(call, self._generator, self._resolve) is not None:
            return None
        if (draw := self._draw(func)) is not None:
            return self._known(draw.runs, call), f"_draws.{draw.runs.__name__}"
        value = self._resolve(func)
        known = isinstance(value, FunctionType) and _is_known(value)
        if known or made_in_c(value) or self._is_claimed(call):
            return None
        if isinstance(value, StandsIn) and not self._options.computes_as(value.options):
            said = f"`{ast.unparse(func)}` is fused with options of its own"
            refuse("LOWER_CALL", said, call)
        function = self.homes.plain(func, value)
        if function is None:
            return None
        return self._known(function, call), ast.unparse(func)

    def _of(self, method: Method, call: ast.Call) -> tuple[Callee, str]:
        """A method, and what stands for it."""
        callee = self._known(method.runs, call)
        if method.own:
            self.homes.refs[method.own] = False
        return callee, method.said

    def _known(self, function: FunctionType, call: ast.Call) -> Callee:
        """`function`, whose source is read once."""
        if function not in self._read:
            self._read[function] = callee_of(function)
        callee = self._read[function]
        if isinstance(callee, str):
            refuse("LOWER_CALL", f"`{ast.unparse(call.func)}` {callee}", call)
        return callee

    def _draw(self, func: ast.expr) -> Draw | None:
        """What `func` draws, a method of a generator."""
        return draw_of(func, self._generator, self._resolve)

    def _generator(self, e: ast.expr) -> ArgType | None:
        """The type of what is given, or known by name."""
        found = self._objects.get(e.id) if isinstance(e, ast.Name) else None
        return found or held_type(e, self._objects) or outer_type(self._resolve(e))

    def _with_object(self, call: ast.Call) -> ast.Call:
        """A call of a method is given the object first, or the state of a generator."""
        if (draw := self._draw(call.func)) is not None:
            args = [*self.homes.state(draw), *call.args]
            return ast.copy_location(ast.Call(call.func, args, call.keywords), call)
        method = method_of(call.func, self._objects)
        if method is None or method.static or not isinstance(call.func, ast.Attribute):
            return call
        args = [copied(call.func.value), *call.args]
        return ast.copy_location(ast.Call(call.func, args, call.keywords), call)

    def _is_claimed(self, call: ast.Call) -> bool:
        """Whether a macro of the user's expands it."""
        try:
            return any(m(call, self.cx) is not None for m in self._others)
        finally:
            self.cx.take_before()

    def _call(self, call: ast.Call) -> Lifted | None:
        """The call inlined. One that cannot be may stand where no call comes to it."""
        try:
            found = self._callee(call)
            return None if found is None else self._inlined(self._with_object(call), *found)
        except Refused as refused:
            if refused.rejection.code == "LOWER_RECURSION":
                raise
            self.refused.append(refused)
            return None

    def _inlined(self, call: ast.Call, callee: Callee, said: str) -> Lifted:
        constants = (known(a, {}) for a in (*call.args, *(k.value for k in call.keywords)))
        made = callee.key, tuple(c.value for c in constants if c is not None)
        same = sum(key == callee.key for key, _ in self.calls)
        if same >= _DEEPEST or self.calls.count(made) >= _ALIKE:
            refuse("LOWER_RECURSION", f"`{callee.name}` calls itself too often", call)
        if callee.function is not None and not is_ours(callee.function):
            self.homes.guard(said, callee.function)
        body, before = self._body(callee, said, call)
        self.calls.append(made)
        self.bodies.append(body)
        try:
            body = without_attempts(self.block(body), before, self.cx)
            lines, value = without_return(body, self.cx)
        except NotStructured:
            refuse("LOWER_CALL", f"`{callee.name}` is left within a statement of Python's", call)
        finally:
            self.calls.pop()
            self.bodies.pop()
        return Lifted([*before, *lines], value)


def _is_known(function: FunctionType) -> bool:
    """Whether it is NumPy's or ours, with a meaning of its own."""
    module = str(function.__module__)
    return module == ops.__name__ or module.split(".")[0] == "numpy"
