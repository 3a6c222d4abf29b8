# SPDX-License-Identifier: Apache-2.0
"""The operator's tool for OpenStack Placement."""

DISTRIBUTION = 'python-placementclient'


def get_name_and_version() -> str:
    """Return the name and version of this program, for the files that it writes."""
    # Loaded only here: it costs more than all that completion may take.
    from importlib import metadata

    try:
        return f'{DISTRIBUTION} {metadata.version(DISTRIBUTION)}'
    except metadata.PackageNotFoundError:
        # From a checkout that was never installed.
        return DISTRIBUTION
