// The client of @modelcontextprotocol/client 2.x, of either era.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { report } from "./person.mjs";

await report(UnauthorizedError, StreamableHTTPClientTransport, ({ era }) =>
  new Client({ name: "client2", version: "1" }, { versionNegotiation: { mode: era } }));
