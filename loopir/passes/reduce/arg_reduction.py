"""Arg-reduction (argmin, argmax): the extremum is found by blocks, its position in one block."""
from __future__ import annotations

from collections.abc import Iterator

from ...algebra.constant_folding import constant_trip_count, index_const, literal
from ...algebra.index_builder import index_add, index_less, index_min, index_sub
from ...algebra.rewrite_rules import rewrite
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, names_read, rename_names, substitute
from ...ir_traversal import bottom_up
from ...lazy_dataclass import record, replace
from ...nodes import (
    Accum,
    Assign,
    Call,
    Check,
    Expr,
    If,
    Interval,
    Kernel,
    Loop,
    RangeDesc,
    Stmt,
    Var,
    Yield,
)
from ...statement_blocks import backward_slice, map_statements
from ..loop_splitting import max_iterations
from ..vector.if_convert import flatten_loop
from ..vector.vectorize_legality import vectorization_obstacle

__all__ = ["ArgExtremum", "match_arg_extremum", "arg_reduction"]

_MIRRORED_COMPARISON = {
    "lt": "gt",
    "le": "ge",
    "gt": "lt",
    "ge": "le",
}  # with operands exchanged


@record(frozen=True, slots=True)
class ArgExtremum:
    """An extremum with payload: where ``value`` beats ``acc`` (and ``cond`` is true), all followers
    are updated.

    ``loose``: an equal value also wins, so that the last of several remains. ``followers``: the
    other accumulators that are updated, with their new values.
    """

    acc: Accum
    mask: str
    op: str
    loose: bool
    value: Expr
    cond: Expr | None
    followers: tuple[tuple[Accum, Expr], ...]

    @property
    def best(self) -> Var:
        return Var(self.acc.name, self.value.dtype)

    @property
    def worst(self) -> Expr:
        """The neutral value of the extremum, which no term is worse than."""
        d = DTYPES[self.value.dtype]
        if d.kind == "f":
            return literal(float("inf") if self.op == "min" else float("-inf"), d.name)
        return literal(d.high if self.op == "min" else d.low, d.name)

    @property
    def may_be_empty(self) -> bool:
        """Whether a block's extremum may be the neutral value because none of its terms takes part.
        """
        return self.loose and (self.cond is not None or DTYPES[self.value.dtype].kind == "f")

    def where(self, test: Expr) -> Expr:
        return test if self.cond is None else Call("and", (self.cond, test), "bool")


def match_arg_extremum(mask: Assign, loop: Loop) -> ArgExtremum | None:
    """The accumulators that are updated where `mask` is true, if one of them is an extremum; else
    None.
    """
    test = _match_comparison(mask.value, loop)
    if test is None:
        return None
    op, value, acc, cond = test
    followers = []
    for a in loop.accs:
        if mask.name in names_read(a.step):
            off, on = (_assume_value(a.step, mask.name, x) for x in (False, True))
            if off != a.current or _depends_on_accumulator(on, loop):
                return None
            followers.append((a, on))
    if (acc, value) not in followers or len(followers) < 2:
        return None
    followers.remove((acc, value))
    which = "min" if op in ("lt", "le") else "max"
    return ArgExtremum(acc, mask.name, which, op in ("le", "ge"), value, cond, tuple(followers))


def _match_comparison(cond: Expr, loop: Loop) -> tuple[str, Expr, Accum, Expr | None] | None:
    """Match ``value op acc``, possibly with another condition: (op, value, acc, condition), or
    None.
    """
    match cond:
        case Call(op="and", args=(a, b)):
            for test, other in ((b, a), (a, b)):
                found = _match_comparison(test, loop)
                if found and found[3] is None and not _depends_on_accumulator(other, loop):
                    return (*found[:3], other)
        case Call(op=op, args=(a, b)) if op in _MIRRORED_COMPARISON and a.dtype != "bool":
            for name, value, rel in ((b, a, op), (a, b, _MIRRORED_COMPARISON[op])):
                acc = next((x for x in loop.accs if x.current == name), None)
                if acc and not _depends_on_accumulator(value, loop):
                    return rel, value, acc, None
    return None


def _depends_on_accumulator(e: Expr, loop: Loop) -> bool:
    """Whether `e` depends on an accumulator of `loop`."""
    accs = {a.name for a in loop.accs}
    return bool(accs & names_read(e, *backward_slice(loop.body, e)))


def _assume_value(e: Expr, name: str, value: bool) -> Expr:
    done: Expr = bottom_up(substitute(e, {name: literal(value, "bool")}), rewrite)
    return done


BLOCK_BYTES = 8192  # bytes of terms in a block, whose extremum is compared with the best one
CHUNK_BYTES = 256  # bytes of terms that are searched one by one


