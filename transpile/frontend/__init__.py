"""Front end: from a Python function to core Python.

In the order of processing: source, bytecode check, scope; inlining (`inline`); expansion of
macros (`expand`; the engine in `macros`, the forms of the language in `language`)."""
