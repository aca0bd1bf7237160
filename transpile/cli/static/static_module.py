"""Static modules: the functions, classes and constants of a file, read without running it.

Statements at the top of a module bind names: imports, ``def``, ``class``, and assignments of values
that `static_values` can evaluate. A name bound in any other way is `Unevaluated`. Installed
packages are imported; modules of the user's own are read in the same way.
"""
from __future__ import annotations

import ast
import contextlib
import dis
import types
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from loopir.lazy_dataclass import record

from ...frontend.bytecode_check import nested_codes
from ...frontend.defining_modules import module_of
from ...runtime.fuse_decorator import Fused, fuse
from ..input_files import Cell, UnreadableFile, compiled_cells
from .find_modules import installed_module, module_location, own_file
from .static_values import (
    Evaluator,
    NotStatic,
    Unevaluated,
    WrongOption,
    is_decorator,
    is_mutable,
    member_of,
    own_files,
    own_objects,
    runs_no_hooks,
)

__all__ = ["Modules", "StaticModule"]

_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Def = ast.FunctionDef | ast.AsyncFunctionDef


@record
class StaticModule:
    """What was read of one module."""

    module: types.ModuleType
    codes: list[types.CodeType]  # of all functions and classes, outer ones first
    defined: list[Any] = field(default_factory=list)
    """Every function at the top or in a class, also those that a decorator replaced."""
    inner: list[_Def] = field(default_factory=list)
    """Functions in others that are decorated by ``fuse``; they are made when these run."""

    @property
    def names(self) -> dict[str, Any]:
        """Its namespace."""
        return vars(self.module)


class Modules:
    """The modules that were read, by their file; each is read once."""

    def __init__(self) -> None:
        self._by_path: dict[Path, StaticModule] = {}
        self._unreadable: dict[Path, str] = {}  # why a file of the user's cannot be read

    def read(self, path: str, cells: Sequence[Cell]) -> StaticModule:
        """The module in the file `path`: its functions as if it had been imported, but no statement
        of it has been run. ``cells``: its Python, one piece for a file, several for a notebook.

        `_Reader` goes through the statements at the top, and binds in the new module what they
        bind: a ``def`` becomes a function object, a constant is evaluated, an import is followed
        (installed packages are imported, the user's modules read in the same way). Each module is
        read once, and noted before its statements are read, so that modules may import each other.
        `file_cases` calls this for each file of the command line.

        Raises WrongOption for a decorator ``@fuse(...)`` with a wrong option.
        """
        resolved = Path(path).resolve()
        if resolved not in self._by_path:
            home, name = module_location(path)
            package = name if resolved.name == "__init__.py" else name.rpartition(".")[0]
            module = types.ModuleType(name)
            module.__file__, module.__package__ = path, package
            own_objects.add(module)
            own_files.update(cell.name for cell in cells)
            codes = [inner for cell in cells for inner in nested_codes(cell.code)]
            found = self._by_path[resolved] = StaticModule(module, codes)
            for cell in cells:
                _Reader(self, home, found, cell.name).read(cell.tree)
        return self._by_path[resolved]

    @property
    def modules(self) -> list[types.ModuleType]:
        """The modules of the user's that were read."""
        return [found.module for found in self._by_path.values()]

    def imported(self, name: str, home: Path, own: str) -> types.ModuleType | None:
        """The module of this dotted name, None if there is none. Packages that are installed are
        imported, others are read. `home` and `own` are as for `own_file`.
        """
        path = own_file(name, home, own)
        if path is None:
            return installed_module(name)
        module = self._static_module(path)
        parent, _, last = name.rpartition(".")
        if module is not None and parent and (package := self.imported(parent, home, own)):
            setattr(package, last, module)
        return module

    def _static_module(self, path: Path) -> types.ModuleType | None:
        """The module in the file `path`, read unless it was before; None if it cannot be read."""
        known = self._by_path.get(path.resolve())
        if known is not None:
            return known.module
        try:
            return self.read(str(path), compiled_cells(str(path))).module
        except UnreadableFile as error:
            reason = str(error).removeprefix("SOURCE_UNPARSABLE ")
            self._unreadable[path] = reason.replace(str(path), path.name)
            return None

    def why_missing(self, name: str, home: Path, own: str) -> str:
        """Why there is no module of this dotted name, for which `imported` has given None."""
        path = own_file(name, home, own)
        return self._unreadable.get(path or Path(), f"there is no module {name}")


