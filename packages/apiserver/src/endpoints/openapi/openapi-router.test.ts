// Compared with the documents kube-apiserver v1.32 publishes for the same definitions; testdata holds them without descriptions.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { createDiscoveryRouter } from "../discovery/discovery-router.ts";
import { goldenResources, keys, widgets } from "../discovery/testing/golden-resources.ts";
import { bodyOf, jsonOf, requestContext, type TestRequest } from "../discovery/testing/request-context.ts";
import { decodeGnosticDocument } from "./testing/decode-gnostic.ts";
import { decodeGnosticV3Document } from "./testing/decode-gnostic-v3.ts";

const recorded = (name: string): any =>
  JSON.parse(readFileSync(new URL(`./testdata/${name}.json`, import.meta.url), "utf8"));

const router = createDiscoveryRouter({ resources: () => goldenResources, revision: () => 1 });
const ask = (url: string, request?: TestRequest) => router(requestContext(url, request))!;
const askV2 = async () => jsonOf(await ask("/openapi/v2"));
const GV = "apis/management.example.com/v1";

/** Without descriptions, and without the parts that say nothing. */
function essence(value: any, inProperties = false): any {
  if (Array.isArray(value)) return value.map((element) => essence(element));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(
    ([name, member]) =>
      inProperties ||
      !(name === "description" || (name === "x-kubernetes-selectable-fields" && JSON.stringify(member) === "[]")),
  );
  return Object.fromEntries(members.map(([name, member]) => [name, essence(member, name === "properties")]));
}

/** `{description, allOf: [{$ref}]}` and `{$ref}` refer to the same. */
function plainReferences(value: any): any {
  if (Array.isArray(value)) return value.map(plainReferences);
  if (typeof value !== "object" || value === null) return value;
  const [only, ...others] = Object.keys(value);
  if (only === "allOf" && others.length === 0 && value.allOf.length === 1) return value.allOf[0];
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainReferences(member)]));
}

