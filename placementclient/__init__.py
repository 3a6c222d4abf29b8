"""The operator's tool for OpenStack Placement."""
