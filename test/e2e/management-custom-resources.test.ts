// CustomResourceDefinitions in the management API, with a real kubectl: where the operator allows them, and what they cannot do there.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createAccessKeyFormat } from "@postern/platform/features/access-keys/secrets/access-key-format";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { byNight } from "../../tools/test-cost/by-night.ts";
import { type AttackedServer, attackerOf } from "../attacks/testing/attacking.ts";
import { type KubectlSession, kubectlSession } from "./testing/kubectl-clients.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "./testing/postern-process.ts";

type Client = Pick<AttackedServer, "send" | "must" | "user" | "key">;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: PosternProcess;
let kubectl: KubectlSession;
let client: Client;

async function start(flags: readonly string[]): Promise<void> {
  server = await startPostern(join(directory.path, "data"), flags);
  kubectl = kubectlSession(
    () => server.adminKubeconfig,
    () => join(directory.path, "cache"),
    "kubectl",
  );
  client = await attackerOf(server);
}

beforeAll(async () => {
  directory = await temporaryDirectory();
  await start([]);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

const definition = ({ group = "shop.example.com", plural = "gadgets", kind = "Gadget", spec = {} } = {}): any => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural, kind, shortNames: [plural.slice(0, 3)], categories: ["all"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                "x-kubernetes-validations": [{ rule: "self.size < 10", message: "too large" }],
                properties: {
                  size: { type: "integer", default: 1, description: "How large it is." },
                  note: { type: "string" },
                },
              },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
      },
    ],
    ...spec,
  },
});
const gadget = (name: string, spec: object = {}, namespace = "p-default") => ({
  apiVersion: "shop.example.com/v1",
  kind: "Gadget",
  metadata: { name, namespace },
  spec,
});
const ALLOWED = () => ["--custom-resources", "--audit-policy-file", join(directory.path, "policy.yaml")];
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GADGETS = "/apis/shop.example.com/v1/namespaces/p-default/gadgets";

test("definitions are refused unless the operator allows them", async () => {
  expect(await kubectl.run("get crds")).toBe("");
  expect(await kubectl.fails("create -f -", JSON.stringify(definition()))).toContain(
    "the server does not allow this method on the requested resource",
  );
  await server[Symbol.asyncDispose]();
  // Whole bodies are recorded.
  const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [{ level: "RequestResponse" }] };
  await writeFile(join(directory.path, "policy.yaml"), JSON.stringify(policy));
  await start(ALLOWED());
});

