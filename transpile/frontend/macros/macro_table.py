"""Macro table: all macros, in the order in which they are tried; and the rules for array views.

`transpile.expand` applies them. A row names its macro, which is imported when it is first called:
to import all takes longer than to compile a short loop. The few that nearly every function needs
are imported here.
"""
from __future__ import annotations

import ast
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from loopir.process.lazy_function import lazy_function

from ... import ops
from ..iterators import comprehensions, for_loops
from ..language import assignment_forms, type_tests
from . import firing_conditions as conditions
from .macro_context import Macro, ViewRule
from .macro_index import (
    ALLOCATOR,
    ARRAY_METHOD,
    BOUND,
    EXPRESSIONS,
    METHOD,
    NUMPY,
    OTHER,
    UFUNC,
    Declaration,
    declared,
    on,
)

__all__ = ["BRANCHING", "MACROS", "TRIES", "VIEW_RULES", "lazy_macro"]


def lazy_macro(path: str, *rows: Declaration) -> Callable[..., Any]:
    """The macro at `path`, a place in `transpile`, which is imported when it is first called. Until
    then it is asked on the nodes of `rows`. These accept all nodes of the macro's own declarations,
    and may accept more: ``test_rows_accept_what_their_macros_do`` compares them.
    """
    return declared(lazy_function("transpile", path), *rows)


OF_NUMPY = (NUMPY, UFUNC, BOUND, ARRAY_METHOD)
"""What a call of a function of NumPy but an allocator, or of a method of an array, may call."""

NUMPY_CALL = on(ast.Call, calls=OF_NUMPY)
LITERALS = (ast.List, ast.Tuple)
MEMBERSHIP = (ast.In, ast.NotIn)
STATEMENTS = (ast.Assign, ast.AugAssign, ast.Delete, ast.Expr, ast.For)

TRIES: tuple[Macro, ...] = (
    lazy_macro("frontend.language.try_except:try_statement", on(ast.Try)),  # try: t = 1 / n
    # try: return x[i] finally: x[i] = 0
    lazy_macro("frontend.language.finally_block:finally_statement", on(ast.Try)),
)
"""Those that expand ``try`` statements."""

BRANCHING: tuple[Macro, ...] = (
    # match i: case 0
    lazy_macro("frontend.language.match_statement:match_statement", on(ast.Match)),
    *TRIES,
    type_tests.type_test,                     # x is None, isinstance(n, int), mode == "same"
)
"""Those that decide by types which branches there are."""

