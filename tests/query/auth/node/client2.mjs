// The client of @modelcontextprotocol/client 2.x, of either era: with the password, or signing in and renewing its token.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { provider, use } from "./person.mjs";

const { url, password, era, signIn, method, redirect, document } = JSON.parse(process.argv[2]);
const made = () => new Client({ name: "client2", version: "1" }, { versionNegotiation: { mode: era } });
const to = (options) => new StreamableHTTPClientTransport(new URL(url), options);

if (signIn) {
  const auth = provider(password, method, redirect, document);
  const first = to({ authProvider: auth });
  await made().connect(first).catch((error) => { if (!(error instanceof UnauthorizedError)) throw error; });
  await first.finishAuth(auth.kept.back.searchParams.get("code"), auth.kept.back.searchParams.get("iss") ?? undefined);
  const before = auth.kept.tokens.refresh_token;
  const signedIn = await use(made(), to({ authProvider: auth }));
  auth.kept.tokens = { ...auth.kept.tokens, access_token: "mcp_at_expired" };
  await use(made(), to({ authProvider: auth }));
  console.log(JSON.stringify({ ...signedIn, client: auth.kept.client.client_id, renewed: auth.kept.tokens.refresh_token !== before }));
} else {
  const transport = to({ requestInit: { headers: { Authorization: `Bearer ${password}` } } });
  console.log(JSON.stringify(await use(made(), transport)));
}
