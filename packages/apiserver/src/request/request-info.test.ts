// Vectors: outputs of k8s.io/apiserver v0.32.1 pkg/endpoints/request on the inputs of its requestinfo_test.go and further ones.
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { describe, expect, it } from "vitest";
import { type RequestInfo, resolveRequestInfo } from "./request-info.ts";
import vectors from "./testdata/request-info.json" with { type: "json" };

function resolve(method: string, url: string): RequestInfo {
  const [path = "", ...query] = url.split("?");
  return resolveRequestInfo(method, path, new URLSearchParams(query.join("?")));
}

function refusalOf(method: string, url: string): number {
  try {
    resolve(method, url);
    return 0;
  } catch (error) {
    return isApiError(error) ? error.code : -1;
  }
}

describe("resolveRequestInfo", () => {
  it("has vectors to run", () => {
    expect(vectors.cases.length).toBeGreaterThan(150);
  });

  it.each(vectors.cases.map((vector) => [vector.id, `${vector.method} ${vector.url}`, vector] as const))(
    "%s: %s",
    (_id, _title, { method, url, result }) => {
      if (result === undefined) expect(refusalOf(method, url)).toBe(400);
      else expect(resolve(method, url)).toEqual({ ...result, parts: result.parts ?? [] });
    },
  );

  it("splits at an encoded slash", () => {
    const info = resolve("GET", "/apis/g/v1/things/a%2Fb");
    expect([info.name, info.subresource, info.path]).toEqual(["a", "b", "/apis/g/v1/things/a/b"]);
  });

  it("decodes once only", () => {
    expect(resolve("GET", "/apis/g/v1/things/a%252Fb").name).toBe("a%2Fb");
    expect(resolve("GET", "/apis/g/v1/things/%252e%252e/x").subresource).toBe("x");
  });

  it("takes a dot segment as a name of the resource tree", () => {
    expect(resolve("GET", "/apis/g/v1/things/..").name).toBe("..");
    expect(resolve("GET", "/apis/g/v1/namespaces/ns/things/%2e%2e").name).toBe("..");
  });

  it.each([
    "/healthz/../metrics",
    "/healthz/%2e%2e/metrics",
    "/healthz/./x",
    "/..",
    "/apis/../api/v1/pods",
    "/apis/g/v1/../v2/things",
    "/apis/g/v1/namespaces/../things",
    "/apis/g/v1/things/x/proxy/../..",
    "/apis/g/v1/things/x/%2E%2E",
    "/apis/g/v1/things/a%5Cb",
    "/apis/g/v1/things/a\\b",
    "/apis/g/v1/things/a%00",
    "/apis/g/v1/things/a%0Ab",
    "/apis/g/v1/things/%ff",
    "/apis/g/v1/things/%c0%ae",
    "/apis/g/v1/things/%",
    "/apis/g/v1/things/%2",
  ])("refuses %s (security book 32)", (path) => {
    expect(refusalOf("GET", path)).toBe(400);
  });

  it.each(["//apis/g/v1/things", "/apis/g/v1/things//", "//healthz", "/%2Fapis/g/v1/things"])(
    "%s is no resource request (security book 32)",
    (path) => {
      expect(resolve("GET", path).isResourceRequest).toBe(false);
    },
  );

  it("keeps semicolons and double encodings as plain text of the name", () => {
    expect(resolve("GET", "/api/v1/pods/a;b=c").name).toBe("a;b=c");
  });

  it("does not take a name from a selector next to options that do not parse", () => {
    const info = resolve("GET", "/api/v1/pods?fieldSelector=metadata.name=x&limit=many&watch=1");
    expect([info.verb, info.name]).toEqual(["watch", ""]);
  });

  it("gives other methods no verb in the resource tree and the lower-case method outside", () => {
    expect(resolve("TRACE", "/api/v1/pods").verb).toBe("");
    expect(resolve("constructor", "/api/v1/pods").verb).toBe("");
    expect(resolve("TRACE", "/healthz").verb).toBe("trace");
  });
});
