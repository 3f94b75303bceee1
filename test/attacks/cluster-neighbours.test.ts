// A tenant's definitions, webhooks, expressions and quotas in its own cluster, against its neighbour on the same server: whether it reads
// the neighbour's objects, and whether it fills the memory or the store that both share. Whether it slows the neighbour down is tried in
// longest-turn.test.ts (definitions, expressions, quotas), denial-of-service.test.ts (all), and in the tests of both kinds of webhooks.

import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import {
  converting,
  patching,
  startWebhookServer,
  type WebhookServer,
} from "@postern/platform/features/virtual-clusters/embedded/testing/webhook-server";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { API, type AttackedServer, residentMiB, startAttackedServer } from "./testing/attacked-server.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const MAPS = "/api/v1/namespaces/default/configmaps";
const MERGE = { "content-type": "application/merge-patch+json" };
const APPLY = { "content-type": "application/apply-patch+yaml" };
/** Share of the store that the attacker's cluster may have. */
const SHARE = 4 << 20;

let server: AttackedServer;
let webhook: WebhookServer;

type Options = { readonly method?: string; readonly body?: unknown; readonly headers?: object };
const inside =
  (project: string) =>
  (path: string, options: Options = {}) =>
    server.send(`/kubernetes/project/${project}/virtualcluster/theirs${path}`, {
      key: server.admin,
      ...options,
    } as never);
const attacker = inside("attackers");
const neighbour = inside("neighbours");
type Cluster = typeof attacker;

beforeAll(async () => {
  server = await startAttackedServer(["--proxy-allowed-addresses", "127.0.0.1"]);
  webhook = await startWebhookServer();
  const quotas = { project: { "virtualcluster.bytes": String(SHARE) } };
  for (const [name, cluster, more] of [
    ["attackers", attacker, { quotas }],
    ["neighbours", neighbour, {}],
  ] as const) {
    await make((path, options) => server.send(path, { key: server.admin, ...options } as never), `${API}/projects`, {
      metadata: { name },
      spec: { allowedClusters: [{ name: "*" }], ...more },
    });
    const instances = `${API}/namespaces/p-${name}/virtualclusterinstances`;
    const create = () =>
      server.send(instances, { key: server.admin, body: { metadata: { name: "theirs" }, spec: {} } });
    await vi.waitFor(async () => expect((await create()).status).toBe(201));
    await vi.waitFor(async () => expect((await cluster(MAPS)).status).toBe(200));
  }
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await webhook?.[Symbol.asyncDispose]();
});

async function make(cluster: Cluster, path: string, body: object): Promise<any> {
  const made = await cluster(path, { body });
  expect(made.status, made.text.slice(0, 1_000)).toBe(201);
  return made.body;
}

/** Cluster-wide, so that a path is a plural. */
const definitionOf = (kind: string, schema: object, more: object = {}): any => {
  const names = { group: "attack.example", kind, plural: `${kind.toLowerCase()}s` };
  const made: any = definitionManifest(
    names,
    definitionVersion("v1", { type: "object", properties: { spec: schema } } as never),
  );
  return { ...made, spec: { ...made.spec, scope: "Cluster", ...more } };
};
const objects = (kind: string, version = "v1"): string => `/apis/attack.example/${version}/${kind.toLowerCase()}s`;

async function define(cluster: Cluster, definition: any): Promise<void> {
  await make(cluster, DEFINITIONS, definition);
  const path = objects(definition.spec.names.kind);
  await vi.waitFor(async () => expect((await cluster(path)).status).toBe(200));
}

const objectOf = (kind: string, name: string, spec: object) => ({
  apiVersion: "attack.example/v1",
  kind,
  metadata: { name },
  spec,
});

