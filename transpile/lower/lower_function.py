"""Lower a whole function: parameters, body, result and guards.

Lowering restarts with what it has found out (complex names, mixed lists, capacities to be
tried) until nothing new turns up. Folds whose order a loop does not keep are refused here.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from loopir.lazy_dataclass import record
from loopir.nodes import Const, If, Stmt

from ..analysis.liveness import names_read
from ..call_plan import Argument, ClassGuard, ComplexPart, IdentityGuard, ListItems, Plan
from ..diagnostics import Refused
from ..frontend.core_nodes import copy_location, is_fold
from ..frontend.name_resolution import Origin, Scope
from ..frontend.refusal import NoValue, UnknownListLength, refuse
from ..frontend.source import span_of
from ..result_spec import NoneResult, ResultSpec, SelectResult
from ..types.typed_values import FALSE, Num, bool_op
from ..types.value_types import (
    ArgType,
    ArrayType,
    Constant,
    ListType,
    ObjectType,
    Opaque,
    RecordType,
    ScalarType,
)
from .arrays.alias_states import deciding_condition, first_ambiguous_array
from .arrays.subscript_bounds import subscript_only_params
from .assemble_plan import assemble_plan
from .complex.complex_split import NeedsComplexSplit, split_complex_names
from .lists.append_only_lists import NeedsAppendCounter, one_append_lists
from .lists.coalesce_list_names import final_list_name, rename_list
from .lists.dynamic_lists import NeedsTriedCapacity, NewBufferType
from .lists.expand_dynamic_lists import expand_dynamic_lists, find_dynamic_lists
from .lists.fixed_size_lists import NeedsItemFlags
from .lists.list_item_types import BufferType
from .lists.list_uses import uncopied_slices
from .lower_returns import Results, trailing_attribute_stores
from .scalars.tagged_unions import narrowed_unions
from .state.ir_builder import IRBuilder
from .state.symbol_values import RecordArrayRef, UnionValue, Value

__all__ = ["refuse_ordered_folds", "lower"]


def refuse_ordered_folds(tree: ast.FunctionDef) -> None:
    """Raises Refused for the first loop in `tree` (core Python) that stands for such a fold."""
    for n in ast.walk(tree):
        if isinstance(n, ast.For) and is_fold(n):
            refuse("LOWER_LIBRARY", "its order is not a loop's, and reassociate=False keeps it", n)


def lower(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], scope: Scope, *, telling: bool = False
) -> Plan:
    """The plan of `tree` (core Python) for one call signature.

    ``telling``: the kernel tells which of its operations have raised. Raises Refused where the
    function cannot be compiled faithfully.
    """
    return _lower_until_stable(tree, types, scope, _Discoveries(), telling)


@record(frozen=True, slots=True)
class _Discoveries:
    """What turned out: ``names`` that are complex, and are split in two; lists that are ``mixed``,
    or ``counted``, that hold what ``holds`` says, and that get ``unforeseen`` long; whether the
    room of arrays is ``tried``.
    """

    names: Mapping[str, bool] = field(default_factory=dict)
    mixed: Mapping[str, str | None] = field(default_factory=dict)
    counted: frozenset[str] = frozenset()
    holds: Mapping[str, BufferType] = field(default_factory=dict)
    unforeseen: frozenset[str] = frozenset()
    tried: bool = False


def _lower_until_stable(
    tree: ast.FunctionDef,
    types: Mapping[str, ArgType],
    scope: Scope,
    known: _Discoveries,
    telling: bool,
) -> Plan:
    """Where more turns out, all is done again."""
    divided = split_complex_names(tree, known.names)
    try:
        return _FunctionLowering(divided, types, scope, known).plan(telling=telling)
    except NewBufferType as found:
        known = replace(known, holds={**known.holds, found.name: found.held})
    except NeedsTriedCapacity:
        known = replace(known, tried=True)
    except NeedsComplexSplit as found:
        known = replace(known, names={**known.names, found.name: found.python})
    except NeedsItemFlags as found:
        known = replace(known, mixed={**known.mixed, found.name: found.dtype})
    except NeedsAppendCounter as found:
        known = replace(known, counted=known.counted | {found.name})
    except UnknownListLength as found:
        name = final_list_name(tree, found.name)
        more = known.unforeseen | {name}
        tree = tree if name == found.name else rename_list(tree, found.name, name)
        if more == known.unforeseen or name not in find_dynamic_lists(
            split_complex_names(tree, known.names), more
        ):
            raise
        known = replace(known, unforeseen=more)
    except Refused as refused:
        guessed = {
            name: held for name, held in known.holds.items() if held == BufferType(sure=False)
        }
        if refused.rejection.code != "LOWER_JOIN" or not guessed:
            raise
        floats = dict.fromkeys(guessed, BufferType("f64", sure=False))
        known = replace(known, holds={**known.holds, **floats})
    return _lower_until_stable(tree, types, scope, known, telling)


def _captured_names(tree: ast.FunctionDef, scope: Scope) -> set[str]:
    """The names in `tree` that are bound outside: they may become parameters, which keep theirs."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return {n for n in names if scope.find(n)[0] in (Origin.CLOSURE, Origin.GLOBAL)}


