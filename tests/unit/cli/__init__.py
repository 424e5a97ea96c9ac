"""The parts that commands are made of."""
