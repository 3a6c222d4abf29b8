"""The program ``placement``, completion, and the hooks that OpenStackClient calls."""
