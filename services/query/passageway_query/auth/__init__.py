"""The OAuth login for remote MCP clients: an authorization server whose one user is whoever knows the password."""
