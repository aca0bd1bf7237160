"""Lower the statements of core Python: assignment, unpacking, expression statements, `raise`."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

from loopir.algebra.index_builder import logical_not
from loopir.nodes import Const, Expr, Var

from ..analysis.liveness import always_raises, names_read_after
from ..frontend.ast_names import bound_names
from ..frontend.core_nodes import ReplayIf, copy_location
from ..frontend.refusal import refuse, refuse_unknown_length
from ..frontend.source import span_of
from ..types.typed_values import FALSE, ComplexPair, Num, bool_op
from .arrays.alias_states import first_ambiguous_array
from .arrays.alias_versioning import Forks
from .arrays.array_allocators import is_allocator
from .arrays.stream_compaction import match_append, match_compaction
from .complex.complex_split import PARTS_CALL, PYTHON_PARTS_CALL, NeedsComplexSplit
from .lists.append_only_lists import LIST_TO_ARRAY
from .scalars.scalar_operands import as_array_item
from .scalars.tagged_unions import narrowed_unions
from .state.symbol_values import (
    FinishedList,
    ListRef,
    Scalar,
    Unbound,
    UnionValue,
    Value,
    type_texts,
)

__all__ = ["Statements"]

_KEYWORDS: dict[type[ast.stmt], str] = {
    ast.AnnAssign: "name: type",
    ast.AsyncFor: "async for",
    ast.AsyncFunctionDef: "async def",
    ast.AsyncWith: "async with",
    ast.ClassDef: "class",
    ast.Delete: "del",
    ast.FunctionDef: "def",
    ast.ImportFrom: "import",
}
"""Of statements that are not called by their keyword."""


class Statements(Forks):
    """Lowers statements."""

    def statements(self, block: Sequence[ast.stmt], live: frozenset[str]) -> None:
        k, on = 0, names_read_after(block)
        while k < len(block):
            self.b.here = span_of(block[k])
            found = match_compaction(block[k:])
            value = match_append(block[k : k + 2], self.appending)
            apart = self.apart(block[k])
            if apart is not None:
                end = self.until_one(block, k)
                after = live | on[end]
                self.fork(apart, block[k:end], after)
                k = end
            elif found is not None and self.can_compact(found):
                self.compact(found, live | on[k + 3])
                k += 4
            elif value is not None:
                self.append_to(block[k], value)
                k += 2
            else:
                self.statement(block[k], live | on[k + 1])
                self._note_types(block[k])
                k += 1

    def _note_types(self, stmt: ast.stmt) -> None:
        """What the names that `stmt` itself binds stand for after it."""
        targets: list[ast.expr] = []
        match stmt:
            case ast.Assign(targets=targets):
                pass
            case ast.AugAssign(target=target) | ast.For(target=target):
                targets = [target]
        for name in bound_names(*targets):
            for text in type_texts(self.b.env.get(name)):
                self.b.typed[name, text] = None

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
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                self.is_counted(name, value, stmt)
            ):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assign(name, value, stmt)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self.store(target, self._storable(value), stmt)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                self._unpack(targets, value, stmt)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                read = copy_location(ast.Name(name, ast.Load()), target)
                if self.array(read) is not None:
                    refuse(
                        "LOWER_UNSUPPORTED", f"`{ast.unparse(stmt)}` changes a whole array", stmt
                    )
                operate = partial(self.operated, type(op), node=stmt)
                self._bind(name, self.each(operate, stmt, self.scalar(read), self.scalar(value)))
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                read_at = copy_location(
                    ast.Subscript(target.value, target.slice, ast.Load()), target
                )
                operate = partial(self.operated, type(op), node=stmt)
                got = self.each(operate, stmt, self.scalar(read_at), self.scalar(value))
                self.store(target, got, stmt)
            case ReplayIf(test=test, orelse=orelse):
                self._fitting(test, stmt)
                self.statements(orelse, live)
            case ast.Delete(targets=targets) if all(isinstance(t, ast.Name) for t in targets):
                for t in targets:
                    self.unbind(t)
            case ast.If() | ast.Raise() | ast.Assert() if (
                rest := self._without_raise(stmt)
            ) is not None:
                self.statements(rest, live)
            case ast.If(test=test, body=body, orelse=orelse):
                self._if(test, body, orelse, stmt, live)
            case ast.For() | ast.While():
                grows = self._appended_names([stmt])
                self.open_lists |= grows
                self.loop(stmt, live)
                self.open_lists -= grows
                self.counted(grows)
            case ast.Expr(value=ast.Name() | ast.Attribute() as asked):
                self.ask(asked)
            case ast.Expr(value=value):
                self._said(value, stmt)
            case _:
                kind = _KEYWORDS.get(type(stmt)) or type(stmt).__name__.lower()
                refuse("LOWER_UNSUPPORTED", f"a `{kind}` statement is not compiled here", stmt)

    def _without_raise(self, stmt: ast.stmt) -> Sequence[ast.stmt] | None:
        """What is left of a statement that raises, after asking whether it does; None: of others.
        """
        match stmt:
            case ast.If(test=test, body=body, orelse=orelse) if always_raises(body):
                cond, rest = bool_op("not", self.test(test)), orelse
            case ast.If(test=test, body=body, orelse=orelse) if always_raises(orelse):
                cond, rest = self.test(test), body
            case ast.Raise() | ast.Assert(test=ast.Constant(value=False)):
                cond, rest = FALSE, []
            case _:
                return None
        self.b.require(cond, "GUARD_RAISES", stmt)
        self.b.env.update(narrowed_unions(self.b.env, cond))
        return rest

    def _said(self, value: ast.expr, stmt: ast.stmt) -> None:
        match value:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="resize"), args=[lengths],
                keywords=[ast.keyword(arg="refcheck", value=ast.Constant(value=False))],
            ):
                self.cut(name, lengths, stmt)
                return
            case ast.Call(func=func):
                self.no_library(value, self._resolve(func))
        said = ast.unparse(value).partition("\n")[0]
        refuse("LOWER_UNSUPPORTED", f"`{said}` is not compiled as a statement", stmt)

    def _fitting(self, test: ast.expr, stmt: ast.stmt) -> None:
        """Where one of the alternatives of `test` holds, Python must answer."""
        match test:
            case ast.BoolOp(op=ast.Or(), values=several):
                pass
            case _:
                several = [test]
        for each in several:
            self.b.require(logical_not(self.test(each)), "GUARD_SHAPE", stmt)

    def _assign(self, name: str, value: ast.expr, stmt: ast.stmt) -> None:
        b = self.b
        if self.names_field(name, value) or self.names_held(name, value):
            return
        if isinstance(value, ast.List) and not value.elts:
            if b.frames or b.branches:
                refuse_unknown_length(name, "a list is made inside a loop or branch", stmt)
            if name in self.lists:
                refuse_unknown_length(name, f"another list is made under the name `{name}`", stmt)
            b.env[name] = ListRef(name)
            self.lists[name] = self.built(name, b.name(f"{name.lstrip('_') or 'list'}_items"))
            return
        if isinstance(value, ast.Name) and isinstance(b.env.get(value.id), ListRef):
            b.env[name] = b.env[value.id]
            return
        if isinstance(value, ast.Call):
            function = self._resolve(value.func)
            if is_allocator(function):
                self.allocate(name, value)
                return
            if (shaped := self.shaped(value)) is not None:
                b.env[name] = shaped
                return
            match value.args:
                case [ast.Name(id=source)] if isinstance(
                    got := b.env.get(source), ListRef
                ) and function in (*LIST_TO_ARRAY, list, tuple):
                    made = self._made(got.name, value)
                    b.env.update({n: Unbound() for n, v in b.env.items() if v == got})
                    b.env[name] = made
                    return
        if self.holds_items(name, value) or self.holds_repeated(name, value):
            return
        if isinstance(value, ast.Name) and (of := first_ambiguous_array(b, [value.id])) is not None:
            b.env[name] = of
            return
        whole = self.records(value) or self.array(value)
        if whole is not None:
            b.env[name] = whole
            return
        self._bind(name, self.scalar(value))

    def shaped(self, node: ast.Call) -> FinishedList | None:
        """An array that was made here, in another shape: a view that can only be returned."""
        raise NotImplementedError

    def _bind(self, name: str, n: Scalar) -> None:
        """Gives `n` its Python name; known ints stay expressions, all else is computed once."""
        b = self.b
        if isinstance(n, ComplexPair):
            raise NeedsComplexSplit(name, python=n.strong is None)
        if isinstance(n, UnionValue):
            b.env[name] = self.rebound(n, name)
            return
        keep = isinstance(n.ir, (Const, Var)) or (n.python_int and n.linear is not None)
        b.env[name] = n if keep else b.rebind(n, name)

    def _storable(self, value: ast.expr) -> Scalar:
        if self.array(value) is not None:
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(value)}` is a whole array", value)
        return self.scalar(value)

    def stored(self, value: Num | UnionValue, dtype: str, node: ast.AST) -> Expr:
        if isinstance(value, Num):
            return as_array_item(self.b, value, dtype, node)
        items = self.each(lambda n: Num(as_array_item(self.b, n, dtype, node), dtype), node, value)
        assert isinstance(items, Num)
        return items.ir

    def _unpack(self, targets: list[ast.expr], value: ast.expr, stmt: ast.stmt) -> None:
        values: Sequence[Value]
        if isinstance(value, ast.Tuple):
            values = [self.rebound(self.scalar(v), "t") for v in value.elts]
        elif isinstance(value, ast.Call) and ast.unparse(value.func) in (
            PARTS_CALL,
            PYTHON_PARTS_CALL,
        ):
            hints, python = [ast.unparse(t) for t in targets], ast.unparse(value.func) != PARTS_CALL
            number = self.rebound(self.number(value.args[0]), hints[0])
            values = self.parts(number, hints[0], stmt, python=python)
        else:
            got = self.value(value)
            values = got if isinstance(got, tuple) else ()
        if len(values) != len(targets) or not all(isinstance(t, ast.Name) for t in targets):
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(stmt)}` cannot be compiled", stmt)
        for target, v in zip(targets, values, strict=True):
            assert isinstance(target, ast.Name)
            self.b.env[target.id] = v
