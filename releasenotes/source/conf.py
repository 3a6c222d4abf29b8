"""Configuration of the release notes as a document of its own."""

project = 'python-placementclient Release Notes'
copyright = 'The python-placementclient developers'
extensions = ['openstackdocstheme', 'reno.sphinxext']
openstackdocs_auto_name = False
openstackdocs_auto_version = False
html_theme = 'openstackdocs'
html_theme_options = {'display_badge': False, 'analytics_tracking_code': ''}
