"""Write a passageway connector in Python: the plumbing of the protocol, without dependencies."""
