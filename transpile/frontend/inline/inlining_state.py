"""The state of inlining the calls of one function under one call signature.

`inliner` walks over the statements and changes it; `callee_body` takes fresh names, and what is
read from other modules, from it; `inline_origins` reads it when the function has been lowered.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import field
from types import FunctionType

from loopir.lazy_dataclass import record

from ...diagnostics import Refused
from ...expand import Macro
from ...options import Options
from ...types.type_env import Env
from ...types.value_types import ArgType
from ..ast_names import bound_names, local_names
from ..ast_walk import copy_tree
from ..compile_budget import INLINED_NODES, CompileBudget
from ..fold_branches import LessThan
from ..macros.macro_context import Context
from ..name_resolution import Scope
from ..source import Source
from .callees import Callee, NotInlined
from .captured_names import CapturedNames
from .local_imports import ImportPlace

__all__ = ["Inlining", "start_inlining"]


@record
class Inlining:
    """The caller, and what inlining has found out and added so far."""

    tree: ast.FunctionDef  # the caller: a copy, whose body is replaced
    source: Source
    cx: Context
    captures: CapturedNames
    types: Mapping[str, ArgType]  # of the caller's parameters
    fixed_types: Mapping[str, ArgType]  # of the parameters that the caller never rebinds
    user_macros: Sequence[Macro]  # a call that one of them expands is not inlined
    options: Options  # of the caller: a callee that was fused with others is refused

    source_names: dict[str, str] = field(default_factory=dict)
    """The name in its source of each fresh name, for messages."""
    not_inlined: list[Refused] = field(default_factory=list)
    """Why some calls were not inlined: `inline_origins.refusal_in_source` looks them up."""
    local_functions: dict[str, Callee] = field(default_factory=dict)
    """Functions that the caller defines and that are inlined, by name."""
    import_places: list[ImportPlace] = field(default_factory=list)
    """Where imports of the caller and of the callees being inlined are, the innermost last."""
    local_places: dict[ast.AST, ImportPlace] = field(default_factory=dict)
    """The place of the imports of each of ``local_functions``, by its tree."""
    written_by_closures: set[str] = field(default_factory=set)
    """Names of the caller that its local functions declare nonlocal."""
    known_facts: list[LessThan] = field(default_factory=list)
    """Comparisons that hold here, since the tests of enclosing ifs state them."""
    budget: CompileBudget = field(default_factory=CompileBudget)
    nodes_left: int = INLINED_NODES
    """How many nodes inlined bodies may still have, if ``budget`` has as much."""
    loop_depth: int = 0  # how many loops are around the statement at hand
    open_bodies: list[list[ast.stmt]] = field(default_factory=list)
    """The caller's body and the callee bodies being inlined, the innermost last."""
    open_calls: list[tuple[object, tuple[object, ...]]] = field(default_factory=list)
    """The key of the callee and the constant arguments of each call being inlined, the innermost
    last.
    """
    callees: dict[FunctionType, Callee | NotInlined] = field(default_factory=dict)
    """The callee, or the reason why there is none, of each function whose source was read."""

    @property
    def scope(self) -> Scope:
        """The caller's scope, with the fresh names for what inlined functions read."""
        return self.captures.scope

    def fresh(self, hint: str) -> str:
        """A name that neither the function nor its scope has; messages show it as `hint`."""
        name = self.cx.fresh(hint)
        while self.scope.resolve(ast.Name(name, ast.Load())) is not None:
            name = self.cx.fresh(hint)
        self.source_names[name] = hint
        return name

    def resolve(self, e: ast.expr) -> object | None:
        """The object outside the caller that a name or dotted name refers to; None for locals."""
        root = e
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.captures.local:
            return None
        return self.scope.resolve(e)


def start_inlining(
    source: Source, env: Env, scope: Scope, types: Mapping[str, ArgType],
    user_macros: Sequence[Macro] = (), options: Options | None = None,
    budget: CompileBudget | None = None,
) -> Inlining:
    """The state before the first call is inlined; see the fields of `Inlining`. Raises Refused
    where `budget` (None: a new one) does not suffice for the function without its calls.
    """
    budget = budget or CompileBudget()
    tree = copy_tree(source.tree)
    rebound = bound_names(*tree.body)
    state = Inlining(
        tree=tree,
        source=source,
        cx=Context(tree, env, {}),
        captures=CapturedNames(scope, local_names(tree), lambda hint: state.fresh(hint)),
        types=types,
        fixed_types={n: t for n, t in types.items() if n not in rebound},
        user_macros=user_macros,
        options=options or Options(),
        open_bodies=[tree.body],
        budget=budget,
        nodes_left=budget.begin(tree),
    )
    return state
