// An API server with an authenticator of your own: npx tsx -C @postern/source examples/embed/own-authenticator.ts DIRECTORY
// With `sign USER SECONDS [GROUP...]` behind the directory, it prints a token instead.

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  createApiServer,
  createMemoryStorage,
  createSelfSignedCertificate,
  createTokenFileAuthenticator,
  unionTokenAuthenticator,
} from "@postern/kubernetes";
import { createSignedTokenAuthenticator, signToken } from "./signed-tokens.ts";

const [directory = ".", command, user = "", seconds = "", ...groups] = process.argv.slice(2);
const file = join(directory, "secret");
if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString("hex"), { mode: 0o600 });
const secret = readFileSync(file, "utf8");

if (command === "sign") {
  console.log(signToken(secret, { user, groups, expires: Date.now() + Number(seconds) * 1000 }));
} else {
  const tls = createSelfSignedCertificate();
  writeFileSync(join(directory, "tls.crt"), tls.cert);
  await using storage = createMemoryStorage();
  await using server = await createApiServer({
    storage,
    // Namespaces, RBAC, ConfigMaps and the like are served in any case.
    resources: [],
    tokens: unionTokenAuthenticator([
      createSignedTokenAuthenticator(secret),
      createTokenFileAuthenticator(readFileSync(join(directory, "tokens.csv"), "utf8")),
    ]),
    tls,
  });
  console.log(server.url);
  await new Promise((resolve) => process.once("SIGTERM", resolve));
}
