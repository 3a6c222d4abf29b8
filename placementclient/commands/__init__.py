"""The commands: parse the options, call one function, render the result.

Modules that take long to load are imported where a command runs: the script of ``placement
complete``, and each help text, load the module of a command too.
"""
