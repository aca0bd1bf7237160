"""Lower names and attributes: arguments, captured objects, fields and local variables.

An argument or a captured object becomes a parameter of the kernel when it is first read, and is
bound in `IRBuilder.env` like a local variable from then on::

    K = 3                                   # a global
    def f(x, i):         kernel f(x: f64[::1], i: i64, K: i64)
        return x[i] * K  plan: x and i are Argument bindings, K is a Captured one

`lower_name` resolves a name. A name that may be unbound is required to be bound where it is read.
"""
from __future__ import annotations

import ast
from functools import partial
from inspect import getattr_static
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import LinearForm
from loopir.analysis.integers.intervals import LENGTH
from loopir.nodes import Call, Dim, Param, Var

from ..analysis.access_paths import access_path_type
from ..analysis.definite_assignment import first_unassigned_read
from ..call_plan import Argument, Captured, ComplexPart, Field, ObjectMember
from ..codes.lowering_codes import HELP_FOR_UNBOUND
from ..frontend.ast_names import bound_names, names_used
from ..frontend.ast_walk import walk_nodes
from ..frontend.core_nodes import inlined_at, source_text
from ..frontend.name_resolution import NameScope
from ..frontend.refusal import refuse, refuse_missing_attribute, refuse_no_value
from ..host_nodes import HostName, host_source
from ..types.int_limits import ARGUMENT, INT64, WORD, help_for_long_int
from ..types.typed_values import ComplexPair, Num, bool_op, constant
from ..types.typeof import global_type
from ..types.value_types import (
    PARTS,
    ArrayType,
    Constant,
    GeneratorType,
    ListType,
    ObjectType,
    Opaque,
    RecordType,
    ScalarType,
)
from .arrays.element_access import lower_subscript
from .arrays.memory_layout import lower_flag, lower_strides
from .arrays.record_arrays import array_with_shape_of, as_record_array
from .complex.complex_arithmetic import complex_literal
from .complex.complex_calls import real_or_imaginary_part
from .lists.list_arguments import take_list_items
from .scalars.callable_ops import refuse_library_behind
from .scalars.scalar_arithmetic import binary_operation
from .scalars.tagged_unions import lower_number
from .state.guards_and_checks import add_guard, require
from .state.ir_builder import kernel_param
from .state.lowering_state import Lowering
from .state.node_dispatch import lower_value
from .state.outer_names import (
    is_outer_none,
    of_type_that_is_not_compiled,
    refuse_member,
    refuse_unknown_attribute,
    resolve_guarded,
    resolve_object,
)
from .state.symbol_values import (
    Absent,
    ArrayRef,
    ListRef,
    RecordArrayRef,
    Unbound,
    UnionValue,
    Value,
)
from .state.value_ranges import integer_num

__all__ = [
    "guard_int_params", "lower_attribute", "lower_bare_name", "lower_delete", "lower_name",
    "lower_name_expression", "lower_subscript_expression",
]


def _add_param(
    ctx: Lowering,
    name: str,
    ty: ArrayType | ScalarType,
    binding: Argument | Captured | Field | ObjectMember,
) -> Num | ComplexPair | ArrayRef:
    """Adds a kernel parameter `name` of type `ty`, which the caller gets by `binding`, and returns
    its value. A complex scalar becomes two parameters, for its parts.
    """
    b = ctx.b
    assert b.bindings.get(name, binding) == binding, f"two parameters `{name}`"
    if isinstance(binding, (Argument, Captured)) and getattr(ty, "dtype", "") in PARTS and (
        isinstance(ty, ScalarType)
    ):
        re, im = (_complex_part_param(ctx, part, ty, binding) for part in ("real", "imag"))
        return ComplexPair(re, im)
    b.names.add(name)
    b.bindings[name] = binding
    if isinstance(ty, ScalarType):
        b.params[name] = Param(name, ty.dtype)
        return _scalar_param_value(name, ty)
    b.params[name] = kernel_param(name, ty)
    shape = tuple(integer_num(b, Dim(name, k), LENGTH) for k in range(ty.rank))
    return ArrayRef(name, ty.dtype, ty.unit, shape)


def _complex_part_param(ctx: Lowering, part: str, ty: ScalarType, of: Argument | Captured) -> Num:
    """The ``real`` or ``imag`` `part` of the complex argument or captured scalar `of`, as a kernel
    parameter. A parameter that was added for it before is used again.
    """
    b = ctx.b
    parts = (p for p in b.bindings.values() if isinstance(p, ComplexPart))
    existing = next((p.name for p in parts if (p.of, p.part) == (of, part)), None)
    name, dtype = existing or b.name(f"{of.name}_{part}"), PARTS[ty.dtype]
    b.bindings[name] = ComplexPart(name, of, part, ty)
    b.params[name] = Param(name, dtype)
    return _scalar_param_value(name, ScalarType(dtype, ty.weak))


