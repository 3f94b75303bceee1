// An API server with a store of your own: npx tsx -C @postern/source examples/embed/own-store.ts DIRECTORY

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  createApiServer,
  createSelfSignedCertificate,
  createTokenFileAuthenticator,
  defineResource,
  kindSchema,
  s,
} from "@postern/kubernetes";
import { openJournalStorage } from "./journal-storage.ts";

const loaves = defineResource({
  group: "bakery.example.com",
  version: "v1",
  kind: "Loaf",
  plural: "loaves",
  namespaced: true,
  schema: kindSchema(s.object({ spec: s.object({ flour: s.string() }) }).schema),
});

const directory = process.argv[2] ?? ".";
const tls = createSelfSignedCertificate();
writeFileSync(join(directory, "tls.crt"), tls.cert);
await using storage = await openJournalStorage(join(directory, "objects.journal"));
await using server = await createApiServer({
  storage,
  resources: [loaves],
  tokens: createTokenFileAuthenticator(readFileSync(join(directory, "tokens.csv"), "utf8")),
  tls,
});
console.log(server.url);
await new Promise((resolve) => process.once("SIGTERM", resolve));
