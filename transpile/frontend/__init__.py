"""Front end: from a Python function to core Python.

In the order of processing: source, bytecode check, scope; constants in place of arguments whose
values select the code (`value_specialization`); inlining (`inline`); local names for the members of
arguments (`object_arguments`); expansion of macros (`expand`; the engine in `macros`, the forms of
the language in `language`)."""
