"""Names of arrays that change together: which arrays they are, by the path taken."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from loopir.nodes import Expr
from loopir.record import record

from ..bindings import Fresh
from ..infer import FALSE, TRUE, Num, logic
from ..ranges import LENGTH
from .builder import Builder
from .cases import possible
from .implied import atoms
from .values import Absent, ArrayRef, Case, Cases, Unbound, Value

__all__ = [
    "JOINT", "MoreStates", "State", "Together", "arrays_in", "by_name", "forked", "has_array",
    "if_run", "made_within", "of_one_shape", "states", "undecided",
]

JOINT = 6
"""States that names of arrays may have together."""

State: TypeAlias = "tuple[ArrayRef | Absent, ...]"
"""What each of some names stands for."""


def arrays_in(v: Value | None) -> tuple[Case, ...] | None:
    """The arrays that `v` may be; None where it is another thing."""
    match v:
        case ArrayRef():
            return (Case(v, TRUE),)
        case None | Unbound(value=None):
            return (Case(Absent.UNBOUND, TRUE),)
        case Cases(cases) if all(isinstance(c.value, (ArrayRef, Absent)) for c in cases):
            return cases
    return None


def has_array(v: Value | None) -> bool:
    """Whether `v` may be an array, and else nothing."""
    return any(isinstance(c.value, ArrayRef) for c in arrays_in(v) or ())


def forked(b: Builder, names: Iterable[str]) -> Cases | None:
    """What a name is, the first of `names`, that is one of several arrays."""
    for name in names:
        v = b.env.get(name)
        if isinstance(v, Cases) and sum(isinstance(c.value, ArrayRef) for c in v.cases) > 1:
            return v
    return None


def of_one_shape(v: Value | None) -> ArrayRef | None:
    """One of the arrays that `v` is surely one of, if all have the same lengths."""
    arrays = [c.value for c in v.cases] if isinstance(v, Cases) else []
    known = [a for a in arrays if isinstance(a, ArrayRef) and not a.kinds]
    shapes = {tuple(n.ir for n in a.shape) for a in known}
    return known[0] if known and len(known) == len(arrays) and len(shapes) == 1 else None


def states(b: Builder, env: Mapping[str, Value], names: Sequence[str]) -> dict[State, Expr] | None:
    """What `names` are together, and when; None where they are other things than arrays that can
    be told outside of where they stand, or too many.
    """
    cases = [_anywhere(b, arrays_in(env.get(name)) or ()) for name in names]
    if not all(cases):
        return None
    out: dict[State, Expr] = {}
    for when, state in _decided(cases, TRUE):
        out[state] = logic("or", out.get(state, FALSE), when)
        if len(out) > JOINT:
            return None
    return out


def _decided(cases: Sequence[Sequence[Case]], known: Expr) -> Iterator[tuple[Expr, State]]:
    """One of each of `cases`, and that which holds together with `known` where these do."""
    left = [possible(of, known) for of in cases]
    open_ = next((of for of in left if len(of) > 1), None)
    if open_ is None:
        values = [of[0].value for of in left]
        yield known, tuple(v for v in values if not isinstance(v, Num))
        return
    atom = undecided(open_)
    for fact in (atom, logic("not", atom)):
        yield from _decided(left, logic("and", known, fact))


def _anywhere(b: Builder, cases: Iterable[Case]) -> tuple[Case, ...]:
    """`cases`, if they are the same wherever they are spoken of, as what is said of them all over.
    """
    out: list[Case] = []
    for c in cases:
        of = c.value
        if isinstance(of, ArrayRef):
            if of.places or of.kinds or not all(b.invariant(n.ir) for n in of.shape):
                return ()
            lengths = tuple(
                Num(n.ir, weak="i64", linear=b.linear(n.ir), interval=LENGTH) for n in of.shape
            )
            c = replace(c, value=replace(of, shape=lengths))
        out.append(c)
    return tuple(out)


def made_within(b: Builder, names: Iterable[str]) -> dict[str, ArrayRef]:
    """Those of `names` that stand for arrays at the end of an iteration, and may do so behind the
    loop.
    """
    cases = {n: _anywhere(b, arrays_in(b.env.get(n)) or ()) for n in names}
    only = {n: of[0].value for n, of in cases.items() if len(of) == 1}
    return {n: of for n, of in only.items() if isinstance(of, ArrayRef)}


def if_run(array: ArrayRef, some: Expr) -> Value:
    """What a name is behind a loop that has made it this array, if it has run."""
    never = Case(Absent.UNBOUND, logic("not", some))
    return array if some == TRUE else Cases((Case(array, some), never))


def by_name(names: Sequence[str], whens: Mapping[State, Expr]) -> dict[str, Value]:
    """What each of `names` is, where they are together in one of these states."""
    out: dict[str, Value] = {}
    for k, name in enumerate(names):
        grouped: dict[ArrayRef | Absent, Expr] = {}
        for state, when in whens.items():
            grouped[state[k]] = logic("or", grouped.get(state[k], FALSE), when)
        cases = [Case(value, when) for value, when in grouped.items()]
        first = cases[0].value
        if len(cases) > 1 or first is Absent.NONE:
            out[name] = Cases(tuple(cases))
        else:
            out[name] = first if isinstance(first, ArrayRef) else Unbound()
    return out


def undecided(cases: Iterable[Case]) -> Expr:
    """What it depends on, among other things, which of `cases` is the one."""
    return next(e for c in cases for e in atoms(c.when))


class MoreStates(Exception):
    """Names of arrays are these in a loop, too; None: other things."""

    def __init__(self, b: Builder, whens: Mapping[State, Expr] | None) -> None:
        super().__init__()
        self.states = tuple(whens) if whens is not None else None
        self._made = dict(b.made)
        self._params, self._bindings = dict(b.params), dict(b.bindings)

    def keep(self, b: Builder) -> bool:
        """Of what was built until then, keeps the arrays that the names stand for. Whether it can:
        of those made in the loop there are as many as it takes.
        """
        arrays = {v.name for s in self.states or () for v in s if isinstance(v, ArrayRef)}
        new = arrays - b.params.keys()
        fresh = {n for n in new if isinstance(self._bindings[n], Fresh)}
        if not fresh <= {of.name for made in self._made.values() for of in made}:
            return False
        for name in sorted(new):
            b.params[name], b.bindings[name] = self._params[name], self._bindings[name]
        b.fresh |= fresh
        b.names |= new
        for call, made in self._made.items():
            b.made[call] = tuple(of for of in made if of.name in b.params)
        return True


@record(frozen=True, slots=True)
class Together:
    """Names of arrays that a loop changes, and what they are together; but for the last of these,
    each has a name that says that they are so, which begins with what no name of Python's does.
    """

    arrays: tuple[str, ...]
    states: tuple[State, ...]

    @property
    def names(self) -> list[str]:
        """Those of the states."""
        return [f"#{'_'.join(self.arrays)}_{k}" for k in range(len(self.states) - 1)]

    def spread(self, b: Builder, env: Mapping[str, Value]) -> dict[str, Num]:
        """What those names stand for in `env`. Raises MoreStates."""
        whens = states(b, env, self.arrays)
        if whens is None or not whens.keys() <= set(self.states):
            raise MoreStates(b, whens)
        flags = (whens.get(s, FALSE) for s in self.states)
        return {n: Num(when, weak="bool") for n, when in zip(self.names, flags, strict=False)}

    def gather(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """The arrays where those names have `values`."""
        whens: dict[State, Expr] = {}
        rest: Expr = TRUE
        for name, state in zip(self.names, self.states, strict=False):
            flag = values[name]
            assert isinstance(flag, Num)
            whens[state] = logic("and", rest, flag.ir)
            rest = logic("and", rest, logic("not", flag.ir))
        return by_name(self.arrays, whens | {self.states[-1]: rest})
