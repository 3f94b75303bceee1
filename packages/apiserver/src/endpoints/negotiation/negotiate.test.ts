// testdata/accept.json: k8s.io/apiserver v0.32.1 pkg/endpoints/handlers/negotiation/negotiate_test.go
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { negotiateInput } from "./negotiate-input.ts";
import { negotiateMediaType, negotiateOutput, streamOutput } from "./negotiate-output.ts";

const { cases }: { readonly cases: readonly any[] } = JSON.parse(
  readFileSync(new URL("./testdata/accept.json", import.meta.url), "utf8"),
);

const request = (accept: string, query = "", userAgent = "kubectl/v1.32") => ({
  headers: { accept, "user-agent": userAgent },
  query: new URLSearchParams(query),
});

const CUSTOM = { group: "example.com", version: "v1", kind: "Widget" };
const BUILT_IN = { group: "apps", version: "v1", kind: "Deployment" };

describe("an Accept header", () => {
  it.each(cases.map((entry) => [entry.header, entry]))("%j is followed as upstream does", (_, entry) => {
    const choice = negotiateMediaType(entry.header, entry.accepted);
    expect(choice === undefined).toBe(!entry.ok);
    if (entry.ok)
      expect(choice).toMatchObject({ mediaType: entry.mediaType, pretty: entry.pretty, stream: entry.stream });
  });

  const TABLE = { group: "meta.k8s.io", version: "v1", kind: "Table" };
  it.each([
    ["", { format: "json" }],
    ["application/*", { format: "json" }],
    ["*", { format: "json" }],
    ["application/yaml", { format: "yaml" }],
    ["application/json;q=0.5,application/yaml", { format: "yaml" }],
    ["application/json;q=0.5, application/yaml;q=0.4", { format: "json" }],
    ["*/*,application/yaml", { format: "yaml" }],
    ["*/*;q=0.9,application/yaml;q=0.5", { format: "yaml" }],
    ["application/*,application/yaml;q=0.1", { format: "yaml" }],
    ["application/yaml;q=0.5,*/*;q=0.9", { format: "json" }],
    ["application/yaml;q=0.1,application/*,application/json;q=0.5", { format: "json" }],
    ["application/vnd.kubernetes.protobuf, application/json", { format: "json" }],
    ["application/vnd.kubernetes.protobuf,application/cbor,*/*", { format: "json" }],
    ["application/json;charset=utf-8;foo=bar", { format: "json" }],
    ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", { format: "json" }],
    ["application/json;as=Table;v=v1;g=meta.k8s.io,application/json", { format: "json", convert: TABLE }],
    ["application/json;as=Table;v=v2;g=meta.k8s.io,application/json", { format: "json" }],
    ["application/yaml;as=Table;v=v1;g=meta.k8s.io", { format: "yaml", convert: TABLE }],
    ["application/json;stream=watch", { format: "json" }],
    ["application/json;stream=other,application/yaml", { format: "yaml" }],
  ])("%j chooses %j", (accept, expected) =>
    expect(negotiateOutput(request(accept), CUSTOM)).toEqual({ pretty: false, ...expected }),
  );

  it.each([
    "text/html",
    "application/cbor",
    "application",
    "application/json/x",
    "application/json;as=Table;v=v2;g=meta.k8s.io",
    "application/json;as=Bogus;v=v1;g=meta.k8s.io",
    "application/json;g=meta.k8s.io;v=v1",
  ])("%j is refused with what there is", (accept) => {
    expect(() => negotiateOutput(request(accept), CUSTOM)).toThrow(
      expect.objectContaining({
        code: 406,
        reason: "NotAcceptable",
        message:
          "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
      }),
    );
  });

  it.each([
    ["application/vnd.kubernetes.protobuf", { format: "protobuf" }],
    ["application/vnd.kubernetes.protobuf, application/json", { format: "protobuf" }],
    ["application/vnd.kubernetes.protobuf;q=0.5, application/json", { format: "json" }],
    ["application/vnd.kubernetes.protobuf,application/cbor,*/*", { format: "protobuf" }],
    ["application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/yaml", { format: "yaml" }],
  ])("of a built-in kind, %j chooses %j", (accept, expected) =>
    expect(negotiateOutput(request(accept), BUILT_IN)).toEqual({ pretty: false, ...expected }),
  );

  it("lets the metadata of custom kinds be protobuf, and nothing else of them", () => {
    const accept = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    expect(negotiateOutput(request(accept), CUSTOM)).toMatchObject({ format: "protobuf" });
    expect(() => negotiateOutput(request("application/vnd.kubernetes.protobuf"), CUSTOM)).toThrow(
      "only the following media types are accepted",
    );
  });

  it("lets a watch be JSON or protobuf", () => {
    const protobuf = "application/vnd.kubernetes.protobuf;stream=watch";
    const stream = (accept: string, kind: typeof CUSTOM) => streamOutput(negotiateOutput(request(accept), kind));
    expect(stream("application/json;stream=watch", CUSTOM)).toMatchObject({ format: "json" });
    expect(stream(`${protobuf}, application/json`, BUILT_IN)).toMatchObject({ format: "protobuf" });
    expect(stream(`${protobuf}, application/json`, CUSTOM)).toMatchObject({ format: "json" });
    expect(() => stream("application/yaml", CUSTOM)).toThrow(
      "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
    );
    expect(() => stream(protobuf, CUSTOM)).toThrow(
      "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
    );
  });
});

describe("pretty printing", () => {
  it.each([
    ["", "", "kubectl/v1.32", false],
    ["application/json;pretty=1", "", "kubectl/v1.32", true],
    ["application/json;pretty=0", "", "kubectl/v1.32", false],
    ["", "pretty=true", "kubectl/v1.32", true],
    ["", "pretty=1", "kubectl/v1.32", true],
    ["", "pretty=yes", "curl/8", false],
    ["", "pretty=false", "curl/8", false],
    ["", "pretty=", "curl/8", true],
    ["", "", "curl/8", true],
    ["", "", "Wget/1", true],
    ["", "", "Mozilla/5.0 (X11)", true],
    ["", "", "my curl", false],
  ])("Accept %j, query %j, agent %j: %j", (accept, query, agent, pretty) =>
    expect(negotiateOutput(request(accept, query, agent), CUSTOM).pretty).toBe(pretty),
  );
});

describe("a Content-Type", () => {
  it.each([
    ["", "json"],
    ["application/json", "json"],
    ["application/json; charset=utf-8", "json"],
    ["application/json;charset=UTF-16", "json"],
    ["application/json;", "json"],
    ['application/json; profile="a;b"', "json"],
    ["APPLICATION/JSON", "json"],
    ["application/yaml", "yaml"],
  ])("%j is read as %s", (contentType, format) => expect(negotiateInput(contentType)).toBe(format));

  it.each([
    "text/plain",
    "text/yaml",
    "application/x-yaml",
    "application/x-www-form-urlencoded",
    "application/cbor",
    "application/vnd.kubernetes.protobuf",
    "*/*",
    "application/*",
    "bogus",
    "application/json; charset",
  ])("%j is refused with what is taken", (contentType) => {
    expect(() => negotiateInput(contentType)).toThrow(
      expect.objectContaining({
        code: 415,
        reason: "UnsupportedMediaType",
        message:
          "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
      }),
    );
  });

  it("may be protobuf where that is read", () => {
    expect(negotiateInput("application/vnd.kubernetes.protobuf", () => true)).toBe("protobuf");
    expect(() => negotiateInput("text/plain", () => true)).toThrow(
      "application/json, application/yaml, application/vnd.kubernetes.protobuf",
    );
  });
});
