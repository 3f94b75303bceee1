// The routes come from the composed server itself, through its own discovery: a new one that no scope decides about fails here.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PlatformCall, type RunningPlatform, startPlatform } from "../testing/running-platform.ts";

const AGGREGATED = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" };

/** What every live key opens, however narrow: it says who one is and what one may do. */
const ALWAYS_OPEN = new Set([
  "create selves",
  "create selfsubjectreviews",
  "create selfsubjectaccessreviews",
  "create selfsubjectrulesreviews",
]);
/** Lists that show what the key opens: with an empty scope, nothing. */
const FILTERED = new Set(["projects", "clusters", "users", "teams", "virtualclusterinstances", "spaceinstances"]);

type Route = { readonly id: string; readonly call: PlatformCall; readonly filtered: boolean };

const METHODS: { readonly [verb: string]: readonly [method: string, below: "collection" | "object", query: string] } = {
  get: ["GET", "object", ""],
  list: ["GET", "collection", ""],
  watch: ["GET", "collection", "?watch=1&timeoutSeconds=1"],
  create: ["POST", "collection", ""],
  update: ["PUT", "object", ""],
  patch: ["PATCH", "object", ""],
  delete: ["DELETE", "object", ""],
  deletecollection: ["DELETE", "collection", ""],
};

describe("security book 1, 4: every route asks the scope of the key", { timeout: 60_000 }, () => {
  let platform: RunningPlatform;
  let key: string;
  let routes: readonly Route[];

  beforeAll(async () => {
    platform = await startPlatform();
    const { body } = await platform.send({
      method: "POST",
      path: "ownedaccesskeys",
      body: { metadata: { name: "empty-scope" }, spec: { scope: {} } },
    });
    key = body.spec.key;
    routes = (await Promise.all(["/api", "/apis"].map(routesOf))).flat();
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  async function routesOf(root: string): Promise<readonly Route[]> {
    const { body } = await platform.send({ path: root, headers: AGGREGATED });
    return body.items.flatMap(({ metadata, versions }: any) =>
      versions.flatMap(({ version, resources }: any) => {
        const base = metadata.name ? `/apis/${metadata.name}/${version}` : `/api/${version}`;
        return resources.flatMap((resource: any) => resourceRoutes(base, resource));
      }),
    );
  }

  function resourceRoutes(base: string, { resource, scope, verbs, subresources = [] }: any): readonly Route[] {
    const collection = `${base}${scope === "Namespaced" ? "/namespaces/p-default" : ""}/${resource}`;
    const main = verbs.map((verb: string) => route(verb, resource, collection, `${collection}/demo`));
    const below = subresources.flatMap(({ subresource, verbs: own }: any) =>
      own.map((verb: string) => {
        const path = `${collection}/demo/${subresource}`;
        return route(verb, `${resource}/${subresource}`, path, path);
      }),
    );
    return [...main, ...below];
  }

  function route(verb: string, what: string, collection: string, object: string): Route {
    const [method, below, query] = METHODS[verb] ?? ["", "object", ""];
    const path = `${below === "object" ? object : collection}${query}`;
    const body = method === "GET" || method === "DELETE" ? undefined : {};
    const filtered = FILTERED.has(what) && (verb === "list" || verb === "watch");
    return { id: `${verb} ${what}`, call: { method, path, body }, filtered };
  }

  it("knows the routes", () => {
    const ids = routes.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(120);
    for (const id of ["create ownedaccesskeys/rotate", "create virtualclusterinstances/kubeconfig", "watch secrets"]) {
      expect(ids).toContain(id);
    }
    // A verb that the test does not know would be sent as nothing.
    expect(routes.filter(({ call }) => call.method === "")).toEqual([]);
  });

  it("refuses a key with an empty scope, though its owner may do everything", async () => {
    const open: string[] = [];
    for (const { id, call, filtered } of routes) {
      const { status, body, text } = await platform.send({ ...call, key });
      if (filtered) expect([id, status, body?.items ?? text]).toEqual([id, 200, body === undefined ? "" : []]);
      else if (status !== 403) open.push(id);
    }
    for (const id of open) expect(ALWAYS_OPEN).toContain(id);
  });

  it("takes no detour: HEAD, a watch by query, dry runs and the base path are decided alike", async () => {
    const demo = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo";
    const ways: readonly PlatformCall[] = [
      { method: "HEAD", path: demo },
      { path: `${demo}?watch=1` },
      { path: `/kubernetes/management${demo}` },
      { path: `/kubernetes/management${demo}?watch=true` },
      { method: "POST", path: `${demo}/kubeconfig?dryRun=All`, body: {} },
      { method: "DELETE", path: `${demo}?dryRun=All` },
      { path: "/api/v1/namespaces/p-default/secrets/demo?watch=1" },
      { path: "/api/v1/watch/namespaces/p-default/secrets/demo" },
      { path: "/api/v1/secrets?watch=1" },
      { path: "/api/v1/namespaces/p-default/secrets?fieldSelector=metadata.name=x" },
      { method: "DELETE", path: "/api/v1/namespaces/p-default/secrets" },
      { path: "/kubernetes/project/default/virtualcluster/demo/api" },
      { path: "/kubernetes/project/default/space/demo/api" },
      { path: "/kubernetes/cluster/embedded/api" },
      { path: "/metrics" },
      { method: "POST", path: "/apis/authentication.k8s.io/v1/tokenreviews", body: { spec: { token: "x" } } },
    ];
    for (const way of ways) {
      const { status } = await platform.send({ ...way, key });
      expect([way.method, way.path, status]).toEqual([way.method, way.path, 403]);
    }
  });

  it("is open to nobody beside the paths that say how the server is", async () => {
    const { body } = await platform.send({ path: "/" });
    const answers: [string, number][] = [];
    for (const path of body.paths) answers.push([path, (await platform.send({ path, key })).status]);
    // Below the second there are documents, at itself nothing.
    expect(answers.filter(([, status]) => status !== 200)).toEqual([
      ["/metrics", 403],
      ["/openapi/v3/", 404],
    ]);
    for (const { id, call } of routes.filter(
      ({ call: { method, path } }) => method === "GET" && !path.includes("watch"),
    )) {
      expect([id, (await platform.send({ ...call, key: "" })).status]).toEqual([id, 403]);
    }
  });
});
