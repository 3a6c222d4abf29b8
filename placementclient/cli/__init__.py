"""The program ``placement``: the commands of the plugin, without the rest of OpenStackClient."""
