"""Why a request has candidates or none, and what would be enough."""