def arg_reduction(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Find an extremum by blocks, which can be vectorised, and the followers' values at its
    position.

    The block with the best term is searched chunk by chunk, the chunk term by term; so are short
    ranges. Before::

        def k(x: f64[::1], at: mut(i64[()])):
            disjoint(x, at)
            for i in loop(0, x.shape[0], least=f64("inf"), k=-1):
                m = x[i] < least
                least = step(select(m, x[i], least))
                k = step(select(m, i, k))
            at[()] = k

    after::

        def k(x: f64[::1], at: mut(i64[()])):
            disjoint(x, at)
            if x.shape[0] < 33:
                for i_4 in loop(0, min(x.shape[0], 32), least_3=f64("inf"), k_1=-1):
                    m_1 = x[i_4] < least_3
                    least_3 = step(select(m_1, x[i_4], least_3))
                    k_1 = step(select(m_1, i_4, k_1))
                least = give(least_3)
                k = give(k_1)
            else:
                for block in loop(range(0, x.shape[0], 1024), least_1=f64("inf"), start=x.shape[0]):
                    for i_1 in loop(block, min(block + 1024, x.shape[0]), least_2=f64("inf")):
                        least_2 = step(min(least_2, x[i_1]))
                    least_1 = step(min(least_1, least_2))
                    start = step(select(least_2 < least_1, block, start))
                end = min(start + 1024, x.shape[0])
                for chunk in loop(range(start, end, 32), first=end):
                    for i_2 in loop(chunk, min(chunk + 32, end), some=False):
                        some = step(some | (x[i_2] == least_1))
                    first = step(chunk)
                    until(some)
                for i_3 in loop(first, min(first + 32, end), least_4=f64("inf"), k_2=-1):
                    found = x[i_3] == least_1
                    least_4 = step(select(found, x[i_3], least_4))
                    k_2 = step(select(found, i_3, k_2))
                    until(found)
                least = give(least_4)
                k = give(k_2)
            at[()] = k
    """
    fresh = FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        found = _search_of(s, kernel, fresh) if isinstance(s, Loop) else None
        made = tuple(found.statements(fresh)) if found else ()
        inner = made and next(x for x in made if isinstance(x, Loop)).body[0]
        if not found or not isinstance(inner, Loop) or (
            vectorization_obstacle(inner, kernel, reassociate=reassociate)
        ):
            return s
        return found.unless_short(made, fresh)

    return map_statements(kernel, edit)


def _search_of(s: Loop, kernel: Kernel, fresh: FreshNames) -> _ArgSearch | None:
    """`s` as an _ArgSearch, if all it does is arg-reductions and plain reductions; else None."""
    count = max_iterations(s.range) if isinstance(s.range, Interval) else 0
    loop = flatten_loop(s, kernel, fresh) or s
    plain = all(isinstance(x, Assign | Check) for x in loop.body)
    if not plain or s.until or (count is not None and count < 2 * CHUNK_BYTES):
        return None
    masks = [x for x in loop.body if isinstance(x, Assign) and x.value.dtype == "bool"]
    found = [p for m in masks if (p := match_arg_extremum(m, loop)) is not None]
    own = {p.mask for p in found}
    kept = tuple(x for x in loop.body if not (isinstance(x, Assign) and x.name in own))
    folded = {a.name for p in found for a in (p.acc, *(a for a, _ in p.followers))}
    others = tuple(a for a in loop.accs if a.name not in folded)
    if not found or (own | folded) & names_read(*kept, *(a.step for a in others)):
        return None
    return _ArgSearch(loop, replace(loop, body=kept, accs=others), tuple(found))


class _ArgSearch:
    """A loop without its arg-reductions, and these."""

    def __init__(self, whole: Loop, loop: Loop, found: tuple[ArgExtremum, ...]) -> None:
        self.whole, self.loop, self.found = whole, loop, found
        widest = max(DTYPES[p.value.dtype].bytes for p in found)
        self.block, self.chunk = BLOCK_BYTES // widest, CHUNK_BYTES // widest

    def statements(self, fresh: FreshNames) -> Iterator[Stmt]:
        rng = self.loop.range
        assert isinstance(rng, Interval)
        starts = {p.acc.name: fresh.name(p.acc.name) for p in self.found}
        places = {p.acc.name: Var(fresh.name("start"), INDEX) for p in self.found}
        yield self._blocks(rng, starts, places, fresh)
        for p in self.found:
            best, start = replace(p.best, name=starts[p.acc.name]), places[p.acc.name]
            end = Var(fresh.name("end"), INDEX)
            yield Assign(end.name, _block_end(start, self.block, rng.hi))
            yield from self._search(p, best, Interval(start, end), fresh)

    def unless_short(self, made: tuple[Stmt, ...], fresh: FreshNames) -> tuple[Stmt, ...]:
        """The statements `made` from the loop, versioned: the original loop runs for a chunk's
        terms at most.
        """
        rng = self.loop.range
        assert isinstance(rng, Interval)
        if constant_trip_count(rng) is not None:
            return made
        few = replace(rng, hi=index_min(rng.hi, index_add(rng.lo, self.chunk)))
        names = fresh.names(self.whole)
        short = rename_names(replace(self.whole, range=few), names)
        inner = {a.name: fresh.name(a.name) for a in self.whole.accs}
        gives = (
            Yield(a.name, Var(names[a.name], a.init.dtype), Var(inner[a.name], a.init.dtype))
            for a in self.whole.accs
        )
        is_short = index_less(index_sub(rng.hi, rng.lo), self.chunk + 1)
        long = tuple(rename_names(x, inner) for x in made)
        return (If(is_short, (short,), long, tuple(gives), span=self.loop.span),)

    def _blocks(
        self, rng: Interval, starts: dict[str, str], places: dict[str, Var], fresh: FreshNames
    ) -> Loop:
        """The loop over blocks: finds the best term and the start of its block (the end if there is
        none).
        """
        block = Var(fresh.name("block"), INDEX)
        renamed = fresh.names(self.loop)
        inner = rename_names(self.loop, renamed)
        outer = [replace(a, step=Var(renamed[a.name], a.init.dtype)) for a in self.loop.accs]
        accs = [
            replace(a, init=old.current)
            for a, old in zip(inner.accs, self.loop.accs, strict=True)
        ]
        for p in self.found:
            best, here = Var(starts[p.acc.name], p.value.dtype), Var("", p.value.dtype)
            here = replace(best, name=fresh.name(p.acc.name))
            term = Call(p.op, (here, p.value), here.dtype)
            step = term if p.cond is None else Call("select", (p.cond, term, here), here.dtype)
            accs.append(Accum(here.name, p.worst, rename_names(step, renamed)))
            wins = Call({"min": "l", "max": "g"}[p.op] + "te"[p.loose], (here, best), "bool")
            if p.may_be_empty:
                some = Var(fresh.name("some"), "bool")
                takes_part = p.where(Call("eq", (p.value, p.value), "bool"))
                any_term = Call("or", (some, takes_part), "bool")
                any_term = rename_names(any_term, renamed)
                accs.append(Accum(some.name, literal(False, "bool"), any_term))
                wins = Call("and", (some, wins), "bool")
            start = places[p.acc.name]
            outer.append(Accum(best.name, p.acc.init, Call(p.op, (best, here), best.dtype)))
            outer.append(Accum(start.name, rng.hi, Call("select", (wins, block, start), INDEX)))
        body = replace(
            inner, range=Interval(block, _block_end(block, self.block, rng.hi)), accs=tuple(accs)
        )
        blocks = RangeDesc(rng.lo, rng.hi, self.block)
        return Loop(block.name, blocks, (body,), tuple(outer), span=self.loop.span)

    def _search(
        self, p: ArgExtremum, best: Var, rng: Interval, fresh: FreshNames
    ) -> Iterator[Loop]:
        """Loops that find the chunk with `best` in the range, and the position in it."""
        chunk, first = Var(fresh.name("chunk"), INDEX), Var(fresh.name("first"), INDEX)
        some = Var(fresh.name("some"), "bool")
        is_best = p.where(Call("eq", (p.value, best), "bool"))
        one = replace(self.loop, body=backward_slice(self.loop.body, is_best), accs=())
        renamed = fresh.names(one)
        inner = rename_names(one, renamed)
        any_best = Accum(
            some.name, literal(False, "bool"), rename_names(_disjunction(some, is_best), renamed)
        )
        inner = replace(
            inner, range=Interval(chunk, _block_end(chunk, self.chunk, rng.hi)), accs=(any_best,)
        )
        now: Expr = Call("select", (some, chunk, first), INDEX) if p.loose else chunk
        hit = Accum(first.name, rng.hi, now)
        chunks = RangeDesc(rng.lo, rng.hi, self.chunk)
        yield Loop(chunk.name, chunks, (inner,), (hit,), None if p.loose else some)
        yield self._place(p, is_best, first, rng.hi, fresh)

    def _place(
        self, p: ArgExtremum, is_best: Expr, first: Var, end: Expr, fresh: FreshNames
    ) -> Loop:
        """The loop over one chunk, up to the best term; it binds the accumulators of `p`."""
        found = Var(fresh.name("found"), "bool")
        body = backward_slice(self.loop.body, is_best, *(e for _, e in p.followers))
        steps = (
            replace(a, step=rewrite(Call("select", (found, e, a.current), e.dtype)))
            for a, e in ((p.acc, p.value), *p.followers)
        )
        last = Interval(first, _block_end(first, self.chunk, end))
        until = None if p.loose else found
        body = (*body, Assign(found.name, is_best))
        loop = Loop(self.loop.var, last, body, tuple(steps), until)
        own = {n: fresh.name(n) for n in (loop.var, *(x.name for x in body[:-1]))}
        return rename_names(loop, own)


def _block_end(start: Expr, size: int, end: Expr) -> Expr:
    return Call("min", (Call("add", (start, index_const(size)), INDEX), end), INDEX)


def _disjunction(a: Expr, b: Expr) -> Expr:
    return Call("or", (a, b), "bool")
