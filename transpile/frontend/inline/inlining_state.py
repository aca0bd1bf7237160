"""The state of inlining the calls of one function under one call signature; the compile budget.

`inliner` walks over the statements and changes it; `callee_body` takes fresh names, and what is
read from other modules, from it; `inline_origins` reads it when the function has been lowered.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import field
from types import FunctionType

from loopir.ir_traversal import walk
from loopir.lazy_dataclass import record
from loopir.nodes import Kernel

from ...diagnostics import Refused
from ...expand import Macro
from ...options import Options
from ...types.type_env import Env
from ...types.value_types import ArgType
from ..ast_names import bound_names, local_names
from ..ast_walk import copy_tree, walk_nodes
from ..fold_branches import LessThan
from ..macros.macro_context import Context
from ..name_resolution import Scope
from ..refusal import refuse
from ..source import Source
from .callees import Callee, NotInlined
from .captured_names import CapturedNames
from .local_imports import ImportPlace

__all__ = ["FUNCTION_WORK", "INLINED_NODES", "CompileBudget", "Inlining", "start_inlining"]

INLINED_NODES = 8_000
"""AST nodes that all inlined bodies of one function may have together."""

FUNCTION_WORK = 14_000
"""Units of work for a function and its regions. A unit takes some 0.15 ms of CPU time."""

_SYNTAX, _KERNEL = 3, 3
"""Units for each AST node that is expanded by macros, and for each node of Loop IR that is lowered,
and that is left at last.
"""


@record(slots=True)
class CompileBudget:
    """Work that may still be done for a function and its regions (``left``, in units).

    The first compilation, of the function as a whole, may begin and end in any case: it is bounded
    by budgets of its own (`INLINED_NODES`, `LoweringBudget`, `FUSION_BUDGET`). Regions must fit in
    what it has left. The inliner and the stages of `pipeline` count.
    """

    left: int = FUNCTION_WORK
    is_begun: bool = False  # whether a compilation has used it

    def begin(self, tree: ast.FunctionDef) -> int:
        """Counts `tree`, the function or a region of it, which is about to be compiled. Returns how
        many AST nodes may be inlined into it. Raises Refused (BUDGET_EXCEEDED), without a place,
        where not enough is left to compile it at all.
        """
        own, most = sum(1 for _ in walk_nodes(tree)), INLINED_NODES
        if self.is_begun:
            most = min(most, self.left // _SYNTAX - own)
        if most < 0:
            message = "the parts that compile exceed the function's budget: this one is not tried"
            refuse("BUDGET_EXCEEDED", message, None)
        self.is_begun = True
        self.left -= _SYNTAX * own
        return most

    def spend_inlining(self, nodes: int) -> None:
        """Counts the AST nodes of a body that is inlined."""
        self.left -= _SYNTAX * nodes

    def spend_kernel(self, kernel: Kernel) -> None:
        """Counts the nodes of `kernel`, which passes rewrite and the C printer prints."""
        self.left -= _KERNEL * sum(1 for _ in walk(kernel))


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
