"""How the documentation is built."""

from importlib import metadata

project = 'python-placementclient'
copyright = 'The python-placementclient developers'
release = version = metadata.version(project)
extensions = ['sphinx.ext.autodoc', 'cliff.sphinxext', 'openstackdocstheme', 'reno.sphinxext']
autoprogram_cliff_application = 'openstack'
openstackdocs_auto_name = False
openstackdocs_auto_version = False
html_theme = 'openstackdocs'
exclude_patterns: list[str] = []
nitpicky = False
man_pages = [('man/placement', 'placement', "the operator's tool for OpenStack Placement", '', 1)]