def _scalar_param_value(name: str, ty: ScalarType) -> Num:
    """The value of a scalar parameter. A Python int is in the range `ARGUMENT`, which is guarded.
    """
    var = Var(name, ty.dtype)
    if not ty.weak:
        return Num(var, strong=ty.dtype)
    if ty.dtype != "i64":
        return Num(var, weak=ty.dtype)
    return Num(var, weak="i64", linear=LinearForm.of(var), interval=ARGUMENT)


def guard_int_params(ctx: Lowering, tree: ast.AST) -> None:
    """Adds guards that int parameters are in the range `ARGUMENT`, so that sums of a few of them
    cannot overflow:

        def f(x, k): return x[k + 1]    →    guard(k >= -2**61), guard(k <= 2**61)

    - of Python ints: of all, since lowering takes `ARGUMENT` as their interval from the start
      (`_scalar_param_value`);
    - of NumPy's int64s: of those of which lowering has used an interval (`interval_of`). Others
      may be any int64, and a guard would replay calls that the kernel can serve.

    `lower_function` calls it when all is lowered and `RangeState.assumed_params` is complete. The
    guards get the places of the parameters in the report.
    """
    places = {n.arg: n for n in walk_nodes(tree) if isinstance(n, ast.arg)}
    for name, binding in ctx.b.bindings.items():
        ty = getattr(binding, "type", None)
        if ty == ScalarType("i64", weak=True) or (
            ty == ScalarType("i64") and name in ctx.b.ranges.assumed_params
        ):
            var = Var(name, "i64")
            for op, limit in (("ge", ARGUMENT[0]), ("le", ARGUMENT[1])):
                within = Call(op, (var, index_const(limit)), "bool")
                add_guard(ctx.b, within, "GUARD_INT_RANGE", places.get(name, tree))


def lower_name(ctx: Lowering, name: str, node: ast.AST) -> Any:
    """The `Value` of `name` where it is read. The first case that applies decides:

    - bound in `IRBuilder.env`, that is, assigned, or read before: that value, which is required to
      be bound (`_lower_local_or_global`);
    - no argument: a global or closure variable (`_lower_local_or_global`, too);
    - an argument of a number or array: it becomes a parameter of the kernel (`_add_param`);
    - an argument of a list: its items become a parameter, as an array (`take_list_items`);
    - an argument of records: a reference; each field that is read becomes a parameter.

    A parameter is added when it is read, so a kernel takes none that it does not use. `ctx.types`
    also has the names to which macros have bound members of arguments, ``self_a = self.a``.

    Raises Refused where the name certainly has no value, or one of a type that no kernel can take.
    """
    ty = ctx.types.get(name)
    if ty is None or name in ctx.b.env:
        return _lower_local_or_global(ctx, name, node)
    if isinstance(ty, Constant):
        return refuse("LOWER_TYPE", f"`{name}` is {ty}, and not a number here", node)
    if isinstance(ty, Opaque):
        read = ctx.members.reads.get(name, HostName(name))
        return refuse(ty.code, f"`{host_source(read)}` is of type {ty}", node)
    if isinstance(ty, RecordType):
        ctx.b.env[name] = records = RecordArrayRef(name, ty)
        return records
    if isinstance(ty, ObjectType):
        return _refuse_object(ctx, ty, node)
    if isinstance(ty, ListType):
        ctx.b.env[name] = items = take_list_items(ctx, name, ty, node)
        return items
    # a number or an array: a field of records, a member of an object, or the argument itself
    field = next((f for f in ctx.members.fields.values() if f.name == name), None)
    member = ctx.members.objects.get(name)
    value: Value = _add_param(ctx, name, ty, field or member or Argument(name, ty))
    ctx.b.env[name] = value
    return value


