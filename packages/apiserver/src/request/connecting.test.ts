import { expect, it } from "vitest";
import { connecting, resolveRequestInfo } from "./request-info.ts";

const WEB_SOCKET = { protocol: "websocket", accept: () => expect.unreachable() };
const verbOf = (method: string, path: string, upgrade?: string): string => {
  const [bare = "", query = ""] = path.split("?");
  const info = resolveRequestInfo(method, bare, new URLSearchParams(query));
  return connecting({ upgrade: upgrade === undefined ? undefined : { ...WEB_SOCKET, protocol: upgrade } }, info).verb;
};
const POD = "/api/v1/namespaces/default/pods/web";
const NODE = "/api/v1/nodes/one/proxy";

it.each(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])(
  "%s of what runs in a container needs create, with and without an upgrade",
  (method) => {
    for (const path of ["exec", "attach", "portforward", "exec/", "%65xec", "exec?watch=true"])
      for (const upgrade of [undefined, "websocket", "SPDY/3.1"])
        expect([path, verbOf(method, `${POD}/${path}`, upgrade)]).toEqual([path, "create"]);
  },
);

it.each([
  "exec/default/web/app",
  "run/default/web/app",
  "attach/x",
  "portForward/x",
  "debug/pprof",
  "Exec/x",
  "%2565xec",
  "",
  "cri/exec/t",
])("GET of the kubelet's %s needs create", (path) => expect(verbOf("GET", `${NODE}/${path}`)).toBe("create"));

it.each(["metrics", "metrics/cadvisor", "stats/summary", "pods", "healthz", "logs/kubelet.log", "containerLogs/a/b/c"])(
  "GET of the kubelet's %s reads, until it is upgraded",
  (path) => {
    expect(verbOf("GET", `${NODE}/${path}`)).toBe("get");
    expect(verbOf("GET", `${NODE}/${path}`, "websocket")).toBe("create");
  },
);

it.each([
  `${POD}/proxy/shell`,
  "/api/v1/namespaces/default/services/web/proxy/",
  "/api/v1/watch/namespaces/default/pods/web/exec",
  "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/vm/console",
  "/apis/example.com/v1/namespaces/default/things/one/shell",
  "/apis/example.com/v1/namespaces/default/things/one/log",
  "/api/v1/proxy/nodes/one/exec",
  POD,
  "/api/v1/pods",
])("an upgrade of %s needs create", (path) => {
  for (const upgrade of ["websocket", "WebSocket", "SPDY/3.1", "", "h2c, websocket", "other"])
    expect([upgrade, verbOf("GET", path, upgrade)]).toEqual([upgrade, "create"]);
});

it.each([
  [`/api/v1/namespaces/default/pods?watch=true`, "watch"],
  [`/api/v1/watch/pods`, "watch"],
  [`${POD}/log?follow=true`, "get"],
])("an upgrade of %s reads", (path, verb) => expect(verbOf("GET", path, "websocket")).toBe(verb));

it.each([
  [`${POD}/proxy/`, "get"],
  [POD, "get"],
  ["/api/v1/pods", "list"],
])("without an upgrade, GET of %s reads", (path, verb) => {
  expect(verbOf("GET", path)).toBe(verb);
  expect(verbOf("GET", path, "h2c")).toBe(verb);
});

it("paths outside the resource tree keep their method", () => {
  expect(verbOf("GET", "/metrics", "websocket")).toBe("get");
});
