"""What a call runs, under names of its own: the body of a function, its arguments bound."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ..below import below
from ..lower.refusal import refuse
from ..macros.assigned import unassigned
from ..macros.context import Context
from ..macros.copying import copied
from ..macros.env import Env
from ..macros.names import bound, own_of, rename, used
from ..places import Place, place_of, put
from ..rejections import Refused
from ..scope import Scope
from ..source import Source
from ..types import ArgType
from .arguments import given, names_of
from .callees import Callee, local_callee
from .excluded import Less, also, without_excluded
from .folding import decided, known, literal
from .homes import Homes
from .methods import object_of

__all__ = ["Bodies"]

_LARGEST = 8_000
"""How many nodes of trees calls may come to in all."""


class Bodies:
    """Bodies of the functions that one function calls, under one call signature.

    ``places``: where nodes came from, by the number that they have. ``spelled``: what its names for
    others are in their source. ``refused``: why calls stayed what they were.
    """

    def __init__(
        self, source: Source, env: Env, scope: Scope, types: Mapping[str, ArgType]
    ) -> None:
        self.tree = copied(source.tree)
        self.spelled: dict[str, str] = {}
        self.refused: list[Refused] = []
        self.source = source
        self.cx = Context(self.tree, env, {})
        self.homes = Homes(scope, own_of(self.tree), self._fresh)
        self.places: list[Place | None] = [None]
        self.locals: dict[str, Callee] = {}
        self.written: set[str] = set()  # names that functions of the caller change
        self.facts: list[Less] = []  # what tests around say
        self.nodes = 0
        changed = bound(*self.tree.body)
        self._objects = {n: t for n, t in types.items() if n not in changed}
        self._numbers: dict[tuple[object, int], int] = {}
        self._loops = 0

    @property
    def scope(self) -> Scope:
        """The caller's, with names for what helpers know."""
        return self.homes.scope

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`statements` with calls inlined."""
        raise NotImplementedError

    def _fresh(self, hint: str) -> str:
        name = self.cx.fresh(hint)
        while self.scope.resolve(ast.Name(name, ast.Load())) is not None:
            name = self.cx.fresh(hint)
        self.spelled[name] = hint
        return name

    def _body(
        self, callee: Callee, said: str, call: ast.Call
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The statements of `callee` under names of their own, and those that bind arguments."""
        tree = callee.tree
        own = own_of(tree)
        self.cx.taken(used(tree))
        changed = bound(*callee.body) | _changed_within(tree)
        names: dict[str, str | ast.expr] = dict(self.homes.free(callee, said))
        before: list[ast.stmt] = []
        constants: dict[str, object] = {}
        walrus = bound(call)
        self.cx.at = call
        bindings = [*given(callee, call, lambda c, p: self._default(c, said, p))]
        for parameter, value in bindings:
            constant = known(value, {})
            steady = constant is not None or self._is_steady(value)
            if parameter not in changed and not walrus and steady:
                names[parameter] = value if constant is None else literal(constant.value)
                continue
            names[parameter] = name = self._fresh(parameter)
            if constant is not None and parameter in changed:
                constants[name] = constant.value
            else:
                before += self._bind(name, value)
        names.update({n: self._fresh(n) for n in sorted(own - names.keys())})
        fresh = {n for n in names.values() if isinstance(n, str)}
        self.homes.local |= {n for n in fresh if n not in self.scope.others}
        body = [rename(s, names) for s in callee.body]
        self._place(body, callee, call)
        copies = {v.id: names[p] for p, v in bindings if isinstance(v, ast.Name)}
        facts = [*self.facts, *(also(fact, copies) for fact in self.facts)]
        body = without_excluded(decided(body, constants), facts)
        body = body or [ast.copy_location(ast.Pass(), call)]
        return self._whole_names(callee, body, names, constants, call), before

    def _whole_names(
        self, callee: Callee, body: list[ast.stmt], names: Mapping[str, str | ast.expr],
        constants: Mapping[str, object], call: ast.Call,
    ) -> list[ast.stmt]:
        """`body` behind the constants that it still reads. Its names must have values in it, not
        those of the call before.
        """
        local = {n for p in own_of(callee.tree) if isinstance(n := names[p], str)}
        given = {a.arg for a in below(callee.tree.args) if isinstance(a, ast.arg)}
        taken = {n for p in given if isinstance(n := names[p], str)} - constants.keys()
        lines: list[ast.stmt] = []
        while (read := unassigned(body, taken, local)) is not None:
            if read.id not in constants:
                if not self._loops:
                    break
                back = {str(v): k for k, v in names.items()}
                said = f"`{back[read.id]}` of `{callee.name}` may have no value"
                refuse("LOWER_CALL", said, call)
            lines += self.cx.code("NAME = E", NAME=read.id, E=literal(constants[read.id]))
            taken.add(read.id)
        return [*lines, *body]

    def _default(self, callee: Callee, said: str, parameter: str) -> ast.expr | None:
        if callee.function is not None:
            return self.homes.default(said, callee.function, parameter)
        return dict(zip(names_of(callee.tree.args), callee.defaults, strict=True))[parameter]

    def _is_steady(self, e: ast.expr) -> bool:
        """Whether `e` can stand wherever a parameter does that takes it."""
        if isinstance(e, ast.Attribute):
            return object_of(e, self._objects) is not None or self._resolve(e) is not None
        return isinstance(e, ast.Constant) or (isinstance(e, ast.Name) and e.id not in self.written)

    def _bind(self, name: str, value: ast.expr) -> list[ast.stmt]:
        """``name = value``, with what `value` calls inlined."""
        if isinstance(value, ast.Lambda):
            return self._define(name, value)
        return self.block(self.cx.code("NAME = E", NAME=name, E=value))

    def _define(self, name: str, tree: ast.FunctionDef | ast.Lambda) -> list[ast.stmt]:
        """Keeps a function of the caller; its defaults are evaluated now."""
        before: list[ast.stmt] = []
        a = tree.args
        names = [p.arg for p in (*a.posonlyargs, *a.args)]
        pairs = [*zip(names[len(names) - len(a.defaults) :], a.defaults, strict=True)]
        pairs += [(p.arg, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d]
        kept = {}
        for parameter, value in pairs:
            if not isinstance(value, ast.Constant):
                held = self._fresh(parameter)
                before += self.cx.code("NAME = E", NAME=held, E=value)
                value = ast.Name(held, ast.Load())
            kept[parameter] = value
        values = tuple(kept.get(p) for p in names_of(a))
        self.locals[name] = local_callee(tree, self.source.path, values)
        self.written |= _changed_within(tree)
        return self.block(before)

    def _place(self, body: list[ast.stmt], callee: Callee, call: ast.Call) -> None:
        """Puts `body` where `call` is; arguments keep the places that they have."""
        for node in [n for s in body for n in below(s)]:
            self.nodes += 1
            line = getattr(node, "lineno", None)
            if line is not None:
                put(node, call, place_of(node) or self._number(callee, line))
        if self.nodes > _LARGEST:
            refuse("LOWER_RECURSION", f"with `{callee.name}` the calls come to too much code", call)

    def _number(self, callee: Callee, line: int) -> int:
        """The number of a place."""
        key = callee.key, line
        if key not in self._numbers:
            self._numbers[key] = len(self.places)
            self.places.append(Place(callee.name, callee.path, line, callee.function))
        return self._numbers[key]

    def _resolve(self, e: ast.expr) -> object | None:
        root = e
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.homes.local:
            return None
        return self.scope.resolve(e)


def _changed_within(tree: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Names that functions within declare nonlocal."""
    return {name for n in below(tree) if isinstance(n, ast.Nonlocal) for name in n.names}