describe("OpenAPI v3", () => {
  const upstream = recorded("openapi-v3");

  it("has the recorded paths and operations", async () => {
    const { openapi, paths } = await jsonOf(await ask(`/openapi/v3/${GV}`));
    expect(openapi).toBe("3.0.0");
    expect(essence(paths)).toEqual(essence(upstream.paths));
    expect(Object.keys(paths)).toEqual(Object.keys(upstream.paths));
  });

  it("has the recorded schemas of the kinds and their lists", async () => {
    const { schemas } = (await jsonOf(await ask(`/openapi/v3/${GV}`))).components;
    for (const kind of ["OwnedAccessKey", "OwnedAccessKeyList", "Widget", "WidgetList"]) {
      const name = `com.example.management.v1.${kind}`;
      expect(plainReferences(essence(schemas[name])), name).toEqual(
        plainReferences(essence(withIntOrString(upstream.components.schemas[name]))),
      );
    }
  });

  it("has every shared schema that the recorded ones refer to, member for member", async () => {
    const { schemas } = (await jsonOf(await ask(`/openapi/v3/${GV}`))).components;
    // Ours are written where they are used.
    const inline = new Set(["Time", "FieldsV1"].map((kind) => `io.k8s.apimachinery.pkg.apis.meta.v1.${kind}`));
    for (const [name, schema] of Object.entries<any>(upstream.components.schemas)) {
      if (inline.has(name)) continue;
      expect(Object.keys(schemas[name]?.properties ?? {}).sort(), name).toEqual(
        Object.keys(schema.properties ?? {}).sort(),
      );
      expect(schemas[name].required, name).toEqual(schema.required);
      for (const [member, { type }] of Object.entries<any>(schema.properties ?? {})) {
        if (type !== undefined) expect(schemas[name].properties[member].type, `${name}.${member}`).toBe(type);
      }
    }
  });

  it("resolves every reference, and describes every field of shared schemas", async () => {
    const document = await jsonOf(await ask(`/openapi/v3/${GV}`));
    const names = new Set(Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`));
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref);
    expect(references.filter((ref) => !names.has(ref!))).toEqual([]);
    for (const [name, schema] of Object.entries<any>(document.components.schemas)) {
      if (!name.startsWith("io.k8s.")) continue;
      for (const [member, field] of Object.entries<any>(schema.properties ?? {})) {
        expect(field.description, `${name}.${member}`).toMatch(/\w/);
      }
    }
  });

  it("names every document in the index, below the base path, and serves each for good under its hash", async () => {
    const { paths } = await jsonOf(await ask("/openapi/v3", { basePath: "/kubernetes/management" }));
    expect(Object.keys(paths)).toEqual(["api", "apis", "apis/management.example.com", GV, "version"]);
    const { serverRelativeURL } = paths[GV];
    expect(serverRelativeURL).toMatch(
      /^\/kubernetes\/management\/openapi\/v3\/apis\/management\.example\.com\/v1\?hash=[0-9A-F]{128}$/,
    );
    const response = await ask(serverRelativeURL.replace("/kubernetes/management", ""));
    expect(response).toMatchObject({
      status: 200,
      headers: {
        "cache-control": "public, immutable",
        "content-type": "application/json",
        expires: "Sat, 02 Jan 2027 15:04:05 GMT",
        etag: `"${serverRelativeURL.split("=")[1]}"`,
        vary: "Accept",
      },
    });
  });

  it("sends clients with an old hash to the current document", async () => {
    const { headers } = await ask(`/openapi/v3/${GV}`);
    const hash = String(headers["etag"]).replaceAll('"', "");
    expect(await ask(`/openapi/v3/${GV}?hash=OLD`, { basePath: "/b" })).toMatchObject({
      status: 301,
      headers: { location: `/b/openapi/v3/${GV}?hash=${hash}` },
    });
  });

  it("answers 304, 404 and 406", async () => {
    const { etag } = (await ask(`/openapi/v3/${GV}`)).headers;
    expect((await ask(`/openapi/v3/${GV}`, { headers: { "if-none-match": String(etag) } })).status).toBe(304);
    expect((await ask("/openapi/v3/apis/nosuch/v1")).status).toBe(404);
    expect((await ask(`/openapi/v3/${GV}`, { headers: { accept: "text/html" } })).status).toBe(406);
  });

  it.each(["com.github.proto-openapi.spec.v3.v1.0+protobuf", "com.github.proto-openapi.spec.v3@v1.0+protobuf"])(
    "has the same content as %s",
    async (subtype) => {
      const headers = { accept: `application/${subtype}` };
      const json = await ask(`/openapi/v3/${GV}`);
      const response = await ask(`/openapi/v3/${GV}`, { headers });
      expect(response).toMatchObject({
        status: 200,
        headers: {
          "content-type": "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
          etag: json.headers["etag"],
        },
      });
      const document = await jsonOf(json);
      expect(decodeGnosticV3Document(await bodyOf(response))).toEqual(document);
      expect(JSON.stringify(document)).toMatch(/"default":\{\}|"default":"/);
      // Later requests get what was kept.
      expect(decodeGnosticV3Document(await bodyOf(await ask(`/openapi/v3/${GV}`, { headers })))).toEqual(document);
      const hash = String(json.headers["etag"]).replaceAll('"', "");
      expect((await ask(`/openapi/v3/${GV}?hash=${hash}`, { headers })).headers["cache-control"]).toBe(
        "public, immutable",
      );
      expect((await ask(`/openapi/v3/${GV}?hash=OLD`, { headers })).status).toBe(301);
    },
  );

  it("writes negative limits of a schema in protobuf as Go does", async () => {
    const odd: ResourceDefinition = {
      ...keys,
      schema: { type: "object", properties: { spec: { type: "string", minLength: -1, maxLength: 3 } } },
    };
    const own = createDiscoveryRouter({ resources: () => [odd], revision: () => 1 });
    const headers = { accept: "application/com.github.proto-openapi.spec.v3.v1.0+protobuf" };
    const document = decodeGnosticV3Document(
      await bodyOf((await own(requestContext(`/openapi/v3/${GV}`, { headers })))!),
    );
    expect(document.components.schemas["com.example.management.v1.OwnedAccessKey"].properties.spec).toMatchObject({
      minLength: -1,
      maxLength: 3,
    });
  });

  it("advertises strategic merge patches for built-in kinds alone", async () => {
    const role: ResourceDefinition = {
      group: "rbac.authorization.k8s.io",
      version: "v1",
      kind: "Role",
      plural: "roles",
      singular: "role",
      namespaced: true,
      strategicMergePatch: true,
      schema: {
        type: "object",
        properties: { rules: { type: "array", items: { type: "string" }, "x-kubernetes-patch-strategy": "merge" } },
      },
    };
    const mixed = createDiscoveryRouter({ resources: () => [role, widgets], revision: () => 1 });
    const document = async (name: string) => jsonOf((await mixed(requestContext(`/openapi/v3/${name}`)))!);
    const rbac = await document("apis/rbac.authorization.k8s.io/v1");
    const { patch } = rbac.paths["/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{name}"];
    expect(patch.operationId).toBe("patchRbacAuthorizationV1NamespacedRole");
    expect(Object.keys(patch.requestBody.content)).toContain("application/strategic-merge-patch+json");
    expect(rbac.components.schemas["io.k8s.api.rbac.v1.Role"].properties.rules).toMatchObject({
      "x-kubernetes-patch-strategy": "merge",
    });
    expect(JSON.stringify((await document(GV)).paths)).not.toContain("strategic");
  });

  it("describes actions and reviews", async () => {
    const kind = { group: keys.group, version: "v1", kind: "KubeConfig" };
    const { hasStatus: _, ...bare } = widgets;
    const resources: readonly ResourceDefinition[] = [
      {
        ...bare,
        subresources: [
          {
            name: "kubeconfig",
            kind,
            description: "make a kubeconfig",
            schema: { type: "object", properties: { spec: { type: "object", description: "What to make." } } },
            create: async (_context, body) => body,
          },
          { name: "proxy", kind, connect: async () => Promise.reject(new Error("not called")) },
        ],
      },
      { ...keys, submit: async (_context, body) => body, hasStatus: false },
    ];
    const live = createDiscoveryRouter({ resources: () => resources, revision: () => 1 });
    const { paths, components } = await jsonOf((await live(requestContext(`/openapi/v3/${GV}`)))!);
    const { post } = paths[`/${GV}/namespaces/{namespace}/widgets/{name}/kubeconfig`];
    expect(post).toMatchObject({
      operationId: "createManagementExampleComV1NamespacedWidgetKubeconfig",
      description: "make a kubeconfig",
      "x-kubernetes-action": "post",
      "x-kubernetes-group-version-kind": kind,
    });
    expect(components.schemas["com.example.management.v1.KubeConfig"].properties.spec).toBeDefined();
    expect(Object.keys(paths[`/${GV}/namespaces/{namespace}/widgets/{name}/proxy`])).toContain("delete");
    expect(Object.keys(paths[`/${GV}/ownedaccesskeys`])).toEqual(["post", "parameters"]);
    expect(paths[`/${GV}/ownedaccesskeys/{name}`]).toBeUndefined();
  });
});

/** Upstream adds the two types of an int-or-string when it writes v3; the marker says the same. */
function withIntOrString(schema: any): any {
  const text = JSON.stringify(schema);
  return JSON.parse(
    text.replaceAll(
      '"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string"',
      '"x-kubernetes-int-or-string"',
    ),
  );
}

/** Upstream's v2 has neither defaults nor the type of what keeps unknown fields; ours keeps both, which clients take too. */
const reduced = (schema: any): any =>
  JSON.parse(JSON.stringify(schema), (_, value) => {
    if (typeof value !== "object" || value === null) return value;
    if (typeof value.default === "string") delete value.default;
    if (value["x-kubernetes-preserve-unknown-fields"] === true) delete value.type;
    return value;
  });

describe("OpenAPI v2", () => {
  const upstream = recorded("openapi-v2");

  /** Operations with their shared parameters written out. */
  const resolved = (document: any, value: any): any => {
    if (Array.isArray(value)) return value.map((element) => resolved(document, element));
    if (typeof value !== "object" || value === null) return value;
    const shared = /^#\/parameters\/(.+)$/.exec(value.$ref ?? "")?.[1];
    if (shared !== undefined) return resolved(document, document.parameters[shared]);
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, resolved(document, member)]));
  };
  /** The comparable part of a parameter when the recording only refers to it: its name. */
  const parameterNames = (path: any): any =>
    JSON.parse(JSON.stringify(path), (name, value) =>
      name === "parameters"
        ? value.map((parameter: any) => parameter.name ?? /^#\/parameters\/([A-Za-z]+)-/.exec(parameter.$ref)![1])
        : value,
    );

  it("has the recorded paths and operations", async () => {
    const document = await askV2();
    const paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => path in upstream.paths));
    const expected = JSON.parse(JSON.stringify(upstream.paths), (name, value) =>
      name === "consumes" ? [...value].sort() : value,
    );
    expect(parameterNames(essence(paths))).toEqual(parameterNames(essence(expected)));
    expect(JSON.stringify(resolved(document, document.paths))).not.toContain("#/parameters/");
  });

  it("has the recorded definitions", async () => {
    const { definitions } = await askV2();
    for (const [name, schema] of Object.entries(upstream.definitions)) {
      expect(reduced(essence(definitions[name])), name).toEqual(essence(schema));
    }
  });

  it("answers protobuf under the name clients know, and 406 without a body for anything else", async () => {
    const accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    expect(await ask("/openapi/v2", { headers: { accept } })).toMatchObject({
      status: 200,
      headers: {
        "content-type": "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        etag: expect.any(String),
      },
    });
    expect((await ask("/openapi/v2", { headers: { accept: "*/*" } })).headers["content-type"]).toBe("application/json");
    const refused = await ask("/openapi/v2", { headers: { accept: "text/html" } });
    expect([refused.status, (await bodyOf(refused)).length]).toEqual([406, 0]);
  });

  it("has the same content in protobuf and JSON", async () => {
    const accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    const response = await ask("/openapi/v2", { headers: { accept } });
    expect(decodeGnosticDocument(await bodyOf(response))).toEqual(await askV2());
  });

  it("compresses for clients that take gzip", async () => {
    const resources = Array.from({ length: 20 }, (_, i) => ({ ...widgets, kind: `Widget${i}`, plural: `widgets${i}` }));
    const large = createDiscoveryRouter({ resources: () => resources, revision: () => 1 });
    const response = (await large(requestContext("/openapi/v2", { headers: { "accept-encoding": "gzip, br" } })))!;
    expect(response.headers).toMatchObject({ "content-encoding": "gzip", vary: "Accept, Accept-Encoding" });
    const { gunzipSync } = await import("node:zlib");
    expect(JSON.parse(gunzipSync(await bodyOf(response)).toString()).swagger).toBe("2.0");
  });
});
