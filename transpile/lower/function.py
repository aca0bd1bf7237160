"""A whole function as one region: parameters, body, result, guards."""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from loopir.nodes import Const, If, Stmt
from loopir.record import record

from ..bindings import Argument, Part, Taken
from ..infer import FALSE, Num, logic
from ..macros.liveness import reads
from ..plan import Plan, Ref, Shape
from ..rejections import Refused
from ..returned import Chosen, Nothing, Returned
from ..scope import Origin, Scope
from ..source import span_of
from ..types import (
    ArgType,
    ArrayType,
    Constant,
    ListType,
    ObjectType,
    Opaque,
    RecordType,
    ScalarType,
)
from .assembled import assembled
from .builder import Builder
from .cases import narrowed
from .growing import growing, grown
from .held import Held
from .joint import forked, undecided
from .last_names import last_name, renamed
from .lists import IsCounted, plain_lists
from .parts import IsComplex, split
from .refusal import NoValue, Unforeseen, refuse
from .repeated import IsMixed
from .results import Results, attributes_last
from .stacks import IsOf, IsTried
from .steady import steady_slices
from .subscripts import only_subscripts
from .values import Cases, RecordsRef, Value

__all__ = ["lower"]


def lower(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], scope: Scope, *, telling: bool = False
) -> Plan:
    """The plan of `tree` (core Python) for one call signature.

    ``telling``: the kernel tells which of its operations have raised. Raises Refused where the
    function cannot be compiled faithfully.
    """
    return _lowered(tree, types, scope, _Found(), telling)


@record(frozen=True, slots=True)
class _Found:
    """What turned out: ``names`` that are complex, and are split in two; lists that are ``mixed``,
    or ``counted``, that hold what ``holds`` says, and that get ``unforeseen`` long; whether the
    room of arrays is ``tried``.
    """

    names: Mapping[str, bool] = field(default_factory=dict)
    mixed: Mapping[str, str | None] = field(default_factory=dict)
    counted: frozenset[str] = frozenset()
    holds: Mapping[str, Held] = field(default_factory=dict)
    unforeseen: frozenset[str] = frozenset()
    tried: bool = False


def _lowered(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], scope: Scope, known: _Found, telling: bool
) -> Plan:
    """Where more turns out, all is done again."""
    divided = split(tree, known.names)
    try:
        return _Function(divided, types, scope, known).plan(telling=telling)
    except IsOf as found:
        known = replace(known, holds={**known.holds, found.name: found.held})
    except IsTried:
        known = replace(known, tried=True)
    except IsComplex as found:
        known = replace(known, names={**known.names, found.name: found.python})
    except IsMixed as found:
        known = replace(known, mixed={**known.mixed, found.name: found.dtype})
    except IsCounted as found:
        known = replace(known, counted=known.counted | {found.name})
    except Unforeseen as found:
        name = last_name(tree, found.name)
        more = known.unforeseen | {name}
        tree = tree if name == found.name else renamed(tree, found.name, name)
        if more == known.unforeseen or name not in growing(split(tree, known.names), more):
            raise
        known = replace(known, unforeseen=more)
    except Refused as refused:
        guessed = {name: held for name, held in known.holds.items() if held == Held(sure=False)}
        if refused.rejection.code != "LOWER_JOIN" or not guessed:
            raise
        floats = dict.fromkeys(guessed, Held("f64", sure=False))
        known = replace(known, holds={**known.holds, **floats})
    return _lowered(tree, types, scope, known, telling)


