// An API server for a resource of your own: npx tsx -C @postern/source examples/embed/bakery.ts DIRECTORY

import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  createApiServer,
  createTokenFileAuthenticator,
  defineResource,
  invalidError,
  type KindOf,
  kindSchema,
  type Strategy,
  s,
} from "@postern/kubernetes";
import { openSqliteStorage } from "@postern/stores";

const fields = s.object({
  spec: s
    .object({
      flour: s
        .string({ enum: ["rye", "wheat", "spelt"] })
        .required()
        .describe("The flour that the loaf is made of."),
      grams: s.int32({ minimum: 100, maximum: 5000 }).default(750).describe("Weight in grams."),
    })
    .required(),
});

const strategy: Strategy<KindOf<typeof fields>> = {
  validateUpdate: ({ spec }, old) =>
    spec.flour === old.spec.flour ? [] : [invalidError("spec.flour", spec.flour, "field is immutable")],
};

const loaves = defineResource({
  group: "bakery.example.com",
  version: "v1",
  kind: "Loaf",
  plural: "loaves",
  namespaced: true,
  schema: kindSchema(fields.schema),
  strategy,
  columns: [
    { name: "Flour", type: "string", value: ".spec.flour" },
    { name: "Grams", type: "integer", value: ".spec.grams" },
  ],
});

const directory = process.argv[2] ?? ".";
const file = (name: string): string => readFileSync(join(directory, name), "utf8");
await using storage = await openSqliteStorage({ path: join(directory, "bakery.db") });
await using server = await createApiServer({
  storage,
  resources: [loaves],
  tokens: createTokenFileAuthenticator(file("tokens.csv")),
  tls: { key: file("tls.key"), cert: file("tls.crt") },
});
console.log(server.url);
await new Promise((resolve) => process.once("SIGTERM", resolve));
