import { describe, expect, it } from "vitest";
import { type ApiRequest, requestOf } from "./api-request.ts";
import { parseRequestTarget } from "./exchange/request-target.ts";
import { mountRequest } from "./mount-request.ts";

const requestFor = (path: string): ApiRequest =>
  requestOf({
    method: "GET",
    path,
    basePath: "",
    query: new URLSearchParams("a=b"),
    requestUri: `${path}?a=b`,
    headers: {},
    httpVersion: "2.0",
    remoteAddress: "",
    host: "",
    peerCertificate: () => undefined,
    body: async () => new Uint8Array(0),
    bodyStream: () => expect.unreachable(),
    signal: new AbortController().signal,
  });

describe("mountRequest", () => {
  it.each([
    ["/kubernetes/management/apis", "/apis"],
    ["/kubernetes/management/", "/"],
    ["/kubernetes/management", "/"],
    ["/kubernetes/management//apis", "//apis"],
    ["/kubernetes/managements/apis", undefined],
    ["/kubernetes/%6danagement/apis", undefined],
    ["/apis", undefined],
  ])("takes the base path off %s: %s", (path, expected) => {
    const mounted = mountRequest(requestFor(path), "/kubernetes/management");
    expect(mounted?.path).toBe(expected);
    if (mounted !== undefined)
      expect([mounted.basePath, mounted.requestUri]).toEqual(["/kubernetes/management", `${path}?a=b`]);
  });

  it("mounts below a mount", () => {
    const outer = mountRequest(requestFor("/a/b/c"), "/a");
    const inner = outer && mountRequest(outer, "/b");
    expect([inner?.path, inner?.basePath]).toEqual(["/c", "/a/b"]);
  });
});

describe("parseRequestTarget", () => {
  it.each([
    ["/a?b=c?d", { path: "/a", query: "b=c?d" }],
    ["https://host:1/a?b", { path: "/a", query: "b" }],
    ["https://host", { path: "/", query: "" }],
    ["*", undefined],
    ["host:443", undefined],
    ["", undefined],
    ["/a#b", undefined],
  ])("reads %j as %j (security book 33)", (target, expected) => {
    expect(parseRequestTarget(target)).toEqual(expected);
  });
});
