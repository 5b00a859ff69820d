"""`passageway doctor`: looks at each link of the chain, from the settings to a remote client's sign-in."""
