// Requests that a space lets through.

import { createTestContext } from "@postern/apiserver/testing/test-context";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import { textResponse } from "@postern/apiserver/transport/api-response";
import { expect, test } from "vitest";
import { proxiedCallOf, resolveProxiedRequest } from "../../authorization/request/proxied-call.ts";
import { namespacedProxy } from "./namespaced-target.ts";

const alice = { name: "alice", groups: [] };
const proxy = namespacedProxy(async () => textResponse(200, "through"), "team-a");

const ask = async (method: string, url: string): Promise<number> => {
  try {
    return (await proxy(createTestContext({ method, url }), alice)).status;
  } catch (error) {
    return (error as { code: number }).code;
  }
};

test.each([
  ["GET", "/api/v1/namespaces/team-a"],
  ["GET", "/api/v1/namespaces/team-a/pods"],
  ["GET", "/api/v1/namespaces/team-a/pods?watch=1"],
  ["POST", "/api/v1/namespaces/team-a/pods/web/exec?command=sh"],
  ["POST", "/apis/apps/v1/namespaces/team-a/deployments"],
  ["DELETE", "/api/v1/namespaces/team-a/configmaps"],
  ["GET", "/api/v1/watch/namespaces/team-a/pods"],
  ["GET", "/api/v1/namespaces/team-a/services/web/proxy/"],
  ["POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"],
  ["POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews"],
  ["GET", "/"],
  ["GET", "/api"],
  ["GET", "/apis"],
  ["GET", "/api/v1"],
  ["GET", "/apis/apps/v1"],
  ["GET", "/openapi/v3/apis/apps/v1"],
  ["GET", "/version"],
  ["GET", "/readyz"],
])("%s %s passes", async (method, url) => {
  expect(await ask(method, url)).toBe(200);
});

test.each([
  ["GET", "/api/v1/namespaces"],
  ["GET", "/api/v1/namespaces?fieldSelector=metadata.name=team-a"],
  ["POST", "/api/v1/namespaces"],
  ["GET", "/api/v1/namespaces/team-b"],
  ["GET", "/api/v1/namespaces/team-b/secrets"],
  ["GET", "/api/v1/namespaces/team-a2/secrets"],
  ["GET", "/api/v1/namespaces/TEAM-A/secrets"],
  ["PUT", "/api/v1/namespaces/team-a"],
  ["PATCH", "/api/v1/namespaces/team-a"],
  ["DELETE", "/api/v1/namespaces/team-a"],
  ["PUT", "/api/v1/namespaces/team-a/status"],
  ["PUT", "/api/v1/namespaces/team-a/finalize"],
  ["GET", "/api/v1/watch/namespaces/team-a"],
  ["GET", "/api/v1/pods"],
  ["GET", "/api/v1/secrets?watch=1"],
  ["GET", "/api/v1/nodes"],
  ["GET", "/api/v1/nodes/one/proxy/pods"],
  ["GET", "/api/v1/persistentvolumes"],
  ["GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles"],
  ["POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"],
  ["POST", "/apis/authentication.k8s.io/v1/tokenreviews"],
  ["GET", "/apis/example.com/v1/namespaces/team-a"],
  ["POST", "/apis/example.com/v1/selfsubjectreviews"],
  ["GET", "/metrics"],
  ["GET", "/logs/"],
  ["GET", "/debug/pprof"],
  ["POST", "/version"],
])("%s %s is 403", async (method, url) => {
  expect(await ask(method, url)).toBe(403);
});

test.each(["/api/v1/namespaces/team-a/../team-b/secrets", "/api/v1/namespaces/team-a/%2e%2e/team-b/secrets"])(
  "%s is no way out",
  (path) => {
    const base = "/kubernetes/project/a/space/s";
    const request = { method: "GET", path: base + path, query: new URLSearchParams() } as ApiRequest;
    const { innerRequest } = resolveProxiedRequest(request);
    expect(() => proxiedCallOf({ innerRequest })).toThrow("the request path contains a dot segment");
  },
);
