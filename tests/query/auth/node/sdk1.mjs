// The client of @modelcontextprotocol/sdk 1.x.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { report } from "./person.mjs";

await report(UnauthorizedError, StreamableHTTPClientTransport, () => new Client({ name: "sdk1", version: "1" }));
