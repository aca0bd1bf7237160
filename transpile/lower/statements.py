"""Statements of core Python: assignments, branches, lists under construction."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from loopir.nodes import Append, Assign, Call, Const, Expr, If, Param, Stmt, Store, Var, Yield
from loopir.types import DTYPES

from ..infer import Num, cast, choose, constant, exactly, joined, logic
from ..plan import Filled, Fresh, Returned
from ..ranges import LENGTH, Linear
from ..types import ArrayType
from .arrays import ALLOCATORS, allocation
from .builder import ArrayRef, ListRef, Made, Unbound, Value, refuse, span
from .liveness import assigned, reads
from .loops import Loops
from .pytext import as_python, inlined
from .store import as_item

__all__ = ["Built", "Statements"]

_SLACK = 64  # elements that a full vector store may write beyond the last one


@dataclass
class Built:
    """A list under construction: its buffer, element type, and its length where that is known
    before it is filled.
    """

    name: str
    buffer: str
    dtype: str | None = None
    weak: bool = False
    length: Num | None = None
    returned: bool = False


class Statements(Loops):
    """Lowers statements."""

    lists: dict[str, Built]

    def statements(self, block: Sequence[ast.stmt], live: frozenset[str]) -> None:
        for k, stmt in enumerate(block):
            self.statement(stmt, live | frozenset(reads(block[k + 1 :])))

    def statement(self, stmt: ast.stmt, live: frozenset[str]) -> None:
        match stmt:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item]
                )
            ):
                self._append(name, item, stmt)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assign(name, value, stmt)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._assign(name, value, stmt)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self.store(target, self._storable(value), stmt)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                self._unpack(targets, value, stmt)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                read = ast.copy_location(ast.Name(name, ast.Load()), target)
                if self.array(read) is not None:
                    refuse(
                        "LOWER_UNSUPPORTED", f"`{ast.unparse(stmt)}` changes a whole array", stmt
                    )
                self._bind(name, self.binary(type(op), self.num(read), self.num(value), stmt))
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                read_at = ast.copy_location(
                    ast.Subscript(target.value, target.slice, ast.Load()), target
                )
                self.store(
                    target, self.binary(type(op), self.num(read_at), self.num(value), stmt), stmt
                )
            case ast.If(test=test, body=[ast.Raise()], orelse=[]):
                self.b.require(logic("not", self.test(test)), "GUARD_RAISES", stmt)
            case ast.If(test=test, body=body, orelse=orelse):
                self._if(test, body, orelse, stmt, live)
            case ast.For():
                grows = self._appended_names([stmt])
                self.open_lists |= grows
                self.loop(stmt, live)
                self.open_lists -= grows
            case _:
                kind = type(stmt).__name__.lower()
                refuse("LOWER_UNSUPPORTED", f"a `{kind}` statement is not compiled here", stmt)

    # -- assignment

    def _assign(self, name: str, value: ast.expr, stmt: ast.stmt) -> None:
        b = self.b
        if isinstance(value, ast.List) and not value.elts:
            if b.frames or b.branches:
                refuse("LOWER_UNSUPPORTED", "a list is made inside a loop or branch", stmt)
            if name in self.lists:
                refuse("LOWER_UNSUPPORTED", f"another list is made under the name `{name}`", stmt)
            b.env[name] = ListRef(name)
            self.lists[name] = Built(name, b.name(f"{name.lstrip('_') or 'list'}_items"))
            return
        if isinstance(value, ast.Name) and isinstance(b.env.get(value.id), ListRef):
            b.env[name] = b.env[value.id]
            return
        if isinstance(value, ast.Call):
            function = self._resolve(value.func)
            if any(function is f for f in ALLOCATORS):
                self._allocate(name, value)
                return
            match value.args:
                case [ast.Name(id=source)] if isinstance(
                    got := b.env.get(source), ListRef
                ) and function in (np.array, list):
                    made = self._made(got.name, value)
                    b.env.update({n: Unbound() for n, v in b.env.items() if v == got})
                    b.env[name] = made
                    return
        array = self.array(value)
        if array is not None:
            b.env[name] = array
            return
        self._bind(name, self.num(value))

    def from_list(self, call: ast.Call, name: str) -> Returned:
        """``np.array`` or ``list`` of a list under construction."""
        raise NotImplementedError

    def _made(self, source: str, call: ast.Call) -> Made:
        b, built = self.b, self.lists[source]
        if b.frames or b.branches:
            refuse("LOWER_UNSUPPORTED", f"`{source}` is used before it is finished", call)
        returned = self.from_list(call, source)
        if built.length is None or built.dtype is None or not isinstance(returned, Filled):
            return Made(returned, None)
        return Made(returned, ArrayRef(returned.name, built.dtype, 0, (built.length,)))

    def _bind(self, name: str, n: Num) -> None:
        """Gives `n` its Python name; expressions of known ints stay expressions, all else is
        computed once.
        """
        b = self.b
        keep = isinstance(n.ir, (Const, Var)) or (n.python_int and n.linear is not None)
        b.env[name] = n if keep else b.rebind(n, name)

    def _storable(self, value: ast.expr) -> Num:
        if self.array(value) is not None:
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(value)}` is a whole array", value)
        return self.num(value)

    def stored(self, value: Num, dtype: str, node: ast.AST) -> Expr:
        return as_item(self.b, value, dtype, node)

    def _unpack(self, targets: list[ast.expr], value: ast.expr, stmt: ast.stmt) -> None:
        values: Sequence[Value]
        if isinstance(value, ast.Tuple):
            values = [self.b.rebind(self.num(v), "t") for v in value.elts]
        else:
            got = self.value(value)
            values = got if isinstance(got, tuple) else ()
        if len(values) != len(targets) or not all(isinstance(t, ast.Name) for t in targets):
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(stmt)}` cannot be compiled", stmt)
        for target, v in zip(targets, values, strict=True):
            assert isinstance(target, ast.Name)
            self.b.env[target.id] = v

    def _allocate(self, name: str, call: ast.Call) -> None:
        b = self.b
        if b.frames or b.branches:
            refuse(
                "LOWER_UNSUPPORTED",
                f"`{ast.unparse(call)}` is allocated inside a loop or branch",
                call,
            )
        function = self.known(call.func)
        ty, shape = allocation(function, call, self.array, self._extents, self.num, self.known)
        text = inlined(call, self.b, frozenset(self.arguments))
        self._fresh(b.name(name), name, text, ty, shape)

    def _fresh(
        self, unique: str, name: str, text: str, ty: ArrayType, shape: tuple[Num, ...]
    ) -> None:
        b = self.b
        b.params[unique] = Param(unique, ty.dtype, ty.rank, ty.unit)
        b.bindings[unique] = Fresh(unique, text, ty)
        b.fresh.add(unique)
        b.env[name] = ArrayRef(unique, ty.dtype, ty.unit, shape)

    def _extents(self, node: ast.expr) -> tuple[Num, ...]:
        match node:
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return tuple(self._extent(e) for e in elts)
            case _:
                if isinstance(node, (ast.Attribute, ast.Name)):
                    got = self.value(node)
                    if isinstance(got, tuple):
                        return got
                return (self._extent(node),)

    def _extent(self, node: ast.expr) -> Num:
        n = self.num(node)
        if not n.python_int:
            refuse("LOWER_UNSUPPORTED", f"the length `{ast.unparse(node)}` is not an int", node)
        return replace(n, interval=(max(0, n.interval[0]), min(LENGTH[1], n.interval[1])))

    # -- branches

    def _if(
        self,
        test: ast.expr,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        stmt: ast.If,
        live: frozenset[str],
    ) -> None:
        b = self.b
        raw = self.test(test)
        if isinstance(raw, Const):
            self.statements(body if raw.value else orelse, live)
            return
        cond = b.bind(raw, "cond")
        outer = dict(b.env)
        then, then_env = self._branch(body, live, outer)
        other, other_env = self._branch(orelse, live, outer)
        yields: list[Yield] = []
        for name in sorted(assigned(body) | assigned(orelse)):
            self._merge(
                name, cond, then_env.get(name), other_env.get(name), yields, name in live, stmt
            )
        if self._extremum(raw, then, other, yields):
            return
        for name in b.params:  # globals first read in a branch
            for env in (then_env, other_env):
                if name in env and name not in b.env:
                    b.env[name] = env[name]
        if then or other or yields:
            b.block.append(If(cond, tuple(then), tuple(other), tuple(yields), span=span(stmt)))
        for y in yields:
            self._note_growth(y, then_env, other_env)

    def _branch(
        self, block: list[ast.stmt], live: frozenset[str], outer: dict[str, Value]
    ) -> tuple[list[Stmt], dict[str, Value]]:
        b = self.b
        out: list[Stmt] = []
        b.branches += 1
        with b.into(out):
            self.statements(block, live)
        b.branches -= 1
        env = dict(b.env)
        b.env.clear()
        b.env.update(outer)
        return out, env

    def _merge(
        self,
        name: str,
        cond: Expr,
        a: Value | None,
        c: Value | None,
        yields: list[Yield],
        live: bool,
        stmt: ast.If,
    ) -> None:
        """The value of `name` after both branches."""
        b = self.b
        if a == c and a is not None:
            b.env[name] = a
            return
        if not (isinstance(a, Num) and isinstance(c, Num)):
            b.env[name] = Unbound()
            return
        carrier = self._carrier(a, c)
        if carrier is None:
            if live:
                refuse("LOWER_JOIN", f"`{name}` has a different type in each branch", stmt)
            b.env[name] = Unbound()
            return
        y = Yield(b.name(name), cast(a.ir, carrier), cast(c.ir, carrier))
        yields.append(y)
        merged = joined(Var(y.name, carrier), cond, a, c)
        if a.is_weak is not None or c.is_weak is not None:  # told by names of the branches
            flag = Yield(b.name(f"{name}_py"), a.weak_now, c.weak_now)
            yields.append(flag)
            merged = replace(merged, is_weak=Var(flag.name, "bool"))
        if merged.python_int:
            merged = b.integer_num(merged.ir, merged.interval)
        b.env[name] = merged

    def _extremum(
        self, cond: Expr, then: list[Stmt], other: list[Stmt], yields: list[Yield]
    ) -> bool:
        """``if v > m: m = v`` is ``m = max(m, v)``."""
        if len(yields) != 1 or not all(isinstance(s, Assign) for s in (*then, *other)):
            return False
        defined = {s.name: s.value for s in (*then, *other) if isinstance(s, Assign)}
        (y,) = yields
        sides = [defined.get(e.name, e) if isinstance(e, Var) else e for e in (y.then, y.orelse)]
        best = choose(cond, *sides)
        if not (isinstance(best, Call) and best.op in ("max", "min")):
            return False
        self.b.emit(Assign(y.name, best))
        return True

    @staticmethod
    def _carrier(a: Num, c: Num) -> str | None:
        if (a.strong and c.strong and a.strong != c.strong) or (
            a.weak and c.weak and a.weak != c.weak
        ):
            return None
        if a.dtype == c.dtype:
            return a.dtype if a.exact and c.exact else None
        for x, y in ((a, c), (c, a)):
            if exactly(y.ir, x.dtype) and x.strong and x.exact:
                return x.dtype
        return "f64" if a.exact and c.exact and {a.dtype, c.dtype} <= {"f32", "f64"} else None

    def _note_growth(
        self, y: Yield, then_env: dict[str, Value], other_env: dict[str, Value]
    ) -> None:
        """Keeps track of how far a conditional update moves an integer accumulator."""
        b = self.b
        var = Var(y.name, y.then.dtype)
        if var.dtype != "i64":
            return
        sides = [Linear.of(e) for e in (y.then, y.orelse)]
        for env in (then_env, other_env):
            for v in env.values():
                if isinstance(v, Num) and v.linear is not None:
                    sides = [
                        v.linear if v.ir == e else s
                        for s, e in zip(sides, (y.then, y.orelse), strict=True)
                    ]
        for base in {a for s in sides for a in s.terms}:
            grown = [self.growth_from(s, base) for s in sides]
            if all(g is not None for g in grown):
                lows, highs = zip(*(g for g in grown if g is not None), strict=True)
                b.deltas[var] = (base, (min(lows), max(highs)))
                return

    # -- lists

    def appended(self, block: Sequence[ast.stmt]) -> set[str]:
        """The counters of the lists that `block` appends to."""
        names = self._appended_names(block)
        return {f"#{n}" for n in names if n in self.lists and not self._one_each(n)}

    @staticmethod
    def _appended_names(block: Sequence[ast.stmt]) -> set[str]:
        return {
            n.func.value.id
            for s in block
            for n in ast.walk(s)
            if isinstance(n, ast.Call)
            and isinstance(n.func, ast.Attribute)
            and n.func.attr == "append"
            and isinstance(n.func.value, ast.Name)
        }

    def _one_each(self, name: str) -> bool:
        """Whether every iteration of one loop appends exactly one element."""
        return name in self.plain

    plain: set[str]

    def length_of_list(self, node: ast.expr) -> Num | None:
        got = self.b.env.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(got, ListRef):
            return None
        if not self._one_each(got.name):
            counter = self.b.env.get(f"#{got.name}")
            return counter if isinstance(counter, Num) else None
        length = self.lists[got.name].length
        if self.b.frames:
            refuse("LOWER_UNSUPPORTED", f"the length of `{got.name}` is asked while it grows", node)
        return length if length is not None else constant(0)

    def finished_list(self, name: str) -> ArrayRef | None:
        built = self.lists[name]
        if self._growing(name) or built.length is None or built.dtype is None:
            return None
        return ArrayRef(built.buffer, built.dtype, 0, (built.length,), weak=built.weak)

    def _growing(self, name: str) -> bool:
        return name in self.open_lists

    open_lists: set[str]

    def _append(self, name: str, item: ast.expr, stmt: ast.stmt) -> None:
        b = self.b
        built = self.lists.get(name)
        if built is None or b.env.get(name) != ListRef(name):
            refuse("LOWER_UNSUPPORTED", f"`{name}` is not a list made here", stmt)
        assert built is not None
        n = self.num(item)
        if n.either or n.boxed or not n.exact:
            refuse("LOWER_JOIN", f"the elements of `{name}` have different types", stmt)
        if built.dtype not in (None, n.dtype) or (built.dtype and built.weak != (n.strong is None)):
            refuse("LOWER_JOIN", f"the elements of `{name}` have different types", stmt)
        built.dtype, built.weak = n.dtype, n.strong is None
        if not b.frames:
            refuse("LOWER_UNSUPPORTED", f"`{name}.append` stands outside a loop", stmt)
        buffer = self._buffer(built, stmt)
        if self._one_each(name):
            b.emit(Store(buffer, (b.frames[-1].var,), n.ir, span=span(stmt)))
            built.length = b.integer_num(b.frames[-1].trips)
            return
        counter = b.env.get(f"#{name}")
        assert isinstance(counter, Num)
        assert isinstance(counter.ir, Var)
        b.emit(Append(buffer, counter.ir.name, n.ir, span=span(stmt)))

    def _buffer(self, built: Built, stmt: ast.stmt) -> str:
        name = built.buffer
        if name in self.b.params:
            return name
        factors = []
        for frame in self.b.frames:
            if not self.b.invariant(frame.trips):
                refuse(
                    "LOWER_UNSUPPORTED",
                    f"the length of `{built.name}` is not known before the loop",
                    stmt,
                )
            factors.append(as_python(frame.trips))
        length = " * ".join(factors) + ("" if self._one_each(built.name) else f" + {_SLACK}")
        assert built.dtype is not None
        ty = ArrayType(built.dtype, 1, 0)
        text = f"_np.empty({length}, '{DTYPES[built.dtype].numpy.str}')"
        self.b.params[name] = Param(name, ty.dtype, 1, 0)
        self.b.bindings[name] = Fresh(name, text, ty)
        self.b.fresh.add(name)
        return name
