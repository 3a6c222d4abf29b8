"""A whole cloud, and a plan for it, on one page of HTML that needs nothing beside it."""
