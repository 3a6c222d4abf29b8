"""The base classes of commands, and the options and functions that several commands share.

A command is one class: its options, examples and exit statuses are attributes, and its method
``execute`` does the work. To add one, read in this order:

1. ``option``: an option, with the microversions that have it,
2. ``placement_command``: a run of any command, from the parsed options to the exit status,
3. ``base``: commands that print rows, fields, or nothing; ``document_command``: a text,
4. ``change_command``: commands that show changes, ask for confirmation, and apply them.

The modules ``..._options`` have the options that several commands share, with the functions that
read their values; ``service_lists`` reads the lists of Nova and of other services, and
``nova_outages`` has the errors and findings if Nova does not answer.
"""
