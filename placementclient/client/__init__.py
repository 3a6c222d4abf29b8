"""HTTP: the session, the routes with their microversions, the answers and refusals."""
