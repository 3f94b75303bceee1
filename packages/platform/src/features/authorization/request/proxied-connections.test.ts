// Rules that only read do not open a connection through the proxy, whatever the target and the method.

import { createPlatformNames } from "@postern/api/platform-names";
import { type ApiRequest, requestOf } from "@postern/apiserver/transport/api-request";
import { expect, it } from "vitest";
import { allowingRule } from "../restrictions/rules.ts";
import { type ProxiedCall, resolveProxiedRequest } from "./proxied-call.ts";

const names = createPlatformNames({ domain: "postern", name: "postern", projectNamespacePrefix: "p-" });
const POD = "api/v1/namespaces/default/pods/web";

function isAllowed(verbs: readonly string[], method: string, url: string, protocol?: string): boolean {
  const [path = "", query = ""] = url.split("?");
  const upgrade = protocol === undefined ? {} : { upgrade: { protocol, accept: () => expect.unreachable() } };
  // The parts that resolving reads.
  const request = requestOf({
    method,
    path,
    query: new URLSearchParams(query),
    headers: {},
    ...upgrade,
  } as any) as ApiRequest;
  const { innerRequest } = resolveProxiedRequest(request);
  const rule = {
    ...{ verbs, namespaces: [], nonResourceURLs: [], requestTargets: [], cluster: "", virtualClusters: [] },
    resources: [{ group: "", resources: ["*"], resourceNames: [] }],
  };
  return allowingRule([rule], (innerRequest as ProxiedCall).destination().request, names) >= 0;
}

const READ = ["get", "list", "watch"];
const TARGETS = [
  "/kubernetes/cluster/eu",
  "/kubernetes/project/default/virtualcluster/demo",
  "/kubernetes/project/default/space/demo",
];

it.each(TARGETS)("rules with get, list and watch open no connection below %s", (target) => {
  for (const method of ["GET", "HEAD", "POST"])
    for (const path of [
      `${POD}/exec`,
      `${POD}/attach?stdin=true`,
      `${POD}/portforward`,
      `${POD}/%65xec`,
      "api/v1/nodes/n/proxy/exec/a/b/c",
    ])
      for (const protocol of [undefined, "websocket", "SPDY/3.1"])
        expect([method, path, protocol, isAllowed(READ, method, `${target}/${path}`, protocol)]).toEqual([
          ...[method, path, protocol],
          false,
        ]);
  for (const path of [`${POD}/proxy/shell`, "api/v1/namespaces/default/services/web/proxy/shell", POD])
    expect([path, isAllowed(READ, "GET", `${target}/${path}`, "websocket")]).toEqual([path, false]);
});

it("rules with create open them, and reading rules what reads", () => {
  const [target = ""] = TARGETS;
  expect(isAllowed(["create"], "GET", `${target}/${POD}/exec`, "websocket")).toBe(true);
  expect(isAllowed(READ, "GET", `${target}/${POD}/log?follow=true`, "websocket")).toBe(true);
  expect(isAllowed(READ, "GET", `${target}/api/v1/pods?watch=true`, "websocket")).toBe(true);
  expect(isAllowed(READ, "GET", `${target}/${POD}/proxy/`)).toBe(true);
});
