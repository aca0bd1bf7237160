"""Passes: kernel → kernel, pure; an unchanged kernel comes back as the same object.

`pass_list` has them in order. A pass is one file; its function has the name of the module.
"""
