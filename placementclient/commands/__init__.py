"""The commands: parse, call one function of the API, render.

Modules that take long to load are imported where a command runs: the script of ``placement
complete``, and each help text, load the module of a command too.
"""
