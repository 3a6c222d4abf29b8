"""The commands: parse the options, call one function, render the result.

A module is called by the object or the task of its commands. The module of the same name in ``api``
sends the requests, the one in ``producers`` plans the changes, and the one in ``render`` makes the
table.

Modules that take long to load are imported where a command runs: the script of ``placement
complete``, and each help text, load the module of a command too.
"""
