"""Checks that anyone can run against a connector or an embedder of their own."""