describe("memory", () => {
  /** Of the whole server; far less than any of these would take, and more than a server grows by itself. */
  const MOST_MIB = 400;
  const text = (length: number): object => ({ type: "string", default: "x".repeat(length) });

  async function withoutGrowing(work: () => Promise<void>): Promise<void> {
    const before = await residentMiB(server);
    await work();
    await make(neighbour, MAPS, { metadata: { generateName: "alive-" } });
    expect((await residentMiB(server)) - before).toBeLessThan(MOST_MIB);
  }
  const itemsWith = (item: object) => ({
    type: "object",
    properties: { list: { type: "array", items: { type: "object", properties: { text: item } } } },
  });
  const list = Array.from({ length: 20_000 }, () => ({}));

  test("defaults of items do not make a small body an object without an end, however it is written", async () => {
    await define(attacker, definitionOf("Bomb", itemsWith(text(1 << 19))));
    await make(attacker, objects("Bomb"), objectOf("Bomb", "small", { list: [{}] }));
    await withoutGrowing(async () => {
      const body = objectOf("Bomb", "large", { list });
      const path = `${objects("Bomb")}/small`;
      const refused = [
        await attacker(objects("Bomb"), { body }),
        await attacker(path, { method: "PUT", body: { ...body, metadata: { name: "small", resourceVersion: "" } } }),
        await attacker(path, { method: "PATCH", headers: MERGE, body: { spec: { list } } }),
        await attacker(`${path}?fieldManager=a&force=true`, {
          method: "PATCH",
          headers: APPLY,
          body: objectOf("Bomb", "small", { list }),
        }),
        await attacker(`${objects("Bomb")}?dryRun=All`, { body }),
      ];
      expect(refused.map(({ status }) => status)).toEqual([413, 413, 413, 413, 413]);
      expect(refused[0]?.body.message).toBe(
        "Request entity too large: the defaults of its schema make the object too large",
      );
    });
  });

  test("defaults that come after the objects do not make what is read of them an answer without an end", async () => {
    await define(attacker, definitionOf("Late", itemsWith({ type: "string" })));
    await make(attacker, objects("Late"), objectOf("Late", "a", { list }));
    const { versions } = definitionOf("Late", itemsWith(text(1 << 19))).spec;
    const path = `${DEFINITIONS}/lates.attack.example`;
    const changed = await attacker(path, { method: "PATCH", headers: MERGE, body: { spec: { versions } } });
    expect(changed.status, changed.text.slice(0, 300)).toBe(200);
    await make(attacker, objects("Late"), objectOf("Late", "b", { list: [{}] }));
    await vi.waitFor(async () =>
      expect((await attacker(`${objects("Late")}/b`)).body.spec.list[0].text?.length).toBe(1 << 19),
    );
    await withoutGrowing(async () => {
      // It is shown as it was written.
      const read = await attacker(`${objects("Late")}/a`);
      expect([read.status, read.body.spec.list.length, read.body.spec.list[0]]).toEqual([200, list.length, {}]);
      expect((await attacker(objects("Late"))).body.items.length).toBe(2);
    });
    expect((await attacker(path, { method: "DELETE" })).status).toBe(200);
    await vi.waitFor(async () => expect((await attacker(path)).status).toBe(404));
  });

  test("values that expressions double are not made", async () => {
    const doubled = (expression: string): object[] =>
      Array.from({ length: 40 }, (_, index) => ({
        name: `v${index}`,
        expression: index === 0 ? expression : `variables.v${index - 1} + variables.v${index - 1}`,
      }));
    await make(attacker, "/api/v1/namespaces", { metadata: { name: "judged" } });
    await withoutGrowing(async () => {
      for (const [name, expression, message] of [
        ["texts", "'0123456789'", "variables.v39"],
        ["lists", "[1, 2, 3, 4, 5]", "variables.v39.map(each, string(each)).join()"],
      ] as const) {
        await make(attacker, `${ADMISSION}/validatingadmissionpolicies`, {
          metadata: { name },
          spec: {
            matchConstraints: {
              namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "judged" } },
              resourceRules: [
                { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] },
              ],
            },
            variables: doubled(expression),
            validations: [{ expression: "size(variables.v39) < 0", messageExpression: message }],
          },
        });
        const spec = { policyName: name, validationActions: ["Deny", "Audit"] };
        await make(attacker, `${ADMISSION}/validatingadmissionpolicybindings`, { metadata: { name }, spec });
        const judged = "/api/v1/namespaces/judged/configmaps";
        await vi.waitFor(async () => {
          const refused = await attacker(judged, { body: { metadata: { generateName: "m-" } } });
          expect([refused.status, refused.text.length < 10_000]).toEqual([422, true]);
        });
        await attacker(`${ADMISSION}/validatingadmissionpolicybindings/${name}`, { method: "DELETE" });
      }
    });
  });
});

