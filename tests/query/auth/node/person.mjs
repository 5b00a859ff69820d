// A person with a browser, and what every client does: with the password, or signing in and renewing its token.
async function allow(url, password) {
  const page = await fetch(url);
  const form = new URLSearchParams({ password, action: "allow" });
  for (const [, name, value] of (await page.text()).matchAll(/type="hidden" name="(\w+)" value="([^"]+)"/g)) form.set(name, value);
  const reply = await fetch(new URL("/login", url), {
    method: "POST",
    redirect: "manual",
    headers: { cookie: page.headers.get("set-cookie").split(";")[0] },
    body: form,
  });
  return new URL(reply.headers.get("location"));
}

function provider(password, method, redirect, document) {
  const kept = {};
  return {
    kept,
    redirectUrl: redirect,
    clientMetadataUrl: document,
    clientMetadata: {
      redirect_uris: [redirect],
      client_name: "A client in TypeScript",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      ...(method ? { token_endpoint_auth_method: method } : {}),
    },
    state: () => "state-of-the-client",
    clientInformation: () => kept.client,
    saveClientInformation: (client) => { kept.client = client; },
    tokens: () => kept.tokens,
    saveTokens: (tokens) => { kept.tokens = tokens; },
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (discovery) => { kept.discovery = discovery; },
    redirectToAuthorization: async (url) => { kept.back = await allow(url, password); },
  };
}

async function use(client, transport) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  const { resourceTemplates } = await client.listResourceTemplates();
  const { prompts } = await client.listPrompts();
  const query = "When do we rotate the signing certificate?";
  const found = await client.callTool({ name: "recall", arguments: { query } });
  const link = found.content.find((block) => block.type === "resource_link");
  const read = await client.readResource({ uri: link.uri });
  const completed = await client.complete({
    ref: { type: "ref/resource", uri: resourceTemplates[0].uriTemplate },
    argument: { name: "source", value: "n" },
  });
  const missing = await client.readResource({ uri: "passageway://item/notes/gone" }).catch((error) => error.code);
  const version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
  await client.close();
  return {
    version,
    tools: tools.map((tool) => tool.name),
    prompts: prompts.map((prompt) => prompt.name),
    title: found.structuredContent.passages[0].title,
    text: found.content[0].text,
    read: read.contents[0].text,
    completed: completed.completion.values,
    missing,
  };
}

async function signedIn(UnauthorizedError, made, to, { password, method, redirect, document }) {
  const auth = provider(password, method, redirect, document);
  const first = to({ authProvider: auth });
  await made().connect(first).catch((error) => { if (!(error instanceof UnauthorizedError)) throw error; });
  const answer = auth.kept.back.searchParams;
  await first.finishAuth(answer.get("code"), answer.get("iss") ?? undefined);
  const before = auth.kept.tokens.refresh_token;
  const used = await use(made(), to({ authProvider: auth }));
  auth.kept.tokens = { ...auth.kept.tokens, access_token: "mcp_at_expired" };
  await use(made(), to({ authProvider: auth }));
  return { ...used, client: auth.kept.client.client_id, renewed: auth.kept.tokens.refresh_token !== before };
}

// Prints what a client saw as one line of JSON; the script's argument says where and how.
export async function report(UnauthorizedError, Transport, client) {
  const options = JSON.parse(process.argv[2]);
  const made = () => client(options);
  const to = (how) => new Transport(new URL(options.url), how);
  const header = { requestInit: { headers: { Authorization: `Bearer ${options.password}` } } };
  const seen = options.signIn ? await signedIn(UnauthorizedError, made, to, options) : await use(made(), to(header));
  console.log(JSON.stringify(seen));
}