class _FunctionLowering(Results):
    def __init__(
        self, tree: ast.FunctionDef, types: Mapping[str, ArgType], scope: Scope,
        known: _Discoveries,
    ) -> None:
        self.growing, self.short = find_dynamic_lists(tree, known.unforeseen), None
        self.holds, self.mixed, self.tried = known.holds, known.mixed, known.tried
        self.complexes = known.names
        self.buffers = {}
        tree = expand_dynamic_lists(tree, self.growing)
        self.steady = uncopied_slices(tree)
        self.repeated = {}
        self.tree, self.types, self.scope = tree, dict(types), scope
        self.fields, self.spelled, self.held = {}, {}, {}
        names = set(types) | _captured_names(tree, scope)
        self.b = IRBuilder(names=names, placed=subscript_only_params(tree))
        self.refs: dict[str, object] = {}
        self.arguments: dict[str, object] = dict(types)
        self.given = tuple(types)
        self.lists, self.before = {}, {}
        self.open_lists = set()
        self.counters: set[str] = set()
        self.appending: dict[str, str] = {}
        self.written: set[str] = set()
        self.plain = one_append_lists(tree) - known.counted
        self.viewed, self.whole_returned = set[str](), set[str]()

    def plan(self, *, telling: bool) -> Plan:
        self._start_counters()
        self.start_lists()
        if telling:
            self.b.told = self.array_name("told")
            self.b.allocate(self.b.told, "", ArrayType("i64", 1, 0))
        returned = self._ending(self.tree.body)
        self._ask_types()
        self.guard_int_params(self.tree)
        if self.b.told is not None:
            room = f"_np.zeros({len(self.b.sources) + 1}, _np.int64)"
            self.b.allocate(self.b.told, room, ArrayType("i64", 1, 0))
        return replace(
            assemble_plan(self.tree, self.types, self.b, returned),
            refs=tuple(IdentityGuard(k, v) for k, v in self.refs.items()),
            given=tuple(
                IdentityGuard(self.spelled.get(k, k), t.value)
                for k, t in self.types.items() if isinstance(t, Constant)
            ),
            objects=tuple(s for n in self.given for s in _class_checks(n, self.types[n])),
            short=self.short,
            typed=(*self.b.typed, *self._complex_types()),
        )

    def _complex_types(self) -> Iterator[tuple[str, str]]:
        """What names hold that are split in two."""
        for name, python in self.complexes.items():
            narrow = (f"{name}_re", "f32") in self.b.typed
            yield name, "complex" if python else "c64" if narrow else "c128"

    def _ask_types(self) -> None:
        """Arguments of which the types alone have decided something are to have them again."""
        bindings = self.b.bindings.values()
        known = {b.of.name if isinstance(b, ComplexPart) else b.name for b in bindings}
        known |= {b.text for b in bindings if isinstance(b, ListItems)}
        asked = (
            names_read(self.tree.body) | self.held.keys() | {f.name for f in self.fields.values()}
        )
        for name in sorted(asked & self.types.keys() - known):
            if isinstance(self.types[name], (ArrayType, ScalarType, ListType)):
                self.b.env.pop(name, None)
                self.ask(ast.Name(name, ast.Load()))

    def _ending(self, block: Sequence[ast.stmt]) -> ResultSpec:
        """Lowers `block`, with what it returns."""
        for k, s in enumerate(block):
            match s:
                case ast.If(test=test, body=[*_, ast.Return()] as body, orelse=[]):
                    rest = block[k + 1 :]
                    self.statements(block[:k], frozenset(names_read([s, *rest])))
                    return self._choice(test, body, rest)
                case ast.Return(value=value):
                    return self._stored(block[:k], value)
        return self._stored(block, None)

    def _stored(self, block: Sequence[ast.stmt], value: ast.expr | None) -> ResultSpec:
        """Lowers `block`, with `value` that is returned behind it, and attributes that are set
        last.
        """
        attributes = trailing_attribute_stores(block)
        first = len(block) - len(attributes)
        last = block[first:]
        if value is not None:
            last = [*last, copy_location(ast.Return(value), value)]
        self.statements(block[:first], frozenset(names_read(last)))
        apart = first_ambiguous_array(self.b, sorted(names_read(last)))
        if apart is not None:
            return self._either(last, apart)
        return self.set_last(value, attributes) if attributes else self.returned(value)

    def _either(self, last: Sequence[ast.stmt], apart: UnionValue) -> ResultSpec:
        """What comes `last`, for each array that a name in it may be."""
        b, cond = self.b, deciding_condition(apart.cases)
        flag, outer = self._slot("bool", Num(cond)), dict(b.env)
        sides: list[ResultSpec] = []
        for when in (cond, bool_op("not", cond)):
            b.env.update(outer | narrowed_unions(outer, when))
            with b.under(when):
                try:
                    sides.append(self._ending(last))
                except NoValue:
                    b.require(FALSE, "GUARD_EMPTY", last[-1])
                    sides.append(NoneResult())
        return SelectResult(flag, *sides)

    def _choice(
        self, test: ast.expr, body: Sequence[ast.stmt], rest: Sequence[ast.stmt]
    ) -> ResultSpec:
        """What `body` returns where `test` holds, else what `rest` does."""
        b = self.b
        raw = self.test(test)
        cond = b.bind(raw, "returns")
        if isinstance(cond, Const):
            return self._ending(body if cond.value else rest)
        flag = self._slot("bool", Num(cond))
        sides: list[list[Stmt]] = [[], []]
        outer = dict(b.env)
        b.branches += 1
        b.env.update(narrowed_unions(b.env, raw))
        with b.into(sides[0]):
            then = self._ending(body)
        first_read = {k: v for k, v in b.env.items() if k not in outer and b.is_param(k, v)}
        b.env.clear()
        b.env.update(outer | narrowed_unions(outer, bool_op("not", raw)) | first_read)
        b.branches -= 1
        if len(rest) == 1:  # may be a list or an array, which no branch makes
            with b.under(bool_op("not", cond)):
                orelse = self._ending(rest)
        else:
            b.branches += 1
            with b.into(sides[1]):
                orelse = self._ending(rest)
            b.branches -= 1
        if sides[0] or sides[1]:
            b.emit(If(cond, tuple(sides[0]), tuple(sides[1]), span=span_of(test)))
        return SelectResult(flag, then, orelse)

    def _start_counters(self) -> None:
        for node in ast.walk(self.tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])) if (
                    name not in self.plain
                ):
                    self.counter(name)

    def _name(self, name: str, node: ast.AST) -> Any:
        ty = self.types.get(name)
        if ty is None or name in self.b.env:
            return super()._name(name, node)
        if isinstance(ty, Constant):
            return refuse("LOWER_TYPE", f"`{name}` is {ty}, and not a number here", node)
        if isinstance(ty, Opaque):
            return refuse(ty.code, f"`{self.spelled.get(name, name)}` is of type {ty}", node)
        if isinstance(ty, RecordType):
            self.b.env[name] = records = RecordArrayRef(name, ty)
            return records
        if isinstance(ty, ObjectType):
            return refuse("LOWER_TYPE", f"`{name}` is of type {ty}, and no number", node)
        if isinstance(ty, ListType):
            self.b.env[name] = taken = self.take(name, ty, node)
            return taken
        field = next((f for f in self.fields.values() if f.name == name), None)
        held = self.held.get(name)
        value: Value = self.add_param(name, ty, field or held or Argument(name, ty))
        self.b.env[name] = value
        return value

    def array(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name) and node.id in self.types and node.id not in self.b.env:
            self._name(node.id, node)
        return super().array(node)


def _class_checks(text: str, ty: ArgType) -> Iterator[ClassGuard]:
    """What must be of these classes: an argument, and the objects in it."""
    if not isinstance(ty, ObjectType):
        return
    yield ClassGuard(text, ty.kind, len(ty.parts) if ty.is_tuple else None)
    for k, (key, part) in enumerate(ty.parts):
        at = f"[{k}]" if ty.is_tuple else f"[{key[0]!r}]" if isinstance(key, tuple) else f".{key}"
        yield from _class_checks(f"{text}{at}", part)
