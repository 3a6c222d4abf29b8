"""The commands: parse, call one function of the API, render."""
