"""What clients read before they sign in: which server is the resource, and what the authorization server can do."""

from typing import Any

from passageway_query.auth.addresses import SCOPE, Addresses

PATHS = (
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
)


def protected_resource(addresses: Addresses) -> dict[str, Any]:
    """RFC 9728."""
    return {
        "resource": addresses.resource,
        "authorization_servers": [addresses.issuer],
        "scopes_supported": [SCOPE],
        "bearer_methods_supported": ["header"],
        "resource_name": "passageway",
    }


def authorization_server(addresses: Addresses, *, documents: bool = False) -> dict[str, Any]:
    """RFC 8414. Client id metadata documents are offered only where the server may fetch what a stranger names."""
    offered = {"client_id_metadata_document_supported": True} if documents else {}
    return {
        **offered,
        "issuer": addresses.issuer,
        "authorization_endpoint": f"{addresses.issuer}/authorize",
        "token_endpoint": f"{addresses.issuer}/token",
        "registration_endpoint": f"{addresses.issuer}/register",
        "revocation_endpoint": f"{addresses.issuer}/revoke",
        "scopes_supported": [SCOPE],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }
