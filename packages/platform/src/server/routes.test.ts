// The routes come from the composed server itself, through its own discovery: a new one that no scope decides about fails here.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PlatformCall, type RunningPlatform, startPlatform } from "../testing/running-platform.ts";
import { callOf, servedRoutes } from "./testing/served-routes.ts";

/** Requests that every live key opens, however narrow: they show the identity and the permissions of its user. */
const ALWAYS_OPEN = new Set([
  "create selves",
  "create selfsubjectreviews",
  "create selfsubjectaccessreviews",
  "create selfsubjectrulesreviews",
  // Without items, for kubectl.
  "list customresourcedefinitions",
]);
/** Lists that show what the key opens: with an empty scope, nothing. */
const FILTERED = new Set([
  ...["projects", "clusters", "users", "teams"],
  ...["virtualclusterinstances", "spaceinstances", "clusterprofiles"],
]);

type Route = { readonly id: string; readonly call: PlatformCall; readonly filtered: boolean };

describe("every route asks the scope of the key (security book 1, 4)", { timeout: 60_000 }, () => {
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
    routes = (await servedRoutes(platform)).map((route) => ({
      id: route.id,
      call: callOf(route, { namespace: "p-default", name: "demo" }),
      filtered: FILTERED.has(route.what) && (route.verb === "list" || route.verb === "watch"),
    }));
  });
  afterAll(() => platform[Symbol.asyncDispose]());

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
      { path: "/kubernetes/cluster/embedded/api/v1/secrets" },
      { path: `/kubernetes/cluster/embedded${demo}` },
      { path: "/metrics" },
      { method: "POST", path: "/apis/authentication.k8s.io/v1/tokenreviews", body: { spec: { token: "x" } } },
    ];
    for (const way of ways) {
      const { status } = await platform.send({ ...way, key });
      expect([way.method, way.path, status]).toEqual([way.method, way.path, 403]);
    }
  });

  it("refuses anonymous callers except on the health paths", async () => {
    const { body } = await platform.send({ path: "/" });
    const answers: [string, number][] = [];
    for (const path of body.paths) answers.push([path, (await platform.send({ path, key })).status]);
    // Below the second there are documents, at itself nothing.
    expect(answers.filter(([, status]) => status !== 200)).toEqual([
      ["/metrics", 403],
      ["/metrics/slis", 403],
      ["/openapi/v3/", 404],
    ]);
    for (const { id, call } of routes.filter(
      ({ call: { method, path } }) => method === "GET" && !path.includes("watch"),
    )) {
      expect([id, (await platform.send({ ...call, key: "" })).status]).toEqual([id, 403]);
    }
  });
});
