"""Items as MCP resources: whoever follows the link of a hit, or knows its id, can read the whole item."""

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity

from passageway_query import instructions
from passageway_query.render import ITEM_MIME_TYPE, ITEM_URI, open_text
from passageway_query.tools import NoSuchItem, Tools

TEMPLATE = f"{ITEM_URI}{{source}}/{{id}}{{?part}}"

# An id is looked up in an index and never becomes a path, so `..` or a slash at its start is as good as any letter.
_NOT_PATHS = ResourceSecurity(exempt_params={"source", "id", "part"})


def add_resources(server: MCPServer[None], tools: Tools) -> None:
    """Let every item be read as a resource, a part at a time. None is listed: there may be hundreds of thousands."""

    @server.resource(
        TEMPLATE,
        name="item",
        title="Item",
        description=instructions.ITEM,
        mime_type=ITEM_MIME_TYPE,
        security=_NOT_PATHS,
    )
    async def item(source: str, id: str, part: str = "1") -> str:
        number = int(part) if part.isascii() and part.isdigit() and len(part) <= 6 else 0
        try:
            return open_text(await tools.part((source, id), number))
        except NoSuchItem as error:
            raise ResourceNotFoundError(str(error)) from error
        except ToolError as error:
            raise ResourceError(str(error)) from error
