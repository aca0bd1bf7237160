"""Programs, a file a subject. Importing any imports all, and each adds its own."""
from importlib import import_module
from pkgutil import iter_modules

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