class _Reader:
    """Reads the statements of one module, and of the classes in it."""

    def __init__(self, modules: Modules, home: Path, module: StaticModule, name: str) -> None:
        self._modules = modules
        self._home = home
        self._module = module
        self._file_name = name
        self._scope: list[dict[str, Any]] = [module.names]
        self._prefix = ""
        self._class_cell: types.CellType | None = None
        self._uncertain = False  # in a block that may not run, or more than once

    def read(self, tree: ast.Module) -> None:
        """Read the statements of the module, or of a cell."""
        self._read_block(tree.body)

    def _read_block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._read_statement(statement)

    def _read_statement(self, node: ast.stmt) -> None:
        """Bind what the statement binds."""
        match node:
            case ast.Import(names=aliases):
                for alias in aliases:
                    self._import(alias)
            case ast.ImportFrom():
                self._import_from(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._bind(node.name, self._function(node))
            case ast.ClassDef():
                self._bind(node.name, self._class(node))
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, value, node)
            case ast.AnnAssign(target=target, value=value):
                self._annotate(target, node.annotation)
                if value is not None:
                    self._assign([target], value, node)
            case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
                name = ast.copy_location(ast.Name(target.id, ast.Load()), target)
                self._assign([target], ast.copy_location(ast.BinOp(name, op, value), node), node)
            case ast.If(test=test):
                self._if(node, test)
            case ast.Try():
                self._try(node)
            case ast.Expr(value=value):
                try:
                    self._evaluate(value)
                except NotStatic:
                    self._forget_changed(value)
            case ast.Pass() | ast.Global():
                pass
            case _:
                self._read_uncertain(node)

    # -- names and values

    def _find(self, name: str) -> Any:
        """The value of a name. Raises NotStatic for one that is not bound here."""
        for scope in reversed(self._scope):
            if name in scope:
                return scope[name]
        raise NotStatic

    def _evaluate(self, node: ast.expr) -> Any:
        """The value of an expression. Raises NotStatic and WrongOption."""
        return Evaluator(self._find, self._lambda).evaluate(node)

    def _bind(self, name: str, value: Any) -> None:
        """Bind `name` in the innermost scope."""
        if name == "__name__" or (self._uncertain and not isinstance(value, Unevaluated)):
            return  # `_read_uncertain` has bound the name to Unevaluated already
        self._scope[-1][name] = value

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr, node: ast.stmt) -> None:
        """``a = b, c = value``"""
        try:
            found = self._evaluate(value)
        except NotStatic:
            found = _at(node)
            self._forget_changed(value)
        for target in targets:
            self._bind_target(target, found)

    def _bind_target(self, target: ast.expr, value: Any) -> None:
        """Bind the names of a target of an assignment; one that is no name may change an object."""
        match target:
            case ast.Name(id=name):
                self._bind(name, value)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                fits = isinstance(value, (tuple, list)) and len(value) == len(parts)
                plain = fits and not any(isinstance(p, ast.Starred) for p in parts)
                values = value if plain else [_at(target)] * len(parts)
                for part, item in zip(parts, values, strict=True):
                    self._bind_target(part, item)
            case ast.Starred(value=inner):
                self._bind_target(inner, _at(target))
            case _:
                self._forget_changed(target)

    def _annotate(self, target: ast.expr, annotation: ast.expr) -> None:
        """The annotation of a field, which dataclasses and named tuples read."""
        if not isinstance(target, ast.Name) or len(self._scope) == 1:
            return
        value = self._annotation(annotation)
        self._scope[-1].setdefault("__annotations__", {})[target.id] = (
            Any if isinstance(value, Unevaluated) else value
        )

    def _forget_changed(self, node: ast.AST) -> None:
        """Make Unevaluated what running `node` may change: the lists, dicts and objects that it
        names. A function that it names may be called: so also what that function names or binds.
        """
        seen: set[str] = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                for scope in self._scope:
                    self._forget(inner.id, scope, _at(node), seen)

    def _forget(self, name: str, scope: dict[str, Any], why: Unevaluated, seen: set[str]) -> None:
        """Make `name` of `scope` Unevaluated if it is bound to something that can change; follows
        functions, of which `seen` were followed already.
        """
        value = scope.get(name)
        if isinstance(value, Fused):
            value = value.__wrapped__
        if isinstance(value, types.FunctionType):
            if name not in seen:
                seen.add(name)
                for code in (value.__code__, *nested_codes(value.__code__)):
                    for used in code.co_names:
                        self._forget(used, scope, why, seen)
                    for used in _names_stored(code):
                        scope[used] = why
        elif name in scope and is_mutable(value):
            scope[name] = why

    # -- imports

    def _imported(self, name: str) -> types.ModuleType | None:
        """The module of this dotted name, as `Modules.imported` finds it from here."""
        own = self._module.module.__name__.partition(".")[0]
        return self._modules.imported(name, self._home, own)

    def _missing(self, name: str) -> Unevaluated:
        """The value of a module of this dotted name, which there is not."""
        own = self._module.module.__name__.partition(".")[0]
        why = self._modules.why_missing(name, self._home, own)
        return Unevaluated(why, f"install or correct {name}, which the file imports when it runs")

    def _import(self, alias: ast.alias) -> None:
        """``import a.b`` or ``import a.b as c``"""
        module = self._imported(alias.name)
        top, _, rest = alias.name.partition(".")
        if module is not None and rest and not alias.asname:
            module = self._imported(top)
        value = module if module is not None else self._missing(alias.name)
        self._bind(alias.asname or top, value)

    def _import_from(self, node: ast.ImportFrom) -> None:
        """``from a import b`` and ``from a import *``"""
        name = node.module or ""
        if node.module == "__future__":
            return
        if node.level:
            package = (self._module.module.__package__ or "").split(".")
            base = package[: len(package) - node.level + 1]
            name = ".".join([*base, *([name] if name else [])])
        module = self._imported(name) if name else None
        for alias in node.names:
            if alias.name == "*":
                for each in _public_names(module):
                    self._bind(each, self._member(module, name, each))
                continue
            self._bind(alias.asname or alias.name, self._member(module, name, alias.name))

    def _member(self, module: types.ModuleType | None, name: str, member: str) -> Any:
        """``member`` of a module, or its submodule."""
        if module is not None:
            with contextlib.suppress(NotStatic):
                return member_of(module, member)
        submodule = self._imported(f"{name}.{member}")
        if submodule is not None:
            return submodule
        has_module = module is not None or not name
        return Unevaluated(f"there is no {name}.{member}") if has_module else self._missing(name)

    # -- definitions

    def _function(self, node: _Def) -> Any:
        """The function of a ``def``, decorated as far as the decorators are known."""
        line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        try:
            function: Any = self._function_object(self._code(node.name, line), node)
        except NotStatic:
            return _at(node)
        self._module.defined.append(function)
        self._module.inner += filter(self._is_fused, _inner_functions(node))
        for decorator in reversed(node.decorator_list):
            function = self._decorated(function, decorator)
            self._module.defined.append(function)
        return function

    def _decorated(self, made: Any, decorator: ast.expr) -> Any:
        """A function or class under ``@decorator``. Raises WrongOption."""
        if isinstance(made, Unevaluated):
            return made
        try:
            decorate = self._evaluate(decorator)
            if not is_decorator(decorate):
                return _at(decorator)
            return decorate(made)
        except NotStatic:
            return _at(decorator)
        except (TypeError, ValueError, AttributeError) as error:
            if module_of(decorate) == module_of(fuse):
                raise WrongOption(error, decorator.lineno) from None
            return _at(decorator)

    def _is_fused(self, node: _Def) -> bool:
        """Whether a decorator of the function is ``fuse``, with or without options."""
        for decorator in node.decorator_list:
            callee = decorator.func if isinstance(decorator, ast.Call) else decorator
            with contextlib.suppress(NotStatic):
                if self._evaluate(callee) is fuse:
                    return True
        return False

    def _code(self, name: str, line: int) -> types.CodeType:
        """The code of the function of this name that begins at a line. Raises NotStatic."""
        found = [
            c for c in self._module.codes
            if (c.co_name, c.co_firstlineno, c.co_filename) == (name, line, self._file_name)
        ]
        if len(found) != 1:
            raise NotStatic
        return found[0]

    def _function_object(self, code: types.CodeType, node: _Def | ast.Lambda) -> Any:
        """The function with its defaults and annotations, as far as they are known."""
        cells = tuple(
            self._class_cell
            if name == "__class__" and self._class_cell is not None
            else types.CellType(_at(node))
            for name in code.co_freevars
        )
        function = types.FunctionType(code, self._module.names, code.co_name, None, cells)
        function.__qualname__ = self._prefix + code.co_name
        args = node.args
        function.__defaults__ = tuple(map(self._default, args.defaults)) or None
        function.__kwdefaults__ = {
            arg.arg: self._default(default)
            for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
            if default is not None
        } or None
        for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            if arg.annotation is not None:
                value = self._annotation(arg.annotation)
                if not isinstance(value, Unevaluated):
                    function.__annotations__[arg.arg] = value
        return function

    def _lambda(self, node: ast.Lambda) -> Any:
        return self._function_object(self._code("<lambda>", node.lineno), node)

    def _default(self, node: ast.expr) -> Any:
        """The value of an expression, such as a default; `Unevaluated` if it is not known."""
        try:
            return self._evaluate(node)
        except NotStatic:
            return _at(node)

    def _annotation(self, node: ast.expr) -> Any:
        """The value of an annotation, also of one in quotes; `Unevaluated` if it is not known."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return _at(node)
        return self._default(node)

    def _class(self, node: ast.ClassDef) -> Any:
        """The class, if its bases, decorators and body are known; its functions in any case."""
        names: dict[str, Any] = {}
        outer = self._prefix, self._class_cell, self._uncertain
        self._prefix = f"{self._prefix}{node.name}."
        cell = self._class_cell = types.CellType()
        self._uncertain = False
        self._scope.append(names)
        self._read_block(node.body)
        self._scope.pop()
        self._prefix, self._class_cell, self._uncertain = outer
        made = cell.cell_contents = self._class_object(node, names)
        for decorator in reversed(node.decorator_list):
            made = self._decorated(made, decorator)
        return made

    def _class_object(self, node: ast.ClassDef, names: dict[str, Any]) -> Any:
        """The class, unless making it would run code of the user's own."""
        names |= {
            "__module__": self._module.module.__name__, "__qualname__": self._prefix + node.name,
        }

        def fill(body: dict[str, Any]) -> None:
            for name, value in names.items():  # an enum's namespace has no other way in
                body[name] = value  # noqa: PERF403

        try:
            bases = tuple(self._evaluate(base) for base in node.bases)
            if node.keywords or not runs_no_hooks(bases, names):
                return _at(node)
            made = types.new_class(node.name, bases, {}, fill)
        except Exception:
            return _at(node)
        own_objects.add(made)
        return made

    # -- blocks

    def _if(self, node: ast.If, test: ast.expr) -> None:
        """The branch that runs; if that is not known, both as uncertain (`_read_uncertain`). Of
        ``if TYPE_CHECKING`` the imports, and the ``else``.
        """
        if _is_type_checking(test):
            self._read_block([s for s in node.body if isinstance(s, (ast.Import, ast.ImportFrom))])
            self._read_block(node.orelse)
            return
        try:
            self._read_block(node.body if self._evaluate(test) else node.orelse)
        except NotStatic:
            self._read_uncertain(node)

    def _try(self, node: ast.Try) -> None:
        """A ``try`` with an import in its body: of ``try: import a`` and ``except: a = None`` the
        handler is read, too, if `a` cannot be imported; any other ``try`` may end anywhere, so what
        it binds is unknown.
        """
        imports = (ast.Import, ast.ImportFrom)
        if not any(isinstance(s, imports) for s in node.body):
            self._read_uncertain(node)
            return
        self._read_block(node.body)
        scope = self._scope[-1]
        bound = [
            (a.asname or a.name).partition(".")[0]
            for s in node.body if isinstance(s, imports) for a in s.names
        ]
        if any(isinstance(scope.get(name), Unevaluated) for name in bound):
            for handler in node.handlers[:1]:
                self._read_block(handler.body)
        else:
            self._read_block(node.orelse)
        self._read_block(node.finalbody)

    def _read_uncertain(self, node: ast.stmt) -> None:
        """Read a statement that may not run, or more than once: the names that it binds become
        Unevaluated; functions and classes in it are found all the same.
        """
        self._forget_changed(node)
        unknown = _at(node)
        for inner in ast.walk(node):
            match inner:
                case ast.Name(id=name, ctx=ast.Store()):
                    self._scope[-1][name] = unknown
                case (
                    ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name)
                    | ast.ClassDef(name=name)
                ):
                    self._scope[-1].setdefault(name, unknown)
                case ast.alias(name=name, asname=asname):
                    self._scope[-1].setdefault((asname or name).partition(".")[0], unknown)
        before, self._uncertain = self._uncertain, True
        for block in _blocks(node):
            definitions = (*_DEFS, ast.ClassDef, ast.If, ast.Try, ast.With, ast.For)
            self._read_block([s for s in block if isinstance(s, definitions)])
        self._uncertain = before


def _is_type_checking(test: ast.expr) -> bool:
    """Whether `test` is ``TYPE_CHECKING`` or ``typing.TYPE_CHECKING``."""
    return "TYPE_CHECKING" in (getattr(test, "id", None), getattr(test, "attr", None))


def _at(node: ast.AST) -> Unevaluated:
    """The value of what is bound at `node`."""
    return Unevaluated(f"line {getattr(node, 'lineno', 0)}")


def _names_stored(code: types.CodeType) -> set[str]:
    """The global names that a function binds."""
    return {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_GLOBAL"}


def _inner_functions(node: _Def) -> Iterator[_Def]:
    """The functions inside `node`."""
    return (n for n in ast.walk(node) if isinstance(n, _DEFS) and n is not node)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement, those of its handlers and cases included."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, [])
        if isinstance(block, list):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _public_names(module: types.ModuleType | None) -> list[str]:
    """The names that ``from module import *`` binds."""
    if module is None:
        return []
    names = vars(module).get("__all__")
    if not isinstance(names, (list, tuple)):
        names = [name for name in vars(module) if not name.startswith("_")]
    return [name for name in names if isinstance(name, str)]


