"""What Nova knows of the consumers: records of its API, and the service that answers them."""
