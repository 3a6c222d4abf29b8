"""A cloud, and a plan for it, as a self-contained page of HTML."""
