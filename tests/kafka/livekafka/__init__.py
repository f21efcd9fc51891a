"""A real single-node Kafka broker for the tests, and the clients that fill and read it."""