def _refuse_object(ctx: Lowering, ty: ObjectType, node: ast.AST) -> NoReturn:
    """Refuses the read of an argument that is an object of type `ty`, at `node`: names the member
    that is read of it, if the type of that is the matter.

        c.name            `refuse_member` of ``c.name``
        self.rows[0]      `refuse_member` of ``self.rows``
        c.nmae            "`c` is not known to have an attribute `nmae`"
        c                 "`c` is of type Config, which is not compiled"
    """
    place, found = node, ty
    types = {name: t for name, t in ctx.types.items() if isinstance(t, ObjectType)}
    while True:
        reads = (n for n in walk_nodes(ctx.tree) if isinstance(n, (ast.Attribute, ast.Subscript)))
        member = next((n for n in reads if n.value is place), None)
        part = None if member is None else access_path_type(member, types)
        if member is not None and isinstance(part, ObjectType):
            place, found = member, part
            continue
        is_of_class = isinstance(member, ast.Attribute) and (
            getattr_static(found.kind, member.attr, None) is not None
        )
        if member is not None and (is_of_class or isinstance(part, (Constant, ListType, Opaque))):
            refuse_member(ctx, member)
        if isinstance(member, ast.Attribute) and not found.is_tuple and found.kind is not dict:
            refuse_unknown_attribute(found, member)
        break
    if isinstance(place, ast.Attribute):
        refuse_member(ctx, place)
    refuse("LOWER_TYPE", of_type_that_is_not_compiled(source_text(place), str(found)), place)


def _lower_local_or_global(ctx: Lowering, name: str, node: ast.AST) -> Any:
    """`lower_name` of a name that has a value in ``env``, or is no argument:

    1. a local name, or one that was read before: its value in ``env``, which is required to be
       bound;
    2. a local name without a value: Refused;
    3. a global or closure variable that is a number or an array: a parameter of the kernel. Each
       call passes its present value (`Captured`); only its type is assumed;
    4. one that is a list: its items become a parameter, as an array; one that is an array of
       records: a reference, each field that is read becomes a parameter;
    5. any other, such as a function or a string: Refused, as it has no value in a kernel. Macros
       and `resolve_guarded` have looked at those that the compiler knows.
    """
    local = ctx.b.env.get(name)
    if isinstance(local, Unbound):
        return _value_if_bound(ctx, name, local, node)
    if isinstance(local, UnionValue):
        return _bound_cases(ctx, local, name, node)
    if local is not None:
        return local
    origin, value = ctx.scope.find(name)
    if origin is NameScope.LOCAL or origin is NameScope.UNBOUND:
        _refuse_unbound(ctx, name, node)
    ty = global_type(value)
    if isinstance(ty, ListType):
        ctx.b.env[name] = items = take_list_items(ctx, name, ty, node, captured=True)
        return items
    if isinstance(ty, (Constant, ObjectType, Opaque)):
        _refuse_special_object(name, value, node)
        where = "closure variable" if origin is NameScope.CLOSURE else "global"
        return refuse("LOWER_TYPE", f"`{name}` is a {where} of type {ty}", node)
    if isinstance(ty, RecordType):
        ctx.b.env[name] = records = RecordArrayRef(name, ty)
        return records
    if type(value) is int and not ARGUMENT[0] <= value <= ARGUMENT[1]:
        return _long_global(ctx, name, value, node)
    ctx.b.env[name] = captured = _add_param(ctx, name, ty, Captured(name, ty))
    return captured


def _long_global(ctx: Lowering, name: str, value: int, node: ast.AST) -> Num:
    """The global `name`, an int that no parameter takes, such as a mask of 64 ones, as a constant:
    each call checks that it is the same. Raises Refused for an int of more than 64 bits.
    """
    if not INT64[0] <= value <= WORD[1]:
        message = f"`{name}` does not fit an int of 64 bits"
        refuse("LOWER_TYPE", message, node, help=help_for_long_int(value))
    ctx.guarded_objects[HostName(name)] = value
    ctx.b.env[name] = known = constant(value)
    return known


def _refuse_unbound(ctx: Lowering, name: str, node: ast.AST) -> NoReturn:
    """Refuses the local `name`, of which lowering knows no value at `node`: it may be unbound, or
    is bound to something else in a loop or branch that cannot be carried out of it, or macros have
    replaced it by names of its parts, such as ``v.0`` and ``v.1`` of a list of pairs.
    """
    parameters = [n.arg for n in walk_nodes(ctx.tree.args) if isinstance(n, ast.arg)]
    is_bound = name in bound_names(*ctx.tree.body) or name in parameters
    if is_bound and first_unassigned_read(ctx.tree.body, parameters, {name}) is None:
        around = ctx.b.path.frames[0].node if ctx.b.path.frames else ctx.tree
        refuse_library_behind(ast.Name(name), around, partial(resolve_object, ctx))
        message = f"what `{name}` is bound to here is not known: it changes in a loop or a branch"
        help = "use another name for each array or list, subscripts in place of views, or store " \
               "items: `v[:] = w` of arrays, `v[0] = a` of lists, in place of `v = w`"
        refuse("LOWER_UNSUPPORTED", message, node, help=help, note=_where_bound(ctx, name))
    if not is_bound and f"{name}.0" in names_used(ctx.tree):
        message = f"`{name}`, which has tuples, is not compiled as a whole here"
        help = "use its items, or have a list of numbers for each item of the tuples"
        refuse("LOWER_UNSUPPORTED", message, node, help=help)
    message = f"`{name}` may have no value here"
    refuse("LOWER_UNSUPPORTED", message, node, help=HELP_FOR_UNBOUND)