describe("where they are allowed", () => {
  test("kubectl applies, explains, lists, watches and deletes what they define", async () => {
    await kubectl.run("apply -f -", JSON.stringify(definition()));
    await kubectl.run("wait crd/gadgets.shop.example.com --for=condition=Established --timeout=30s");
    expect(await kubectl.run("api-resources --api-group=shop.example.com --no-headers")).toMatch(
      /^gadgets +gad +shop.example.com\/v1 +true +Gadget\n$/,
    );
    expect(await kubectl.run("explain gadgets.spec.size")).toContain("How large it is.");
    await kubectl.run("apply -f -", JSON.stringify(gadget("one")));
    await kubectl.run("apply --server-side -f -", JSON.stringify(gadget("two", { size: 7 })));
    expect(await kubectl.run("get gad -n p-default")).toMatch(/^NAME +SIZE\none +1\ntwo +7\n$/);
    expect(await kubectl.fails("apply -f -", JSON.stringify(gadget("three", { size: 70 })))).toContain("too large");
    expect(await kubectl.fails("create -f -", JSON.stringify(gadget("three", { sise: 1 })))).toContain(
      'unknown field "spec.sise"',
    );
    await kubectl.run('patch gadget one -n p-default --type=merge --subresource=status -p {"status":{"phase":"Up"}}');
    await kubectl.run("wait gadget/one -n p-default --for=jsonpath={.status.phase}=Up --timeout=30s");
    await kubectl.run("delete gadget two -n p-default");
    expect(await kubectl.run("get gadgets -A -o name")).toBe("gadget.shop.example.com/one\n");
  });

  test("the server's own groups stay its own, and no webhook is called", async () => {
    for (const group of [
      "management.postern",
      "storage.postern",
      "rbac.authorization.k8s.io",
      "apiextensions.k8s.io",
    ]) {
      const { status, body } = await client.send({ path: CRDS, body: definition({ group }) });
      expect([status, body.message]).toEqual([
        422,
        expect.stringContaining("must not be an API group of the server itself"),
      ]);
    }
    const conversion = {
      strategy: "Webhook",
      webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://192.0.2.1/convert" } },
    };
    const asked = definition({ plural: "asked", kind: "Asked", spec: { conversion } });
    const { status, body } = await client.send({ path: CRDS, body: asked });
    expect([status, body.message]).toEqual([422, expect.stringContaining("the management API calls no webhooks")]);
  });

  test("the Cluster Inventory API takes further kinds, and its ClusterProfiles stay those of the server", async () => {
    const group = "multicluster.x-k8s.io";
    const own = definition({ group, plural: "clusterprofiles", kind: "ClusterProfile" });
    const other = definition({ group, plural: "placementdecisions", kind: "PlacementDecision" });
    for (const body of [own, other]) expect((await client.send({ path: CRDS, body })).status).toBe(201);
    const accepted = async (plural: string) =>
      (await client.must({ path: `${CRDS}/${plural}.${group}` })).status.conditions?.find(
        ({ type }: any) => type === "NamesAccepted",
      )?.status;
    await expect.poll(() => accepted("placementdecisions")).toBe("True");
    await expect.poll(() => accepted("clusterprofiles")).toBe("False");
    const path = `/apis/${group}/v1alpha1/namespaces/p-default/clusterprofiles`;
    expect((await client.must({ path })).items.map(({ metadata }: any) => metadata.name)).toEqual(["demo"]);
    const stranger = await client.user("inventory-stranger");
    expect((await client.must({ path, as: stranger })).items).toEqual([]);
    for (const { metadata } of [own, other]) await client.must({ method: "DELETE", path: `${CRDS}/${metadata.name}` });
  });

  test("they and their objects need permissions of their own (security book 1)", async () => {
    const owner = await client.user("owner");
    await client.must({ path: "projects", body: { metadata: { name: "shop" }, spec: { owner: { user: "owner" } } } });
    const other = definition({ plural: "others", kind: "Other" });
    expect((await client.send({ path: CRDS, as: owner, body: other })).status).toBe(403);
    const inShop = "/apis/shop.example.com/v1/namespaces/p-shop/gadgets";
    const body = gadget("mine", {}, "p-shop");
    expect((await client.send({ path: inShop, as: owner, body })).status).toBe(403);
    // An administrator's key that is scoped to a project reaches what is in the project, and nothing that defines it.
    const scoped = await client.key("scoped", { scope: { projects: [{ project: "shop" }] } });
    expect((await client.send({ path: CRDS, as: scoped, body: other })).status).toBe(403);
    expect((await client.send({ path: GADGETS, as: scoped, body: gadget("far") })).status).toBe(403);
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/p-shop";
    const rules = [{ verbs: ["create", "get", "list"], apiGroups: ["shop.example.com"], resources: ["gadgets"] }];
    await client.must({ path: `${rbac}/roles`, body: { metadata: { name: "gadgets" }, rules } });
    await client.must({
      path: `${rbac}/rolebindings`,
      body: {
        metadata: { name: "gadgets" },
        subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "owner" }],
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "gadgets" },
      },
    });
    await expect.poll(async () => (await client.send({ path: inShop, as: owner, body })).status).toBe(201);
    expect((await client.send({ path: GADGETS, as: owner })).status).toBe(403);
    expect((await client.send({ path: "/apis/shop.example.com/v1/gadgets", as: owner })).status).toBe(403);
    // They go with their project.
    await client.must({ method: "DELETE", path: "projects/shop" });
    await expect
      .poll(async () => (await client.must({ path: "/apis/shop.example.com/v1/gadgets" })).items.length)
      .toBe(1);
  });

  test("they are audited, without the values of keys in them", async () => {
    const { value } = createAccessKeyFormat("postern").generate(systemRuntime.random);
    const refused = await client.send({
      path: GADGETS,
      body: gadget("leaking", { size: 40, note: `the key is ${value}` }),
    });
    expect(refused.status).toBe(422);
    const log = () => readFile(join(directory.path, "data", "audit.log"), "utf8");
    const recorded = async (): Promise<any> =>
      (await log())
        .split("\n")
        .filter((line) => line.includes('"leaking"'))
        .map((line) => JSON.parse(line))
        .find(({ stage, verb }) => stage === "ResponseComplete" && verb === "create");
    await expect.poll(recorded).toMatchObject({
      objectRef: { apiGroup: "shop.example.com", resource: "gadgets", namespace: "p-default" },
      requestObject: { spec: { size: 40 } },
    });
    expect(await log()).not.toContain(value);
  });

  test("their objects use at most 64 MiB of the store, and free space when they are deleted", async () => {
    const megabytes = 1.25;
    const large = gadget("large", { note: "x".repeat(megabytes * 2 ** 20) });
    const create = (name: string) =>
      client.send({ path: GADGETS, body: { ...large, metadata: { name, labels: { large: "true" } } } });
    const statuses: number[] = [];
    while (statuses.length < 60 && statuses.at(-1) !== 507) statuses.push((await create(`l${statuses.length}`)).status);
    expect(statuses).toEqual([...Array(Math.floor(64 / megabytes)).fill(201), 507]);
    const refused = await create("more");
    expect(refused.body).toMatchObject({ reason: "InsufficientStorage", message: expect.stringContaining("is full") });
    // Others are not affected: neither another definition nor access keys.
    expect(
      (await client.send({ path: "ownedaccesskeys", body: { metadata: { generateName: "k-" }, spec: {} } })).status,
    ).toBe(201);
    expect((await client.send({ method: "DELETE", path: `${GADGETS}/l0` })).status).toBe(200);
    expect((await create("again")).status).toBe(201);
    expect((await client.send({ method: "DELETE", path: `${GADGETS}?labelSelector=large` })).status).toBe(200);
  });

  byNight("their number is limited", async () => {
    const made = await Promise.all(
      Array.from({ length: 104 }, (_, at) =>
        client.send({ path: CRDS, body: definition({ group: `g${at}.example.com`, plural: "things", kind: "Thing" }) }),
      ),
    );
    const refused = made.filter(({ status }) => status !== 201);
    expect(refused.map(({ status }) => status)).toEqual(Array(5).fill(403));
    expect(refused[0]?.body.message).toContain("the management API takes 100 definitions at most");
  });

  byNight("objects outlive a time in which they are not allowed", async () => {
    await server[Symbol.asyncDispose]();
    await start([]);
    expect((await client.send({ path: GADGETS })).status).toBe(404);
    // Stored definitions are shown, but cannot be changed.
    expect(await kubectl.run("get crd gadgets.shop.example.com -o name")).toContain("gadgets.shop.example.com");
    expect((await client.send({ method: "DELETE", path: `${CRDS}/gadgets.shop.example.com` })).status).toBe(405);
    await server[Symbol.asyncDispose]();
    await start(ALLOWED());
    expect(await kubectl.run("get gadgets -A -o name")).toBe("gadget.shop.example.com/one\n");
    await kubectl.run("delete crd gadgets.shop.example.com");
    expect((await client.send({ path: GADGETS })).status).toBe(404);
    expect(await kubectl.run("api-resources --api-group=shop.example.com --no-headers")).toBe("");
  });
});
