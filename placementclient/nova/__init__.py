"""The consumers as Nova has them: records of its API, and the service that answers."""