def _where_bound(ctx: Lowering, name: str) -> str | None:
    """The lines in which the function binds the local `name`, as a note; None if it is inlined."""
    bound = [n for n in walk_nodes(ctx.tree) if isinstance(n, ast.Name) and n.id == name
             and isinstance(n.ctx, ast.Store) and hasattr(n, "lineno")]
    lines = [str(line) for line in sorted({n.lineno for n in bound})]
    if not lines or any(inlined_at(n) for n in bound):
        return None
    where = f"lines {', '.join(lines[:-1])} and {lines[-1]}" if lines[1:] else f"line {lines[0]}"
    return f"`{name}` is bound in {where}"


def _refuse_special_object(text: str, value: object, node: ast.AST) -> None:
    """Refuses `text`, a name or attribute that is bound to `value`, if that is a module, a class or
    a function: these have no value in a kernel, and are compiled where they are used otherwise.
    """
    if isinstance(value, ModuleType):
        help = "use a function or a number of it"
        refuse("LOWER_TYPE", f"`{text}` is a module, and is used as a value", node, help=help)
    if isinstance(value, type):
        help = "call it where its result is needed, or use the class outside of the function"
        refuse("LOWER_TYPE", f"`{text}` is a class, and is used as a value", node, help=help)
    if callable(value) and hasattr(value, "__name__"):
        help = "call it where its result is needed, or pass it to a function that calls it"
        refuse("LOWER_TYPE", f"`{text}` is a function, and is used as a value", node, help=help)


def lower_name_expression(ctx: Lowering, node: ast.Name) -> Any:
    """The value of a name in an expression; the rule for `ast.Name`."""
    return lower_name(ctx, node.id, node)


def lower_subscript_expression(ctx: Lowering, node: ast.Subscript) -> Any:
    """A subscript: of an array of records, else an element or a view of an array; the rule for
    `ast.Subscript`.
    """
    return as_record_array(ctx, node) or lower_subscript(ctx, node)


def _bound_cases(ctx: Lowering, union: UnionValue, name: str, node: ast.AST) -> Any:
    """The value of `name`, bound to `union`, without the case that it is unbound, which is required
    not to hold: Python raises there. A single remaining case is returned as its value.

    Raises NoValue where the name is certainly unbound.
    """
    bound = [c for c in union.cases if c.value is not Absent.UNBOUND]
    if not bound:
        refuse_no_value(f"`{name}` has no value here", node)
    if len(bound) == len(union.cases):
        return union
    _require_bound(ctx, name, node)
    is_single = len(bound) == 1 and not isinstance(bound[0].value, Absent)
    return bound[0].value if is_single else UnionValue(tuple(bound))


def lower_delete(ctx: Lowering, node: ast.expr) -> None:
    """``del name``: requires that the name is bound, and makes it unbound."""
    assert isinstance(node, ast.Name)
    if not _require_bound(ctx, node.id, node) and node.id not in ctx.arguments:
        _refuse_unbound(ctx, node.id, node)
    ctx.b.env[node.id] = Unbound()


def _require_bound(ctx: Lowering, name: str, node: ast.AST) -> bool:
    """Requires that `name` is bound, if it is in ``env``, and returns whether it is there."""
    value = ctx.b.env.get(name)
    if isinstance(value, Unbound):
        _value_if_bound(ctx, name, value, node)
    elif isinstance(value, UnionValue):
        for c in value.cases:
            if c.value is Absent.UNBOUND:
                require(ctx.b, bool_op("not", c.when), "GUARD_EMPTY", node)
    return value is not None


def lower_bare_name(ctx: Lowering, node: ast.Name | ast.Attribute) -> None:
    """A name or dotted name as a statement. Macros and inlining leave one where the compiled code
    depends on what the name is bound to.

    A local name is required to be bound. A global that is bound to a function, a type or None is
    checked at each call to be the same object. Any other name is read, which makes it a parameter.
    Constants, generators and objects among the arguments need nothing: each call is compared with
    the signature, which has them.
    """
    name = node.id if isinstance(node, ast.Name) else ""
    in_signature = isinstance(ctx.arguments.get(name), (Constant, GeneratorType, ObjectType))
    if in_signature or (isinstance(node, ast.Name) and _require_bound(ctx, name, node)):
        return
    if name in ctx.arguments or (
        resolve_guarded(ctx, node) is None and not is_outer_none(ctx, name)
    ):
        lower_value(ctx, node)


