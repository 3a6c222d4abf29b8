"""How the documentation is built."""

project = 'python-placementclient'
copyright = 'The python-placementclient developers'
extensions = ['sphinx.ext.autodoc', 'cliff.sphinxext']
autoprogram_cliff_application = 'openstack'
html_theme = 'alabaster'
exclude_patterns: list[str] = []
nitpicky = False
