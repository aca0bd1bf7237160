"""Tables whose values are lists that grow."""
from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from ..below import below
from .calls import is_of_numpy
from .context import Context
from .names import COMPREHENSIONS, free_of
from .newlists import reading
from .tablekinds import given_to
from .tableuses import given_by

__all__ = ["are_read", "is_grouped"]

_NESTING = (ast.List, ast.Tuple, *COMPREHENSIONS)


def is_grouped(name: str, start: ast.expr | None, tree: ast.FunctionDef) -> bool:
    """Whether lists are its values."""
    if isinstance(start, ast.List):
        return True
    for n in below(*tree.body):
        match n:
            case ast.Call(ast.Attribute(ast.Name(id=of), "setdefault"), [_, ast.List()], []):
                if of == name:
                    return True
            case ast.Assign([ast.Subscript(ast.Name(id=of), _)], ast.List()) if of == name:
                return True
    return False


def are_read(name: str, tree: ast.FunctionDef, cx: Context) -> bool:
    """Whether the lists that are its values are new, begin with items, get others at their ends,
    and are read besides, with nothing that comes to them meanwhile.
    """
    read = {e for n in below(*tree.body) for e in (*reading(n, cx), *_taken(n, cx))}
    for n in below(*tree.body):
        match n:
            case ast.Expr(ast.Call(ast.Attribute(of, "append"), [_], [])) if _value_of(of) == name:
                read.add(of)
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(), "setdefault")) as call):
                read.add(call)
    for n in below(*tree.body):
        match n:
            case ast.Assign([ast.Subscript(ast.Name(id=to), _)], value) if to == name:
                items = value.elts if isinstance(value, ast.List) else [value]
                plain = isinstance(value, ast.List) and free_of(value, [name])
                if not plain or any(isinstance(e, _NESTING) for e in items):
                    return False
            case ast.AugAssign(ast.Subscript(ast.Name(id=to), _)) if to == name:
                return False
            case ast.Call(ast.Attribute(ast.Name(id=to), "get" | "setdefault"), args) if (
                to == name
            ):
                if len(args) < 2 or not isinstance(args[1], ast.List) or args[1].elts:
                    return False
            case ast.Call(args=[ast.Call(ast.Attribute(ast.Name(id=to), "values"))]) if to == name:
                return False
            case ast.For(target=target, iter=over, body=body) if not free_of(over, [name]):
                if _appends(name, body) or not _only_read(target, over, body, read):
                    return False
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                for g in n.generators:
                    if not free_of(g.iter, [name]) and not _only_read(
                        g.target, g.iter, [*given_by(n), *g.ifs], read
                    ):
                        return False
            case ast.Dict(keys=[_, *_]) | ast.DictComp() if n in given_to(name, *below(tree)):
                return False
            case ast.expr() if _value_of(n) == name and n not in read and not (
                isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load)
            ):
                return False
    return True


def _value_of(e: ast.AST) -> str:
    """The table of which it is a value."""
    match e:
        case ast.Subscript(ast.Name(id=name), _) | ast.Call(
            ast.Attribute(ast.Name(id=name), "get" | "setdefault"), [_, _], []
        ):
            return name
    return ""


def _taken(n: ast.AST, cx: Context) -> Iterator[ast.expr]:
    """What NumPy may take as a list."""
    if isinstance(n, ast.Call) and is_of_numpy(cx.resolve(n.func)):
        yield from n.args


def _appends(name: str, body: Sequence[ast.stmt]) -> bool:
    calls = (n.func for n in below(*body) if isinstance(n, ast.Call))
    return any(isinstance(f, ast.Attribute) and _value_of(f.value) == name for f in calls)


def _only_read(
    target: ast.expr, over: ast.expr, body: Sequence[ast.AST], read: Collection[ast.AST]
) -> bool:
    """Whether the lists that are walked over have a name, and are only read by that."""
    match over, target:
        case ast.Call(ast.Attribute(ast.Name(), "items"), [], []), ast.Tuple(
            elts=[_, ast.Name(id=own)]
        ):
            pass
        case ast.Call(ast.Attribute(ast.Name(), "values"), [], []), ast.Name(id=own):
            pass
        case ast.Call(ast.Attribute(ast.Name(), "items" | "values"), [], []), _:
            return False
        case _:
            return True
    named = (n for n in below(*body) if isinstance(n, ast.Name) and n.id == own)
    return all(n in read for n in named)