describe("the store", () => {
  const padding = (length: number): string => "x".repeat(length);
  const hook = (number: number) => ({
    name: `h${number}.example.com`,
    clientConfig: { url: `https://127.0.0.1:1/${padding(200_000)}` },
    rules: [{ apiGroups: ["none"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["nothing"] }],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  });

  /** Credentials that are requested as often as it is allowed. */
  const SOURCES: readonly (readonly [what: string, path: string, body: (number: number) => object])[] = [
    [
      "definitions",
      DEFINITIONS,
      (number) => definitionOf(`Filler${number}`, { type: "object", description: padding(250_000) }),
    ],
    [
      "configurations of webhooks",
      `${ADMISSION}/validatingwebhookconfigurations`,
      (number) => ({ metadata: { name: `f${number}` }, webhooks: [hook(number)] }),
    ],
    [
      "expressions",
      `${ADMISSION}/validatingadmissionpolicies`,
      (number) => ({
        metadata: { name: `f${number}` },
        spec: {
          matchConstraints: {
            resourceRules: [{ apiGroups: ["none"], apiVersions: ["v1"], operations: ["*"], resources: ["nothing"] }],
          },
          // One may have 100,000 characters.
          validations: Array.from({ length: 3 }, () => ({ expression: `'${padding(83_000)}' != ''` })),
        },
      }),
    ],
    [
      "quotas",
      "/api/v1/namespaces/default/resourcequotas",
      (number) => ({
        metadata: { name: `f${number}` },
        spec: {
          hard: Object.fromEntries(
            // As many names as one may have, as long as names of resources get.
            Array.from({ length: 250 }, (_, index) => [`count/${`k${index}.`.padEnd(62, "long.")}e`, "1"]),
          ),
        },
      }),
    ],
    [
      "objects that a webhook makes larger",
      MAPS,
      (number) => ({ metadata: { name: `f${number}`, labels: { grow: "yes" } } }),
    ],
  ];

  test.each(SOURCES)("%s take the share of their cluster, and no more", async (what, path, body) => {
    if (what.startsWith("objects")) {
      webhook.answers.set("/fill", () => patching({ op: "add", path: "/data", value: { text: padding(250_000) } }));
      await make(attacker, `${ADMISSION}/mutatingwebhookconfigurations`, {
        metadata: { name: "fill" },
        webhooks: [
          {
            ...hook(0),
            clientConfig: { url: `${webhook.url}/fill`, caBundle: webhook.caBundle },
            objectSelector: { matchLabels: { grow: "yes" } },
            rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
          },
        ],
      });
    }
    const made: string[] = [];
    let last = { status: 0, text: "" };
    for (let number = 0; number < 100 && last.status !== 507; number++) {
      const wanted: any = body(number);
      last = await attacker(path, { body: wanted });
      expect([201, 507], last.text.slice(0, 500)).toContain(last.status);
      if (last.status === 201) made.push(wanted.metadata.name);
    }
    expect(last.status, what).toBe(507);
    expect(made.length).toBeGreaterThan(2);
    await make(neighbour, MAPS, { metadata: { generateName: "beside-" } });
    expect((await neighbour(path)).body.items.filter(({ metadata }: any) => made.includes(metadata.name))).toEqual([]);
    for (const name of made) expect((await attacker(`${path}/${name}`, { method: "DELETE" })).status).toBe(200);
    await vi.waitFor(async () => await make(attacker, MAPS, { metadata: { generateName: "again-" } }));
  });
});

describe("what is read", () => {
  test("one definition in two clusters has objects, conversions, watches and an end of its own in each", async () => {
    const asked: string[] = [];
    const identity = converting((object, apiVersion) => ({ ...object, apiVersion }));
    webhook.raw.set("/spy", (request, response, review) => {
      asked.push(...review.request.objects.map(({ metadata }: any) => metadata.name));
      identity(request, response, review);
    });
    const clientConfig = { url: `${webhook.url}/spy`, caBundle: webhook.caBundle };
    const conversion = { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"], clientConfig } };
    // The text of both is the same but for the webhook, and shares what it compiles to.
    for (const [cluster, more] of [
      [attacker, { conversion }],
      [neighbour, {}],
    ] as const) {
      const definition = definitionOf("Twin", { type: "object", "x-kubernetes-preserve-unknown-fields": true }, more);
      definition.spec.versions.push({ ...definition.spec.versions[0], name: "v2", storage: false });
      await define(cluster, definition);
    }
    await make(attacker, objects("Twin"), objectOf("Twin", "mine", {}));
    await make(neighbour, objects("Twin"), objectOf("Twin", "secret", { text: "secret" }));
    const namesIn = async (cluster: Cluster, version: string) =>
      (await cluster(objects("Twin", version))).body.items.map(({ metadata }: any) => metadata.name);
    for (const version of ["v1", "v2"]) {
      expect(await namesIn(attacker, version)).toEqual(["mine"]);
      expect(await namesIn(neighbour, version)).toEqual(["secret"]);
    }
    expect(asked).toEqual(["mine"]);
    expect((await attacker(`${objects("Twin")}/secret`)).status).toBe(404);
    expect((await attacker(`${DEFINITIONS}/twins.attack.example`, { method: "DELETE" })).status).toBe(200);
    await vi.waitFor(async () => expect((await attacker(objects("Twin"))).status).toBe(404));
    expect(await namesIn(neighbour, "v2")).toEqual(["secret"]);
  });

  test("a definition cannot name what the platform or another kind keeps", async () => {
    const named = async (group: string, plural: string, kind: string) => {
      const manifest: any = definitionManifest(
        { group, kind, plural },
        definitionVersion("v1", { type: "object" } as never),
      );
      const made = await attacker(DEFINITIONS, { body: manifest });
      return { made, path: `/apis/${group}/v1/${plural}` };
    };
    // A group of the platform's own name is one like any other inside, and shows nothing of the platform.
    const { made, path } = await named("management.postern", "ownedaccesskeys", "OwnedAccessKey");
    expect(made.status, made.text).toBe(201);
    await vi.waitFor(async () => expect((await attacker(path)).body?.items).toEqual([]));
    for (const [group, plural] of [
      ["", "secrets"],
      ["..", "secrets"],
      ["a/b", "secrets"],
      ["attack.example", "../secrets"],
    ] as const) {
      expect((await named(group, plural, "Secret")).made.status, `${plural}.${group}`).toBe(422);
    }
  });

  test("webhooks, policies and quotas of one cluster see, refuse and count nothing of another", async () => {
    webhook.asked.length = 0;
    webhook.answers.set("/no", () => ({ allowed: false }));
    const rules = [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["configmaps"], scope: "*" }];
    await make(attacker, `${ADMISSION}/validatingwebhookconfigurations`, {
      metadata: { name: "spy" },
      webhooks: [
        {
          name: "spy.example.com",
          clientConfig: { url: `${webhook.url}/no`, caBundle: webhook.caBundle },
          rules,
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    });
    expect((await attacker(MAPS, { body: { metadata: { name: "refused" } } })).status).toBe(400);
    await make(neighbour, MAPS, { metadata: { name: "unseen" } });
    expect(webhook.asked.map(({ review }) => review.request.name)).toEqual(["refused"]);
    await attacker(`${ADMISSION}/validatingwebhookconfigurations/spy`, { method: "DELETE" });

    await make(attacker, `${ADMISSION}/validatingadmissionpolicies`, {
      metadata: { name: "spy" },
      spec: {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        matchConstraints: { resourceRules: rules },
        validations: [{ expression: "false", messageExpression: "string(params.metadata.name)" }],
      },
    });
    await make(attacker, MAPS, { metadata: { name: "own" } });
    for (const namespace of ["default", "p-neighbours"]) {
      await make(attacker, `${ADMISSION}/validatingadmissionpolicybindings`, {
        metadata: { name: `spy-${namespace}` },
        spec: {
          policyName: "spy",
          paramRef: { namespace, selector: {}, parameterNotFoundAction: "Allow" },
          validationActions: ["Deny"],
        },
      });
    }
    await vi.waitFor(async () => {
      const refused = await attacker(MAPS, { body: { metadata: { name: "refused" } } });
      expect(refused.status).toBe(422);
      expect(refused.text).not.toMatch(/unseen|alive|beside|secret/);
    });
    await make(neighbour, MAPS, { metadata: { name: "unjudged" } });
    for (const name of ["spy-default", "spy-p-neighbours"]) {
      await attacker(`${ADMISSION}/validatingadmissionpolicybindings/${name}`, { method: "DELETE" });
    }

    const quota = { metadata: { name: "spy" }, spec: { hard: { "count/configmaps": "100000" } } };
    const quotas = "/api/v1/namespaces/default/resourcequotas";
    await vi.waitFor(async () => await make(attacker, MAPS, { metadata: { generateName: "free-" } }));
    await make(attacker, quotas, quota);
    const count = async (cluster: Cluster) => (await cluster(MAPS)).body.items.length;
    const used = async () => (await attacker(`${quotas}/spy`)).body.status?.used?.["count/configmaps"];
    await vi.waitFor(async () => expect(await used()).toBe(String(await count(attacker))));
    expect(await count(neighbour)).not.toBe(await count(attacker));
    await make(neighbour, MAPS, { metadata: { generateName: "uncounted-" } });
    await make(attacker, MAPS, { metadata: { generateName: "counted-" } });
    await vi.waitFor(async () => expect(await used()).toBe(String(await count(attacker))));
  });
});
