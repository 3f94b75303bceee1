// Recorded from kube-apiserver v1.32.13; testdata/discovery.json leaves out what belongs to other groups.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { compareVersionPriority } from "./api-groups.ts";
import { createDiscoveryRouter } from "./discovery-router.ts";
import { storageVersionHash } from "./legacy-discovery.ts";
import { goldenResources, keys, widgets } from "./testing/golden-resources.ts";
import { jsonOf, requestContext, textOf } from "./testing/request-context.ts";

const recorded: readonly any[] = JSON.parse(
  readFileSync(new URL("./testdata/discovery.json", import.meta.url), "utf8"),
);

const namespaces: ResourceDefinition = {
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  singular: "namespace",
  shortNames: ["ns"],
  namespaced: false,
  schema: { type: "object" },
  hasStatus: true,
  verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
};

const router = createDiscoveryRouter({ resources: () => [...goldenResources, namespaces], revision: () => 1 });
const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const get = (url: string, accept = "", headers = {}, method = "GET") =>
  router(requestContext(url, { method, headers: { accept, ...headers } }));

describe("discovery answers as recorded", () => {
  it.each(recorded.map((step) => [`${step.path} as ${step.accept}`, step]))("%s", async (_, step) => {
    const respond = async () => get(step.path, step.accept);
    if (step.status === 406) {
      await expect(respond()).rejects.toMatchObject({ code: 406, reason: "NotAcceptable" });
      return;
    }
    const response = (await respond())!;
    expect(response.status).toBe(step.status);
    const { etag, ...headers } = step.headers;
    expect(response.headers).toMatchObject(headers);
    expect("etag" in response.headers).toBe(etag !== undefined);
    if (step.headers["content-type"].startsWith("application/yaml")) {
      expect(await textOf(response)).toMatch(/^(apiVersion|kind): /);
      return;
    }
    const json = await jsonOf(response);
    if (step.json !== undefined) expect(json).toEqual(step.json);
    if (step.kind !== undefined) expect(json.kind).toBe(step.kind);
    if (step.item !== undefined) {
      expect(json.apiVersion).toBe(step.apiVersion);
      expect(json.items).toEqual([step.item]);
    }
  });
});

describe("conditional requests", () => {
  it("answers 304 without a body while the set of resources is the same", async () => {
    const first = (await get("/apis", AGGREGATED))!;
    const again = (await get("/apis", AGGREGATED, { "if-none-match": first.headers["etag"] }))!;
    expect(again).toEqual({
      status: 304,
      headers: { "cache-control": "public", vary: "Accept", etag: first.headers["etag"] },
      body: { type: "bytes", bytes: "" },
    });
  });

  it("answers in full after a resource was added", async () => {
    let resources: readonly ResourceDefinition[] = [keys];
    let revision = 1;
    const live = createDiscoveryRouter({ resources: () => resources, revision: () => revision });
    const ask = (etag: string) =>
      live(requestContext("/apis", { headers: { accept: AGGREGATED, "if-none-match": etag } }))!;
    const { etag } = (await ask("")).headers;
    expect((await ask(String(etag))).status).toBe(304);
    resources = [keys, widgets];
    revision = 2;
    const changed = await ask(String(etag));
    expect(changed.status).toBe(200);
    expect((await jsonOf(changed)).items[0].versions[0].resources).toHaveLength(2);
  });
});

