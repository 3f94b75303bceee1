// An API server with an action and a view below an object: npx tsx -C @postern/source examples/embed/subresource.ts DIRECTORY
//   POST …/loaves/NAME/bake       bakes a loaf, once
//   GET  …/loaves/NAME/nutrition  computes something of it

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  ApiError,
  createApiServer,
  createMemoryStorage,
  createSelfSignedCertificate,
  createTokenFileAuthenticator,
  defineResource,
  type KindOf,
  kindSchema,
  type RequestContext,
  type Subresource,
  s,
} from "@postern/kubernetes";

const GROUP = { group: "bakery.example.com", version: "v1" };
const apiVersion = `${GROUP.group}/${GROUP.version}`;
const KILOCALORIES_PER_GRAM = 2.5;

const fields = s.object({
  spec: s.object({ grams: s.int32({ minimum: 100, maximum: 5000 }).default(750) }).required(),
  status: s.object({ bakedAtDegrees: s.int32().describe("Absent as long as the loaf is dough.") }),
});
type Loaf = KindOf<typeof fields>;

/** The body of a POST to `bake`. It is checked against this schema before `create` is called. */
const baking = s.object({ spec: s.object({ degrees: s.int32({ minimum: 150, maximum: 300 }).required() }).required() });

const bake: Subresource = {
  name: "bake",
  kind: { ...GROUP, kind: "Baking" },
  schema: kindSchema(baking.schema),
  description: "Bakes the loaf.",
  async create(context, body) {
    // It has passed the schema.
    const { spec } = body as KindOf<typeof baking>;
    const { namespace, name } = context.info;
    const request = {
      subresource: "status",
      // Called again with the newest object if another write came in between, so that a loaf is baked once.
      transform(current: object) {
        const loaf = current as Loaf;
        if (loaf.status?.bakedAtDegrees !== undefined) {
          throw new ApiError({ code: 409, reason: "Conflict", message: `loaf "${name}" is baked already` });
        }
        return { ...loaf, status: { bakedAtDegrees: spec.degrees } };
      },
    };
    const dryRun = context.request.query.has("dryRun");
    await storeOfLoaves().update(context, namespace, name, request, { dryRun });
    return body;
  },
};

const nutrition: Subresource = {
  name: "nutrition",
  kind: { ...GROUP, kind: "Nutrition" },
  schema: kindSchema(s.object({ status: s.object({ kilocalories: s.int32() }) }).schema),
  description: "Says what the loaf has in it.",
  async get(context: RequestContext) {
    const { namespace, name } = context.info;
    const found = await storeOfLoaves().get(context, namespace, name, { resourceVersion: "" });
    const { spec } = found.decode() as Loaf;
    const status = { kilocalories: Math.round((spec.grams ?? 0) * KILOCALORIES_PER_GRAM) };
    return { apiVersion, kind: "Nutrition", metadata: { namespace, name }, status };
  },
};

const loaves = defineResource({
  ...GROUP,
  kind: "Loaf",
  plural: "loaves",
  singular: "loaf",
  namespaced: true,
  hasStatus: true,
  schema: kindSchema(fields.schema),
  subresources: [bake, nutrition],
  columns: [{ name: "Baked at", type: "integer", value: ".status.bakedAtDegrees" }],
});

const directory = process.argv[2] ?? ".";
const tls = createSelfSignedCertificate();
writeFileSync(join(directory, "tls.crt"), tls.cert);
await using storage = createMemoryStorage();
await using server = await createApiServer({
  storage,
  resources: [loaves],
  tokens: createTokenFileAuthenticator(readFileSync(join(directory, "tokens.csv"), "utf8")),
  tls,
});

/** Everything there is of loaves. Authorization has already asked whether the caller may `create loaves/bake` or `get loaves/nutrition`. */
function storeOfLoaves() {
  const installed = server.registry.find(loaves.group, loaves.version, loaves.plural);
  if (installed === undefined) throw new Error("loaves are not served");
  return installed.genericStore;
}

console.log(server.url);
await new Promise((resolve) => process.once("SIGTERM", resolve));