def _value_if_bound(ctx: Lowering, name: str, maybe: Unbound, node: ast.AST) -> Num:
    """The value of `name` where it is bound, which is required. Raises Refused where lowering knows
    no value of it.
    """
    if maybe.value is None or maybe.is_bound is None:
        return _refuse_unbound(ctx, name, node)
    require(ctx.b, maybe.is_bound, "GUARD_EMPTY", node)
    return maybe.value


def lower_attribute(ctx: Lowering, node: ast.Attribute) -> Any:
    """``a.shape`` and other attributes of arrays, ``a.flags.NAME``, ``z.real``, or a number that is
    an attribute of a global object, such as ``math.pi``. Raises Refused for other attributes, and
    for an int of more than 64 bits.
    """
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    if isinstance(ctx.b.env.get(name), ListRef):  # though its items are in an array
        _refuse_list_attribute(node)
    array = array_with_shape_of(ctx, node.value)
    if array is not None and not array.kinds:
        return _array_attribute(ctx, array, node)
    if isinstance(node.value, ast.Attribute) and node.value.attr == "flags":
        owner = array_with_shape_of(ctx, node.value.value)
        if owner is not None and not owner.kinds:
            return lower_flag(ctx, owner, node.attr, node)
    value = resolve_guarded(ctx, node)
    if node.attr in ("real", "imag") and value is None:
        return real_or_imaginary_part(ctx, node.attr, lower_number(ctx, node.value), node)
    if type(value) is complex:
        return complex_literal(value)
    if isinstance(value, int) and not INT64[0] <= value <= WORD[1]:
        message = f"`{source_text(node)}` does not fit an int of 64 bits"
        refuse("LOWER_TYPE", message, node, help=help_for_long_int(value))
    if type(value) in (int, float, bool):
        return constant(value)  # type: ignore[arg-type]
    if isinstance(node.value, ast.Name) and isinstance(ctx.b.env.get(node.value.id), Unbound):
        lower_name(ctx, node.value.id, node.value)  # refused: it is one array or another
    text = source_text(node)
    _refuse_special_object(text, value, node)
    root, help = text.partition(".")[0], None
    if root.isidentifier() and ctx.scope.find(root)[0] in (NameScope.CLOSURE, NameScope.GLOBAL):
        help = f"pass `{text}` as a parameter of its own"
        if isinstance(value, (int, float)):  # of a subclass, such as IntEnum
            number = "int" if isinstance(value, int) else "float"
            help = f"pass `{number}({text})` as a parameter of its own"
    return refuse("LOWER_UNSUPPORTED", f"`{text}` is not known to be a number", node, help=help)


_LENGTH_IN_SIZE = (0, 1 << 20)
"""The interval of a length while a size is computed: so small that the product needs no overflow
checks. The size of an array in memory cannot overflow.
"""


def _refuse_list_attribute(node: ast.Attribute) -> NoReturn:
    """Refuses a method of a list that is not called here, and an attribute that lists do not have.
    """
    if hasattr(list, node.attr):
        text = source_text(node)
        message = f"the method `{text}` is compiled only where it is called"
        refuse("LOWER_UNSUPPORTED", message, node, help=f"write `{text}(…)` where it is used")
    refuse_missing_attribute(list, "a list", node)


def _refuse_array_attribute(node: ast.Attribute) -> NoReturn:
    """Refuses an attribute of an array that is not compiled, or that arrays do not have."""
    if hasattr(np.ndarray, node.attr):
        message = f"the attribute `{source_text(node)}` of an array is not compiled here"
        refuse("LOWER_UNSUPPORTED", message, node)
    refuse_missing_attribute(np.ndarray, "an array", node)


def _array_attribute(ctx: Lowering, array: ArrayRef, node: ast.Attribute) -> Any:
    """``array.shape``, ``ndim``, ``size`` or ``strides``. Raises Refused for other attributes."""
    match node.attr:
        case "shape":
            return array.shape
        case "ndim":
            return constant(array.rank)
        case "strides":
            return lower_strides(ctx, array, node)
        case "size":
            size = constant(1)
            for n in array.shape:
                length = Num(n.ir, weak="i64", linear=n.linear, interval=_LENGTH_IN_SIZE)
                size = binary_operation(ctx, ast.Mult, size, length, node)
            return integer_num(ctx.b, size.ir, LENGTH) if size.linear is None else size
        case _:
            return _refuse_array_attribute(node)