describe("paths", () => {
  it.each(["/apis/", "/api/", "/apis/management.example.com/", "/apis/management.example.com/v1/", "/api/v1/"])(
    "answers %s like the path without its slash",
    async (path) => expect(await textOf((await get(path))!)).toBe(await textOf((await get(path.slice(0, -1)))!)),
  );

  it.each(["/apis/management.example.com/v1/widgets", "/api/v1/namespaces", "/healthz", "/version"])(
    "leaves %s to others",
    (path) => expect(get(path)).toBeUndefined(),
  );

  it.each(["/apis/management.example.com/v2", "/api/v2"])(
    "refuses the unserved version %s with a Status",
    async (path) =>
      expect(get(path)).rejects.toMatchObject({
        code: 404,
        message: "the server could not find the requested resource",
        details: {},
      }),
  );

  it.each(["/apis/nosuch.example.com", "/apis/nosuch.example.com/v1", "/apis//v1"])(
    "answers the unknown group %s with plain text",
    async (path) => {
      const response = (await get(path))!;
      expect(response.status).toBe(404);
      expect(await textOf(response)).toBe("404 page not found\n");
    },
  );

  it("serves other methods as GET, and HEAD without a body", async () => {
    expect((await get("/apis/management.example.com/v1", "", {}, "DELETE"))!.status).toBe(200);
    const head = (await get("/apis", "", {}, "HEAD"))!;
    expect([head.status, await textOf(head)]).toEqual([200, ""]);
  });

  it("lists all of them at the root, sorted", async () => {
    const root = createDiscoveryRouter({
      resources: () => [...goldenResources, namespaces],
      revision: () => 1,
      otherPaths: ["/version", "/healthz"],
    });
    expect(await jsonOf((await root(requestContext("/")))!)).toEqual({
      paths: [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/apis/management.example.com",
        "/apis/management.example.com/v1",
        "/healthz",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/",
        "/version",
      ],
    });
  });

  it("serves /api without any core resource", async () => {
    const bare = createDiscoveryRouter({ resources: () => [], revision: () => 1 });
    expect(await jsonOf((await bare(requestContext("/api")))!)).toEqual({
      kind: "APIVersions",
      versions: [],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "10.1.2.3:6443" }],
    });
  });
});

describe("verbs", () => {
  it("are those of the subresource's methods, and create alone where nothing is stored", async () => {
    const review: ResourceDefinition = {
      ...namespaces,
      group: "authentication.k8s.io",
      kind: "TokenReview",
      plural: "tokenreviews",
      singular: "tokenreview",
      hasStatus: false,
      submit: async (_, body) => body,
    };
    const { verbs: _, ...reviewResource } = review;
    const instances: ResourceDefinition = {
      ...widgets,
      subresources: [
        {
          name: "kubeconfig",
          kind: { group: keys.group, version: "v1", kind: "WidgetKubeConfig" },
          create: async (_, body) => body,
        },
      ],
    };
    const live = createDiscoveryRouter({ resources: () => [reviewResource, instances], revision: () => 1 });
    const reviews = await jsonOf((await live(requestContext("/apis/authentication.k8s.io/v1")))!);
    expect(reviews.resources).toEqual([
      {
        name: "tokenreviews",
        singularName: "tokenreview",
        namespaced: false,
        kind: "TokenReview",
        verbs: ["create"],
        shortNames: ["ns"],
      },
    ]);
    const list = await jsonOf((await live(requestContext("/apis/management.example.com/v1")))!);
    expect(list.resources.at(-1)).toEqual({
      name: "widgets/kubeconfig",
      singularName: "",
      namespaced: true,
      kind: "WidgetKubeConfig",
      verbs: ["create"],
    });
  });
});

it("prefers stable versions, then higher numbers, then names", () => {
  const versions = ["foo10", "v1beta1", "v11alpha2", "v2", "v10", "v3beta1", "foo1", "v12alpha1", "v11beta2", "v1"];
  expect(versions.sort(compareVersionPriority)).toEqual([
    "v10",
    "v2",
    "v1",
    "v11beta2",
    "v3beta1",
    "v1beta1",
    "v12alpha1",
    "v11alpha2",
    "foo1",
    "foo10",
  ]);
});

it("hashes the storage version as upstream does", () => {
  expect(goldenResources.map(storageVersionHash)).toEqual(["pjRueo1U03I=", "akeuTbKXjqU="]);
});
