import { describe, expect, test } from "vitest";
import { parseProxyPath, proxyRequest } from "./proxy-path.ts";

const query = new URLSearchParams();

describe("parseProxyPath", () => {
  test.each([
    ["/kubernetes/project/a/virtualcluster/v1/api/v1/pods", "ProjectVirtualCluster", "/api/v1/pods"],
    ["/kubernetes/project/a/virtualcluster/v1", "ProjectVirtualCluster", "/"],
    ["/kubernetes/project/a/virtualcluster/v1/", "ProjectVirtualCluster", "/"],
    ["/kubernetes/project/a/space/s.1/apis", "ProjectSpace", "/apis"],
    ["/kubernetes/cluster/c1/api/v1/nodes/", "Cluster", "/api/v1/nodes/"],
  ])("reads %s", (path, target, rest) => {
    expect(parseProxyPath(path)).toMatchObject({ destination: { target }, path: rest, encodedPath: rest });
  });

  test("names the target and the prefix of the path", () => {
    expect(parseProxyPath("/kubernetes/project/a/virtualcluster/v1/version")).toEqual({
      destination: { target: "ProjectVirtualCluster", project: "a", virtualCluster: "v1" },
      base: "/kubernetes/project/a/virtualcluster/v1",
      path: "/version",
      encodedPath: "/version",
    });
  });

  test.each([
    "/kubernetes/management/apis",
    "/kubernetes/project",
    "/kubernetes/project/a",
    "/kubernetes/project/a/virtualcluster",
    "/kubernetes/project/a/cluster/v1/api",
    "/kubernetes/cluster",
    "/kubernetes/cluster/",
    "/kubernetes/projects/a/virtualcluster/v1",
    "/Kubernetes/cluster/c1",
    "/api/v1/namespaces",
    "/",
  ])("%s is no proxy's path", (path) => {
    expect(parseProxyPath(path)).toBeUndefined();
  });

  test.each([
    "/kubernetes/project/a/virtualcluster/v1/../v2/api",
    "/kubernetes/project/a/virtualcluster/v1/%2e%2e/v2/api",
    "/kubernetes/project/a/virtualcluster/v1/%2E./api",
    "/kubernetes/project/../cluster/c1/api",
    "/kubernetes/project/a/virtualcluster/v1/api/./pods",
    "/kubernetes/project/a%2fvirtualcluster%2fv1/virtualcluster/v2",
    "/kubernetes/project/a/virtualcluster/v1%2f..%2fv2/api",
    "/kubernetes/project/a/virtualcluster/v1/api%2Fv1/pods",
    "/kubernetes/project/a/virtualcluster/v1/api%5cv1",
    "/kubernetes/project/a/virtualcluster/v1/api\\v1",
    "/kubernetes/project/a/virtualcluster/v1/api%00",
    "/kubernetes/project/a/virtualcluster//v1/api",
    "/kubernetes/project//a/virtualcluster/v1/api",
    "//kubernetes/project/a/virtualcluster/v1/api",
    "/kubernetes//cluster/c1/api",
    "/kubernetes/project/a/virtualcluster/v1//api",
    "/kubernetes/project/a/virtualcluster/v1/api//v1",
    "/kubernetes/project/a/virtualcluster/v%31/api",
    "/kubernetes/proj%65ct/a/virtualcluster/v1/api",
    "/kubernetes/project/a/virtualcluster/v1;x/api",
    "/kubernetes/project/a;b/virtualcluster/v1/api",
    "/kubernetes/project/A/virtualcluster/v1/api",
    "/kubernetes/project/a/virtualcluster/*/api",
    "/kubernetes/project/a b/space/s1/api",
    "/kubernetes/cluster/%c0%ae/api",
    "/kubernetes/cluster/c1/%",
  ])("%s is refused with 400 (security book 32)", (path) => {
    expect(() => parseProxyPath(path)).toThrow(expect.objectContaining({ code: 400 }));
  });

  test("an encoded query or fragment stays part of the path (security book 33)", () => {
    const parsed = parseProxyPath("/kubernetes/cluster/c1/api/v1/x%3fwatch=1%23y");
    expect(parsed).toMatchObject({ path: "/api/v1/x?watch=1#y", encodedPath: "/api/v1/x%3Fwatch%3D1%23y" });
  });

  test("the forwarded path decodes to the authorized path (security book 32)", () => {
    for (const path of ["/api/v1/a%20b", "/api/v1/%25", "/apis/x/v1/%e2%82%ac", "/api/v1/a:b@c,d"]) {
      const parsed = parseProxyPath(`/kubernetes/cluster/c1${path}`);
      expect(decodeURIComponent(parsed?.encodedPath ?? "")).toBe(parsed?.path);
      expect(decodeURIComponent(path)).toBe(parsed?.path);
    }
  });

  test("each character is forwarded as it is encoded by itself", () => {
    const characters = Array.from({ length: 0x200 }, (_, code) => String.fromCharCode(code));
    for (const character of characters.filter((each) => !/[\\/\p{Cc}]/u.test(each))) {
      const encoded = `/x${encodeURIComponent(character)}`;
      expect(parseProxyPath(`/kubernetes/cluster/c1${encoded}`)?.encodedPath).toBe(encoded);
    }
  });
});

test("proxyRequest carries the request as the API behind the proxy reads it", () => {
  const parsed = parseProxyPath("/kubernetes/project/a/virtualcluster/v1/api/v1/namespaces/x/pods/y/log");
  if (parsed === undefined) throw new Error("not a proxy path");
  expect(proxyRequest(parsed, "GET", query)).toMatchObject({
    target: "ProjectVirtualCluster",
    project: "a",
    virtualCluster: "v1",
    inner: { verb: "get", resource: "pods", subresource: "log", namespace: "x", name: "y" },
  });
});
