"""Escape analysis of lists: which lists of a function, or of its dicts, have other references."""
from __future__ import annotations

import ast
import builtins

import pytest
from parsed import function, resolve

from transpile.analysis.list_escapes import ListEscapes


def builtin(e: ast.AST) -> str:
    match e:
        case ast.Call(func=ast.Name(id=name)) if hasattr(builtins, name):
            return name
    return ""


def escapes(body: str) -> ListEscapes:
    return ListEscapes(function(body), resolve, builtin, lambda e: isinstance(e, ast.List))


OWN = {
    "u = []\nu.append(n)\nreturn u": True,
    "u = [n]\nu[0] = n\ns = u[0] + len(u)": True,
    "u = []\nw = u": False,
    "u = []\ng(u)": False,
    "u = []\nx.append(u)": False,
    "u = []\ndef h(): return u": False,
    "u = []\nfor v in u: pass\nif u: pass": True,
}


@pytest.mark.parametrize("body", OWN)
def test_lists_of_their_own(body: str) -> None:
    own = escapes(body).non_escaping_names(lambda e: isinstance(e, ast.List))
    assert ("u" in own) == OWN[body]


HANDED_OVER = {
    "for i in x:\n u = [i]\n w.append(u)": True,
    "for i in x:\n u = []\n u.append(i)\n w.append(u)": True,
    "u = []\nfor i in x:\n w.append(u)": False,
    "for i in x:\n u = [i]\n w.append(u)\n u.append(i)": False,
    "for i in x:\n u = [i]\n v = u\n w.append(u)": False,
    "u = [n]\nw.append(u)\ns = u[0]": True,
    "u = g(n)\nw.append(u)": False,
}


@pytest.mark.parametrize("body", HANDED_OVER)
def test_lists_that_are_handed_over(body: str) -> None:
    found = escapes("w = []\n" + body)
    assert found.is_moved_into(ast.Name("u", ast.Load()), "w") == HANDED_OVER[body]


PRIVATE = {
    "d[n] = [n]\ns = d[n][0]": True,
    "d.setdefault(n, []).append(n)": True,
    "for k, v in d.items():\n s = len(v)": True,
    "for k, v in d.items():\n v.append(k)": False,
    "for k, v in d.items():\n d[k].append(1)": False,
    "u = d[n]": False,
    "d[n] = x": False,
    "d[n] = [[n]]": False,
    "return d[n]": False,
    "s = len(d.get(n, []))": True,
    "for v in d.get(n, []):\n s += v": True,
    "u = d.get(n, [])\nu.append(1)": False,
    "d.get(n, []).append(1)": False,
    "u = d.get(n, [])\nfor v in u:\n s += v\nd[n].append(n)": True,
    "u = d.get(n, [])\nd[n].append(n)\ns = len(u)": False,
    "for i in x:\n u = d.get(i, [])\n s += len(u)\n d.setdefault(i, []).append(n)": False,
    "u = d.get(n, [])\nw = u": False,
    "u = d.get(n, [])\nu = x\ns = len(u)": False,
    "u = d.setdefault(n, [])\nu.append(1)": False,
}


@pytest.mark.parametrize("body", PRIVATE)
def test_lists_of_a_dict(body: str) -> None:
    assert escapes("d = {}\n" + body).values_are_private("d") == PRIVATE[body]
