"""Passes: pure functions kernel → kernel; an unchanged kernel is returned as the same object.

`pass_list` has them in order. A pass is one file; its function has the name of the module.
"""
