"""Puts the bodies of Python functions in the place of their calls, in Python's order."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import FunctionType

from .. import ops
from ..below import below
from ..lower.refusal import refuse
from ..macros.context import Context
from ..macros.copying import copied
from ..macros.driver import Macro
from ..macros.env import Env
from ..macros.lifting import Lifted, lift_statement
from ..macros.names import bound, own_of, rename, used
from ..macros.ways import NotStructured
from ..options import Options
from ..places import Place, place_of, put
from ..plan import Home, Ref
from ..rejections import Refused
from ..scope import Scope, made_in_c
from ..source import Source
from ..types import ArgType, Function, StandsIn
from .arguments import given, names_of
from .assigned import unassigned
from .callees import Callee, callee_of, local_callee
from .excluded import Less, also, less, without_excluded
from .folding import decided, known, literal
from .homes import Homes
from .methods import Method, is_property, method_of, object_of
from .results import without_return

__all__ = ["Inliner"]

_DEEPEST = 24
_LARGEST = 8_000
"""How many nodes of trees calls may come to in all."""


class Inliner:
    """Inlines the calls of one function, under one call signature.

    ``places``: where nodes came from, by the number that they have. ``spelled``: what its names for
    others are in their source. ``refused``: why calls stayed what they were. `others` are macros
    that come first, `options` the caller's.
    """

    def __init__(
        self, source: Source, env: Env, scope: Scope, types: Mapping[str, ArgType],
        others: Sequence[Macro] = (), options: Options | None = None,
    ) -> None:
        self.tree = copied(source.tree)
        self.spelled: dict[str, str] = {}
        self.refused: list[Refused] = []
        self.source = source
        self.cx = Context(self.tree, env, {})
        self.homes = Homes(scope, own_of(self.tree), self._fresh)
        self.places: list[Place | None] = [None]
        self.locals: dict[str, Callee] = {}
        self.bodies = [self.tree.body]  # the innermost last
        self.written: set[str] = set()  # names that functions of the caller change
        self.calls: list[object] = []  # those that are being inlined, the innermost last
        self.facts: list[Less] = []  # what tests around say
        self.nodes = 0
        self._types = types
        changed = bound(*self.tree.body)
        self._objects = {n: t for n, t in types.items() if n not in changed}
        self._others = others
        self._options = options or Options()
        self._numbers: dict[tuple[object, int], int] = {}
        self._loops = 0

    @property
    def scope(self) -> Scope:
        """The caller's, with names for what helpers know."""
        return self.homes.scope

    def found(self) -> tuple[tuple[Home, ...], tuple[Ref, ...]]:
        """Names that are read ahead, and what must hold at each call."""
        return self.homes.found()

    def whole(self) -> ast.FunctionDef:
        """The function with its calls inlined; those in comprehensions come later."""
        self._name_functions()
        self.tree.body = self.block(self.tree.body)
        return self.tree

    def late(self, node: ast.AST, cx: Context) -> ast.expr | None:
        """As a macro: calls that have come to stand where they can be inlined."""
        if not isinstance(node, ast.expr):
            return None
        outer, self.cx = self.cx, cx
        self._loops += cx.depth
        try:
            found = self._rewrite(node)
        finally:
            self._loops -= cx.depth
            self.cx = outer
        if found is None:
            return None
        names = bound(*found.before)
        cx.facts.own |= names
        cx.facts.moving |= names
        cx.before(*found.before)
        return found.value

    def _fresh(self, hint: str) -> str:
        name = self.cx.fresh(hint)
        while self.scope.resolve(ast.Name(name, ast.Load())) is not None:
            name = self.cx.fresh(hint)
        self.spelled[name] = hint
        return name

    def _name_functions(self) -> None:
        """Arguments that are functions get names that can be asked what they are."""
        changed = bound(*self.tree.body)
        names: dict[str, str | ast.expr] = {
            name: self.homes.name(name, name, ty.value)
            for name, ty in self._types.items()
            if isinstance(ty, Function) and name not in changed
        }
        if names:
            self.tree.body = [rename(s, names) for s in self.tree.body]

    # -- statements

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`statements` with calls inlined."""
        out: list[ast.stmt] = []
        for k, s in enumerate(statements):
            self.cx.at = s
            if (defined := self._defined(s, statements, k)) is not None:
                out += defined
            else:
                out += self._statement(s)
        return out

    def _defined(
        self, s: ast.stmt, block: Sequence[ast.stmt], k: int
    ) -> list[ast.stmt] | None:
        """For a function that is defined in `block` and only called there."""
        match s:
            case ast.FunctionDef(name=name, decorator_list=[]):
                tree: ast.FunctionDef | ast.Lambda = s
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as tree):
                pass
            case _:
                return None
        there = {n for t in (*self.bodies[-1], *block) for n in below(t)}
        here = {n for t in block[k:] for n in below(t)}
        elsewhere = (n for n in there - here if isinstance(n, (ast.Name, ast.FunctionDef)))
        if name in {getattr(n, "id", getattr(n, "name", "")) for n in elsewhere}:
            return None
        given = {a.arg for a in below(self.tree.args) if isinstance(a, ast.arg)}
        if name in bound(*block[k + 1 :]) | self.written | given:
            return None
        return self._define(name, tree)

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

    def _statement(self, s: ast.stmt) -> list[ast.stmt]:
        match s:
            case ast.While(test=test, body=body, orelse=[]) if self._has_calls(test):
                ends = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
                for node in below(ends):
                    if not hasattr(node, "lineno"):
                        ast.copy_location(node, test)
                new = ast.While(ast.copy_location(ast.Constant(True), test), [ends, *body], [])
                s = ast.copy_location(new, s)
            case ast.Expr(value=ast.IfExp(test=test, body=body, orelse=orelse)):
                then, other = (ast.copy_location(ast.Expr(e), e) for e in (body, orelse))
                s = ast.copy_location(ast.If(test, [then], [other]), s)
            case ast.AugAssign(target=ast.Subscript()):
                return self._augmented(s)
            case ast.AugAssign(target=ast.Attribute() as target, value=value) if (
                self._has_calls(value)
            ):
                return self.block(self._read_first(s, target))
        *before, last = self._lifted(s)
        self._descend(last)
        return [*before, *_needed(last, s)]

    def _lifted(self, s: ast.stmt) -> list[ast.stmt]:
        return lift_statement(s, self.cx, self._rewrite) or [s]

    def _read_first(self, s: ast.AugAssign, target: ast.Attribute) -> list[ast.stmt]:
        """An attribute is read, changed in place and set."""
        text = "NAME = TARGET\nNAME += E\nTARGET = NAME"
        lines = self.cx.code(text, NAME=self._fresh(target.attr), TARGET=target, E=s.value)
        assert isinstance(lines[1], ast.AugAssign)
        lines[1].op = s.op
        return lines

    def _augmented(self, s: ast.AugAssign) -> list[ast.stmt]:
        """The element is read before the value is computed: the call must not write any."""
        *before, last = self._lifted(s)
        stores = (n for b in before for n in below(b) if isinstance(n, ast.Subscript))
        return [s] if any(not isinstance(n.ctx, ast.Load) for n in stores) else [*before, last]

    def _descend(self, s: ast.stmt) -> None:
        match s:
            case ast.For() | ast.While():
                self._loops += 1
                s.body = self.block(s.body)
                self._loops -= 1
                s.orelse = self.block(s.orelse)
            case ast.If():
                outer, fact = self.facts, less(s.test)
                if fact and not fact.names & (bound(*s.body) | self.written):
                    self.facts = [*outer, fact]
                s.body = self.block(s.body)
                self.facts = outer
                s.orelse = self.block(s.orelse)

    def _has_calls(self, e: ast.expr) -> bool:
        inner = [*below(e)]
        calls = (n for n in inner if isinstance(n, ast.Call))
        read = (isinstance(n, ast.Attribute) and is_property(n, self._objects) for n in inner)
        return any(read) or any(self._is_inlined(n) for n in calls)

    def _is_inlined(self, call: ast.Call) -> bool:
        try:
            return not is_property(call.func, self._objects) and self._callee(call) is not None
        except Refused:
            return False

    # -- calls

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
        callee = callee_of(function)
        if isinstance(callee, str):
            refuse("LOWER_CALL", f"`{ast.unparse(func)}` {callee}", call)
        return callee, ast.unparse(func)

    def _of(self, method: Method, call: ast.Call) -> tuple[Callee, str]:
        """A method, and what stands for it."""
        callee = callee_of(method.runs)
        if isinstance(callee, str):
            refuse("LOWER_CALL", f"`{ast.unparse(call.func)}` {callee}", call)
        if method.own:
            self.homes.refs[method.own] = False
        return callee, method.said

    def _with_object(self, call: ast.Call) -> ast.Call:
        """A call of a method is given the object first."""
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

    def _resolve(self, e: ast.expr) -> object | None:
        root = e
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.homes.local:
            return None
        return self.scope.resolve(e)

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
        if self.calls.count(callee.key) >= _DEEPEST:
            refuse("LOWER_RECURSION", f"`{callee.name}` calls itself too often", call)
        if callee.function is not None:
            self.homes.guard(said, callee.function)
        body, before = self._body(callee, said, call)
        self.calls.append(callee.key)
        self.bodies.append(body)
        try:
            lines, value = without_return(self.block(body), self.cx)
        except NotStructured:
            refuse("LOWER_CALL", f"`{callee.name}` is left within a statement of Python's", call)
        finally:
            self.calls.pop()
            self.bodies.pop()
        return Lifted([*before, *lines], value)

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


def _is_known(function: FunctionType) -> bool:
    """Whether it is NumPy's or ours, with a meaning of its own."""
    module = str(function.__module__)
    return module == ops.__name__ or module.split(".")[0] == "numpy"


def _changed_within(tree: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Names that functions within declare nonlocal."""
    return {name for n in below(tree) if isinstance(n, ast.Nonlocal) for name in n.names}


def _needed(last: ast.stmt, s: ast.stmt) -> list[ast.stmt]:
    """`last`, unless it is the value of a call that nobody takes."""
    if last is s or not isinstance(last, ast.Expr):
        return [last]
    return [] if isinstance(last.value, (ast.Constant, ast.Name)) else [last]