MACROS: tuple[Macro, ...] = (
    *BRANCHING,
    type_tests.class_alias,                   # T = type(x[0])
    lazy_macro(  # d.setdefault(i, []).append(s), for i, w in d.items()
        "containers.tables.multimaps:multimap_update",
        on(ast.Expr, ast.Assign, ast.For, when=conditions.has_tables),
    ),
    # before table_lookup: the d[i] of a multimap is a list, not one value
    lazy_macro(  # sum(d[i])
        "containers.tables.multimaps:multimap_read",
        on(ast.Subscript, ast.Call, when=conditions.has_tables),
    ),
    lazy_macro(  # d = {}, s = {i, j}, Counter(x)
        "containers.tables.hash_tables:table_creation", on(ast.Assign, when=conditions.has_tables),
    ),
    lazy_macro(  # d[i] = s, d[i] += 1, s.add(i)
        "containers.tables.dict_methods:table_update", on(*STATEMENTS, when=conditions.has_tables),
    ),
    lazy_macro(  # d[i], d.get(i, 0), i in d, len(d)
        "containers.tables.dict_methods:table_lookup", on(*EXPRESSIONS, when=conditions.has_tables),
    ),
    lazy_macro(  # d.items(), sorted(d), max(d, key=d.get)
        "containers.tables.table_iteration:table_iteration",
        on(ast.Name, ast.Call, when=conditions.has_tables),
    ),
    lazy_macro(  # len(set(x))
        "containers.tables.table_iteration:unnamed_table",
        on(ast.Call, when=conditions.has_tables),
        on(ast.Call, calls=[len, max, min, sorted], when=conditions.has_new_table_argument),
        on(ast.Call, ast.Dict, ast.DictComp, ast.SetComp, when=conditions.is_returned),
    ),
    lazy_macro(  # u = x if s > 0 else y
        "numpy.elementwise.array_assignment:branch_of_arrays",
        on(ast.Assign, targets=ast.Name, value=ast.IfExp), on(ast.IfExp),
    ),
    # before unpacking_assignment, which would give a list a second name
    lazy_macro(  # a = b, a, b = b, a
        "containers.list_moves:list_move",
        on(ast.Assign, targets=(ast.Name, ast.Tuple), value=(ast.Name, ast.Tuple)),
    ),
    lazy_macro(  # l[a:b] = [s] * n
        "containers.list_moves:list_slice_store",
        on(ast.Assign, targets=ast.Subscript, value=(ast.List, ast.BinOp)),
    ),
    # before unpacking_assignment, which would give a row a second name
    lazy_macro(  # M[i], M[j] = M[j], M[i]
        "containers.rectangular_lists:swap_rows",
        on(ast.Assign, targets=ast.Tuple, value=ast.Tuple),
    ),
    lazy_macro(  # [row[:] for row in M]
        "containers.rectangular_lists:copy_rows",
        on(ast.Assign, targets=ast.Name, value=ast.ListComp), on(ast.ListComp),
    ),
    # before list_comprehension, whose loop over zip(*M) is not compiled
    lazy_macro(  # [sum(c) for c in zip(*M)]
        "containers.zipped_rows:columns_of_rows", on(ast.GeneratorExp, ast.ListComp),
    ),
    lazy_macro(  # for c in zip(*M)
        "containers.zipped_rows:loop_over_columns", on(ast.For, calls=[zip, enumerate]),
    ),
    lazy_macro(  # u = [x.copy()]
        "containers.array_lists:array_list_start", on(ast.Assign, when=conditions.has_array_lists),
    ),
    lazy_macro(  # u.append(x)
        "containers.array_lists:array_list_append", on(ast.Expr, when=conditions.has_array_lists),
    ),
    lazy_macro(  # np.array(u)
        "containers.array_lists:array_list_stack", on(ast.Call, when=conditions.has_array_lists),
    ),
    lazy_macro(  # len(u)
        "containers.array_lists:array_list_length", on(ast.Call, when=conditions.has_array_lists),
    ),
    lazy_macro(  # g[i].append(v), for v in g[i]
        "containers.linked_rows:linked_row_update",
        on(*STATEMENTS, when=conditions.has_linked_rows),
    ),
    lazy_macro(  # len(g[i]), sum(g[i])
        "containers.linked_rows:linked_row_read", on(*EXPRESSIONS, when=conditions.has_linked_rows),
    ),
    lazy_macro(  # w.append([v for v in x])
        "containers.ragged_lists:ragged_list_append",
        on(ast.Assign, ast.Expr, when=conditions.has_ragged_lists),
    ),
    lazy_macro(  # w[-1], len(w)
        "containers.ragged_lists:ragged_list_read",
        on(*EXPRESSIONS, when=conditions.has_ragged_lists),
    ),
    lazy_macro("containers.numpy_list_operands:list_argument", NUMPY_CALL),  # np.mean(w)
    lazy_macro(  # x * w
        "containers.numpy_list_operands:list_operand",
        on(ast.BinOp, ast.Compare, when=conditions.operates_on_array),
    ),
    lazy_macro(  # x[:2] = w
        "containers.numpy_list_operands:list_store",
        on(ast.Assign, targets=ast.Subscript, value=ast.Name, when=conditions.assigns_no_scalar),
        on(ast.AugAssign, value=ast.Name, when=conditions.augments_no_scalar),
    ),
    lazy_macro(  # np.array(w)
        "containers.numpy_list_operands:tuple_list_to_array",
        on(ast.Call, when=conditions.has_typed_tuple_lists),
    ),
    lazy_macro(  # np.array(M)
        "containers.rectangular_lists:table_to_array",
        on(ast.Call, when=conditions.has_number_tables),
    ),
    lazy_macro(  # w = [(v, i) for …]
        "containers.numpy_list_operands:tuple_list_comprehension",
        on(ast.Assign, when=conditions.has_tuple_lists),
    ),
    lazy_macro(  # a = xs[1:], list(range(n)), [s] + xs
        "containers.list_construction:new_list",
        on(
            ast.Assign, targets=ast.Name, value=(ast.BinOp, ast.Name, ast.Subscript),
            when=conditions.assigns_no_scalar,
        ),
        on(ast.Assign, targets=ast.Name, value=(ast.List, ast.ListComp)),
        on(ast.Assign, value=ast.Call, calls=[list, ".copy"]),
    ),
    lazy_macro(  # a += [v * 2 for v in x]
        "containers.list_construction:list_extend",
        on(ast.AugAssign, target=ast.Name, op=ast.Add, when=conditions.augments_no_scalar),
        on(ast.Expr, calls=[".extend"]),
    ),
    lazy_macro(  # a.pop(i), del a[i]
        "containers.list_methods:list_pop",
        on(ast.Expr, ast.Assign, ast.Call, calls=[".pop"]), on(ast.Delete),
    ),
    lazy_macro(  # a.sort(), sorted(x)
        "containers.list_methods:list_sort",
        on(ast.Expr, ast.Assign, ast.Call, calls=[".sort", sorted]),
    ),
    lazy_macro(  # a.reverse(), a.insert(0, s), a.remove(s)
        "containers.list_methods:list_method",
        on(ast.Expr, calls=[".insert", ".remove", ".reverse"]),
    ),
    # before unpacking_assignment, which would read i after the walrus in: n, m = i, (i := 2)
    assignment_forms.named_expression,        # (t := e)
    assignment_forms.chained_assignment,      # a = b = e
    lazy_macro("frontend.language.scalar_calls:assert_statement", on(ast.Assert)),  # assert x > 0
    lazy_macro(  # t = i, j
        "frontend.language.tuple_replacement:tuple_assignment",
        on(ast.Assign, targets=ast.Name, when=conditions.assigns_known_tuple),
    ),
    assignment_forms.unpacking_assignment,    # a, b = b, a
    lazy_macro(  # a, b = X[i]
        "numpy.indexing.index_canonicalization:unpack_row",
        on(ast.Assign, targets=(ast.Tuple, ast.List)),
    ),
    assignment_forms.augmented_assignment,    # a[i] += e
    lazy_macro(  # i in range(n)
        "frontend.iterators.iterables:in_range_test",
        on(ast.Compare, ops=MEMBERSHIP, comparators=ast.Call),
    ),
    lazy_macro(  # range(n)[k]
        "frontend.iterators.iterables:range_item", on(ast.Subscript, value=ast.Call),
    ),
    lazy_macro(  # i in (1, 2)
        "frontend.language.scalar_calls:in_constants",
        on(ast.Compare, ops=MEMBERSHIP, comparators=(ast.Tuple, ast.List, ast.Set)),
    ),
    lazy_macro(  # s in a, a.count(s), a.index(s)
        "containers.list_methods:list_search",
        on(ast.Compare, ops=MEMBERSHIP), on(ast.Call, calls=[".count", ".index"]),
    ),
    lazy_macro(  # 2**-53
        "frontend.language.scalar_calls:constant_power",
        on(ast.BinOp, op=ast.Pow, left=ast.Constant, right=(ast.Constant, ast.UnaryOp)),
    ),
    lazy_macro(  # pow(x, y), divmod(i, j), math.gcd(i, j)
        "frontend.language.scalar_calls:scalar_call", on(ast.Call, calls=[divmod, pow, OTHER]),
    ),
    lazy_macro(  # np.round(s, 2), s.clip(0, 1)
        "numpy.elementwise.elementwise_formulas:scalar_formula", NUMPY_CALL,
    ),
    lazy_macro(  # n.bit_count(), bin(n).count("1"), n.conjugate()
        "frontend.language.scalar_calls:number_method", on(ast.Call, calls=[METHOD]),
    ),
    lazy_macro(  # math.lgamma(x), math.gamma(x)
        "frontend.language.gamma_function:gamma_call",
        on(ast.Call, calls=[math.lgamma, math.gamma]),
    ),
    lazy_macro(  # math.degrees(x), np.iinfo(np.int64).max
        "frontend.language.scalar_calls:scalar_identity",
        on(ast.Attribute, value=ast.Call), on(ast.Call, calls=[METHOD, OTHER]),
    ),
    lazy_macro(  # np.ndarray(n), np.zeros(n, float, "C")
        "numpy.creation.allocation_forms:allocation_form",
        on(ast.Call, calls=[*OF_NUMPY, ALLOCATOR]),
    ),
    lazy_macro(  # np.mgrid[0:n, 0:m]
        "numpy.functions.grid_slices:grid_slices", on(ast.Subscript, when=conditions.slices_grid),
    ),
    lazy_macro(  # np.r_[0, x], np.c_[x, y]
        "numpy.creation.concatenate:join_by_subscript",
        on(ast.Subscript, when=conditions.joins_by_subscript),
    ),
    lazy_macro(  # np.zeros(n, (x + y).dtype)
        "numpy.array_attributes:dtype_of_expression",
        on(ast.Call, when=conditions.has_dtype_argument),
    ),
    lazy_macro(  # np.zeros(n).size
        "numpy.array_attributes:new_array_attribute",
        on(ast.Attribute, value=ast.Call, when=conditions.reads_shape_or_dtype),
        on(ast.Call, calls=[len], when=conditions.takes_call),
    ),
    lazy_macro(  # x.nbytes
        "numpy.array_attributes:item_size", on(ast.Attribute, when=conditions.reads_memory_size),
    ),
    lazy_macro(  # x.flags["C_CONTIGUOUS"]
        "numpy.array_attributes:array_flag", on(ast.Subscript, when=conditions.reads_array_flag),
    ),
    lazy_macro(  # np.max([s, t]), np.convolve(x, [1, 2, 1])
        "numpy.creation.array_literals:literal_argument",
        NUMPY_CALL, on(ast.BinOp, left=LITERALS), on(ast.BinOp, right=LITERALS),
    ),
    # before array_assignment and array_literal, which allocate in each iteration
    lazy_macro(  # for …: u = u + x
        "numpy.elementwise.array_assignment:reuse_array_storage",
        on(ast.Assign, targets=ast.Name, when=conditions.assigns_array_in_loop),
    ),
    lazy_macro(  # u = X[:, i:i + 1]
        "numpy.indexing.basic_indexing:unit_slice",
        on(ast.If, when=conditions.is_replay_guard),
        on(ast.Assign, value=ast.Subscript, when=conditions.assigns_slice),
    ),
    lazy_macro(  # for …: u = np.zeros(n)
        "numpy.creation.array_creation:reuse_filled_array",
        on(ast.Assign, ast.Call, calls=[NUMPY, ALLOCATOR]),
    ),
    lazy_macro(  # u = x * 2 + y
        "numpy.elementwise.array_assignment:array_assignment",
        on(ast.Assign, targets=ast.Name, when=conditions.assigns_array),
    ),
    lazy_macro(  # u = np.array([s, t])
        "numpy.creation.array_literals:array_literal", on(ast.Assign, calls=[NUMPY]),
    ),
    lazy_macro(  # u = np.cross(x, y)
        "numpy.creation.array_literals:cross_product", on(ast.Assign, calls=[np.cross]),
    ),
    lazy_macro(  # u = x[x > s], np.flatnonzero(m)
        "numpy.elementwise.boolean_indexing:mask_compress",
        on(ast.Assign, value=ast.Subscript, when=conditions.may_select_several),
        on(ast.Assign, calls=[np.flatnonzero]),
    ),
    lazy_macro(  # i, j = np.nonzero(X)
        "numpy.elementwise.nonzero_indices:nonzero_indices",
        on(ast.Assign, calls=[np.nonzero, np.where, ".nonzero"]),
        on(ast.Assign, value=ast.Subscript, when=conditions.assigns_item_of_call),
    ),
    lazy_macro(  # X[:, x > s]
        "numpy.elementwise.boolean_indexing:mask_columns",
        on(ast.Subscript, slice=ast.Tuple, ctx=ast.Load),
        on(ast.Assign, ast.AugAssign, when=conditions.has_several_subscripts),
    ),
    # before mask_scatter, which counts and copies the values; a common mask needs neither
    lazy_macro(  # x[x > s] = 0
        "numpy.elementwise.boolean_indexing:mask_store",
        on(ast.Assign, targets=ast.Subscript), on(ast.AugAssign, target=ast.Subscript),
    ),
    lazy_macro(  # x[x > s] = y
        "numpy.elementwise.boolean_indexing:mask_scatter",
        on(ast.Assign, targets=ast.Subscript), on(ast.AugAssign, target=ast.Subscript),
    ),
    lazy_macro(  # X[i] = s, t
        "numpy.creation.array_literals:literal_store",
        on(ast.Assign, targets=ast.Subscript, value=LITERALS),
    ),
    lazy_macro(  # X[i] = y
        "numpy.elementwise.array_assignment:array_store", on(ast.Assign, targets=ast.Subscript),
    ),
    lazy_macro("numpy.gather_scatter:ufunc_at", on(ast.Expr, calls=[".at"])),  # np.add.at(x, k, y)
    lazy_macro(  # np.copyto(x, y)
        "numpy.functions.array_identities:copyto",
        on(ast.Expr, calls=[np.copyto, np.put, np.putmask]),
    ),
    lazy_macro("numpy.elementwise.array_assignment:array_inplace", on(ast.AugAssign)),  # x += y
    lazy_macro(  # x.fill(1), np.copyto(x, y, where=m)
        "numpy.elementwise.ufunc_out:fill_elements", on(ast.Expr, ast.Return, calls=OF_NUMPY),
    ),
    lazy_macro(  # np.add(x, y, out=z)
        "numpy.elementwise.ufunc_out:ufunc_out",
        on(ast.Call, calls=[UFUNC]), on(ast.Call, when=conditions.has_out_argument),
    ),
    lazy_macro(  # for i, j in np.ndindex(X.shape), for v in X.flat
        "numpy.indexing.ndindex_loops:ndindex_loop",
        on(ast.For, iter=ast.Attribute), on(ast.For, calls=[np.ndenumerate, np.ndindex]),
    ),
    # before for_loop, after which d is no constant
    lazy_macro(  # for d in range(-1, 2): if d != 0
        "frontend.language.unroll_constants:decided_range",
        on(ast.For, iter=ast.Call, when=conditions.loops_over_constants),
    ),
    lazy_macro(  # for d in (-1, 0, 1)
        "frontend.language.unroll_constants:unroll_constant_loop", on(ast.For, iter=LITERALS),
    ),
    lazy_macro(  # while True: if i >= n: break
        "frontend.iterators.endless_while:endless_while", on(ast.While, test=ast.Constant),
    ),
    lazy_macro(  # while i < n: …; i += 1
        "frontend.iterators.while_to_for:while_to_for",
        on(ast.While, test=(ast.Compare, ast.BoolOp)),
    ),
    for_loops.loop_over_changing_list,        # for v in a: a.append(v)
    lazy_macro(  # for u, v in product(x, y), combinations(x, 2)
        "frontend.iterators.itertools_loops:product_loops",
        on(ast.For, iter=ast.Call, calls=[OTHER]),
    ),
    lazy_macro(  # for v in itertools.compress(x, m)
        "frontend.iterators.itertools_loops:compressed_loop",
        on(ast.For, iter=ast.Call, calls=[OTHER]),
    ),
    lazy_macro(  # for v in itertools.takewhile(test, x)
        "frontend.iterators.itertools_loops:loop_while", on(ast.For, iter=ast.Call, calls=[OTHER]),
    ),
    for_loops.for_loop,                       # for v in x, enumerate, zip, reversed
    # before minmax_fold, which loops over the items; those of a tuple are known
    lazy_macro(  # min(X.shape)
        "frontend.language.tuple_replacement:tuple_fold",
        on(ast.Call, when=conditions.has_known_tuple_argument),
    ),
    lazy_macro(  # (i, j) < (k, 0)
        "frontend.language.tuple_replacement:tuple_comparison", on(ast.Compare),
    ),
    lazy_macro(  # range(*t)
        "frontend.language.tuple_replacement:starred_tuple",
        on(ast.Call, when=conditions.has_starred_argument),
    ),
    lazy_macro(  # t[0]
        "frontend.language.tuple_replacement:tuple_item",
        on(ast.Subscript, ctx=ast.Load, when=conditions.reads_item_of_tuple),
    ),
    lazy_macro(  # x[t] += 1
        "frontend.language.tuple_replacement:tuple_subscript",
        on(ast.AugAssign, target=ast.Subscript),
    ),
    lazy_macro(  # t, t[:1], t + (0,)
        "frontend.language.tuple_replacement:tuple_expression",
        on(ast.Name, ast.Tuple, ast.BinOp, ast.Subscript, when=conditions.is_known_tuple),
        on(ast.Attribute, value=ast.Name, when=conditions.returns_shape),
    ),
    lazy_macro(  # MOVES
        "frontend.language.tuple_replacement:constant_tuple",
        on(ast.Name, ast.Attribute, when=conditions.is_constant_tuple),
    ),
    lazy_macro(  # x[i][j]
        "numpy.indexing.index_canonicalization:merge_subscripts",
        on(ast.Subscript, value=ast.Attribute, when=conditions.subscripts_flat),
        on(ast.Subscript, value=ast.Subscript),
        on(ast.Call, calls=[len], when=conditions.has_attribute_argument),
    ),
    lazy_macro(  # x[[0, 2]], X[np.ix_(k, k)]
        "numpy.indexing.index_canonicalization:list_index_arrays",
        on(ast.AugAssign, target=ast.Subscript), on(ast.Subscript, slice=(ast.Call, *LITERALS)),
    ),
    lazy_macro(  # sum(e for v in x if c)
        "frontend.iterators.builtin_folds:sum_fold", on(ast.Call, calls=[sum]),
    ),
    lazy_macro(  # itertools.accumulate(x)
        "frontend.iterators.itertools_loops:accumulated_list",
        on(ast.Call, calls=[itertools.accumulate]),
    ),
    lazy_macro(  # reduce(lambda a, b: a * b, x)
        "frontend.iterators.builtin_folds:functools_reduce", on(ast.Call, calls=[functools.reduce]),
    ),
    # before minmax_fold, which would leave a max of two tuples in the loop
    lazy_macro(  # min(x, key=lambda v: -v), max((v, i) for …)
        "frontend.iterators.builtin_folds:minmax_by_key", on(ast.Call, calls=[max, min]),
    ),
    lazy_macro(  # min(x), max(e for v in x)
        "frontend.iterators.builtin_folds:minmax_fold", on(ast.Call, calls=[max, min]),
    ),
    lazy_macro(  # any(e for v in x)
        "frontend.iterators.builtin_folds:any_fold", on(ast.Call, calls=[any]),
    ),
    lazy_macro(  # all(e for v in x)
        "frontend.iterators.builtin_folds:all_fold", on(ast.Call, calls=[all]),
    ),
    lazy_macro(  # np.flip(X, 1), np.asarray(x)
        "numpy.functions.view_identities:view_identity", NUMPY_CALL,
    ),
    lazy_macro(  # np.nanmean(x), np.allclose(x, y)
        "numpy.functions.call_identities:call_identity", NUMPY_CALL,
    ),
    lazy_macro(  # np.add.reduce(x), x.sum(dtype=np.float64)
        "numpy.reduce.axis_reductions:reduction_identity", NUMPY_CALL,
    ),
    lazy_macro(  # np.sum(X, axis=0), x.max()
        "numpy.reduce.axis_reductions:array_reduction", NUMPY_CALL,
    ),
    lazy_macro(  # np.var(x), np.ptp(x)
        "numpy.reduce.axis_reductions:derived_reduction", NUMPY_CALL,
    ),
    lazy_macro(  # np.cumsum(x), np.maximum.accumulate(x)
        "numpy.reduce.axis_scans:array_scan", NUMPY_CALL,
    ),
    lazy_macro(  # np.argmin(x), x.argmax()
        "numpy.reduce.axis_scans:array_arg_reduction", NUMPY_CALL,
    ),
    lazy_macro(  # X @ Y, np.dot(x, y), np.inner(x, y)
        "numpy.reduce.matrix_products:matrix_product", NUMPY_CALL, on(ast.BinOp, op=ast.MatMult),
    ),
    lazy_macro("numpy.reduce.einsum:array_einsum", NUMPY_CALL),  # np.einsum("ij,jk->ik", X, Y)
    lazy_macro(  # np.searchsorted(x, v), np.bincount(k)
        "numpy.functions.function_loops:function_loops", NUMPY_CALL,
    ),
    lazy_macro(  # h, e = np.histogram(x)
        "numpy.functions.function_loops:function_pair_loops",
        on(ast.Call, calls=[*OF_NUMPY, divmod]), on(ast.Subscript, value=ast.Call),
    ),
    lazy_macro(  # i, j = np.unravel_index(k, X.shape)
        "numpy.indexing.ndindex_loops:unravel_index", NUMPY_CALL,
    ),
    lazy_macro(  # np.outer(x, y)
        "numpy.reduce.matrix_products:outer_product", on(ast.Call, calls=[np.outer]),
    ),
    lazy_macro(  # np.concatenate((x, y)), np.stack
        "numpy.creation.concatenate:concatenate_arrays", NUMPY_CALL,
    ),
    lazy_macro(  # ops.to_bitmask(x > 0), ops.from_bitmask(m, 8)
        "numpy.elementwise.bitmask_conversion:bitmask_conversion",
        on(ast.Call, calls=[ops.from_bitmask, ops.to_bitmask]),
    ),
    lazy_macro(  # np.expand_dims(x, 0), X.squeeze(1), np.cumsum(X)
        "numpy.shape_ops:shape_operation", NUMPY_CALL,
    ),
    lazy_macro(  # np.diff(x), np.trace(X)
        "numpy.functions.array_identities:diff_trace", NUMPY_CALL,
    ),
    lazy_macro(  # f(np.array([s, t]))
        "numpy.creation.array_literals:array_literal_temporary", on(ast.Call, calls=[NUMPY]),
    ),
    lazy_macro(  # f(x[x > s])
        "numpy.elementwise.boolean_indexing:mask_compress_temporary",
        on(ast.Subscript, when=conditions.may_select_several), on(ast.Call, calls=[np.flatnonzero]),
    ),
    lazy_macro(  # rng.normal(size=n)
        "numpy.creation.array_creation:random_array", on(ast.Call, calls=[BOUND, METHOD]),
    ),
    lazy_macro(  # f(x + 1)
        "numpy.elementwise.array_assignment:array_temporary",
        on(*EXPRESSIONS, when=conditions.makes_array),
    ),
    lazy_macro(  # np.vstack([x[i : i + 3] for i in range(n)])
        "numpy.creation.array_comprehensions:stack_comprehension", NUMPY_CALL,
    ),
    lazy_macro(  # np.array([e for v in x])
        "numpy.creation.array_comprehensions:array_comprehension", on(ast.Call, calls=[NUMPY]),
    ),
    lazy_macro(  # y[i] = [e for v in x]
        "numpy.creation.array_comprehensions:comprehension_store",
        on(ast.Assign, targets=ast.Subscript, value=ast.ListComp),
    ),
    comprehensions.collected_generator,       # list(e for v in x)
    # before ragged_list_comprehension, which would append item by item
    lazy_macro(  # [[i * j for j in range(m)] for i in x]
        "numpy.creation.array_comprehensions:rectangular_comprehension",
        on(ast.Assign, targets=ast.Name, value=ast.ListComp), on(ast.ListComp, elt=ast.ListComp),
    ),
    lazy_macro(  # [[i for i in range(j)] for j in range(n)]
        "containers.ragged_lists:ragged_list_comprehension",
        on(ast.Assign, when=conditions.has_ragged_lists),
        on(ast.ListComp, when=conditions.is_returned),
    ),
    # before list_comprehension, which would append in a loop
    comprehensions.repeated_list,             # [0 for _ in range(n)]
    lazy_macro(  # return a[::-1]
        "containers.list_construction:returned_list", on(*EXPRESSIONS, when=conditions.is_returned),
    ),
    comprehensions.list_comprehension,        # [e for v in x if c]
    # the last, as it is about what no other macro expands
    lazy_macro(  # np.linspace(0, 1, 2.0), x << 1.0: Python raises
        "numpy.numpy_errors:note_type_error",
        on(ast.BinOp, ast.Call, ast.UnaryOp, when=conditions.may_be_no_operation),
    ),
)
"""All macros, each with an example, and of what is imported later the declarations of its row. Of
several that could fire on a node, the first does; where that matters, a comment above its row names
the later one that would also fire.
"""

VIEW_RULES: tuple[ViewRule, ...] = (
    # x * 2 + y, np.sqrt(x)
    lazy_function("transpile", "numpy.elementwise.elementwise_ops:elementwise_view"),
    # x[1:n], X[i], X[:, None], x[k]
    lazy_function("transpile", "numpy.indexing.basic_indexing:indexed_view"),
    # np.arange(n), np.linspace(a, b, n)
    lazy_function("transpile", "numpy.elementwise.arange_linspace:sequence_view"),
)
"""The rules by which `numpy.array_views.view_of` makes a view of an array expression, in the order
tried. The rules call `view_of` for their operands, and `view_of` gets the rules through `Context`:
an import of them in `array_views` would be a cycle.
"""