def _around(tree: ast.FunctionDef, scope: Scope) -> set[str]:
    """The names in `tree` that are bound outside: they may become parameters, which keep theirs."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return {n for n in names if scope.find(n)[0] in (Origin.CLOSURE, Origin.GLOBAL)}


class _Function(Results):
    def __init__(
        self, tree: ast.FunctionDef, types: Mapping[str, ArgType], scope: Scope,
        known: _Found,
    ) -> None:
        self.growing, self.short = growing(tree, known.unforeseen), None
        self.holds, self.mixed, self.tried = known.holds, known.mixed, known.tried
        self.complexes = known.names
        self.buffers = {}
        tree = grown(tree, self.growing)
        self.steady = steady_slices(tree)
        self.repeated = {}
        self.tree, self.types, self.scope = tree, dict(types), scope
        self.fields, self.spelled, self.held = {}, {}, {}
        names = set(types) | _around(tree, scope)
        self.b = Builder(names=names, placed=only_subscripts(tree))
        self.refs: dict[str, object] = {}
        self.arguments: dict[str, object] = dict(types)
        self.given = tuple(types)
        self.lists, self.before = {}, {}
        self.open_lists = set()
        self.counters: set[str] = set()
        self.appending: dict[str, str] = {}
        self.written: set[str] = set()
        self.plain = plain_lists(tree) - known.counted
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
            assembled(self.tree, self.types, self.b, returned),
            refs=tuple(Ref(k, v) for k, v in self.refs.items()),
            given=tuple(
                Ref(self.spelled.get(k, k), t.value)
                for k, t in self.types.items() if isinstance(t, Constant)
            ),
            objects=tuple(s for n in self.given for s in _shapes(n, self.types[n])),
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
        known = {b.of.name if isinstance(b, Part) else b.name for b in bindings}
        known |= {b.text for b in bindings if isinstance(b, Taken)}
        asked = reads(self.tree.body) | self.held.keys() | {f.name for f in self.fields.values()}
        for name in sorted(asked & self.types.keys() - known):
            if isinstance(self.types[name], (ArrayType, ScalarType, ListType)):
                self.b.env.pop(name, None)
                self.ask(ast.Name(name, ast.Load()))

    def _ending(self, block: Sequence[ast.stmt]) -> Returned:
        """Lowers `block`, with what it returns."""
        for k, s in enumerate(block):
            match s:
                case ast.If(test=test, body=[*_, ast.Return()] as body, orelse=[]):
                    rest = block[k + 1 :]
                    self.statements(block[:k], frozenset(reads([s, *rest])))
                    return self._choice(test, body, rest)
                case ast.Return(value=value):
                    return self._stored(block[:k], value)
        return self._stored(block, None)

    def _stored(self, block: Sequence[ast.stmt], value: ast.expr | None) -> Returned:
        """Lowers `block`, with `value` that is returned behind it, and attributes that are set
        last.
        """
        attributes = attributes_last(block)
        first = len(block) - len(attributes)
        last = block[first:]
        if value is not None:
            last = [*last, ast.copy_location(ast.Return(value), value)]
        self.statements(block[:first], frozenset(reads(last)))
        apart = forked(self.b, sorted(reads(last)))
        if apart is not None:
            return self._either(last, apart)
        return self.set_last(value, attributes) if attributes else self.returned(value)

    def _either(self, last: Sequence[ast.stmt], apart: Cases) -> Returned:
        """What comes `last`, for each array that a name in it may be."""
        b, cond = self.b, undecided(apart.cases)
        flag, outer = self._slot("bool", Num(cond)), dict(b.env)
        sides: list[Returned] = []
        for when in (cond, logic("not", cond)):
            b.env.update(outer | narrowed(outer, when))
            with b.under(when):
                try:
                    sides.append(self._ending(last))
                except NoValue:
                    b.require(FALSE, "GUARD_EMPTY", last[-1])
                    sides.append(Nothing())
        return Chosen(flag, *sides)

    def _choice(
        self, test: ast.expr, body: Sequence[ast.stmt], rest: Sequence[ast.stmt]
    ) -> Returned:
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
        b.env.update(narrowed(b.env, raw))
        with b.into(sides[0]):
            then = self._ending(body)
        first_read = {k: v for k, v in b.env.items() if k not in outer and b.is_param(k, v)}
        b.env.clear()
        b.env.update(outer | narrowed(outer, logic("not", raw)) | first_read)
        b.branches -= 1
        if len(rest) == 1:  # may be a list or an array, which no branch makes
            with b.under(logic("not", cond)):
                orelse = self._ending(rest)
        else:
            b.branches += 1
            with b.into(sides[1]):
                orelse = self._ending(rest)
            b.branches -= 1
        if sides[0] or sides[1]:
            b.emit(If(cond, tuple(sides[0]), tuple(sides[1]), span=span_of(test)))
        return Chosen(flag, then, orelse)

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
            self.b.env[name] = records = RecordsRef(name, ty)
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


def _shapes(text: str, ty: ArgType) -> Iterator[Shape]:
    """What must be of these classes: an argument, and the objects in it."""
    if not isinstance(ty, ObjectType):
        return
    yield Shape(text, ty.kind, len(ty.parts) if ty.is_tuple else None)
    for k, (key, part) in enumerate(ty.parts):
        at = f"[{k}]" if ty.is_tuple else f"[{key[0]!r}]" if isinstance(key, tuple) else f".{key}"
        yield from _shapes(f"{text}{at}", part)
