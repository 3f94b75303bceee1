// Schemas that the server publishes, as kubectl, Terraform and others read them.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { API, GROUP, useServer } from "./testing/api.ts";

const api = useServer();
const V3 = `/openapi/v3${API}`;
const KEY = { group: GROUP, version: "v1", kind: "OwnedAccessKey" };
const schemas = async () => (await api.get(V3)).json.components.schemas;
const kindOf = (all: any, kind: string) =>
  Object.values<any>(all).find((schema) =>
    schema["x-kubernetes-group-version-kind"]?.some((each: any) => each.kind === kind && each.group === GROUP),
  );

test("lists the documents by hash, and sends an old hash to the new one (O-01)", async () => {
  const { paths } = (await api.get("/openapi/v3")).json;
  const { serverRelativeURL: url } = paths[`apis/${GROUP}/v1`];
  expect(url).toMatch(new RegExp(`^${V3}\\?hash=[0-9A-F]+$`));
  const document = await api.get(url);
  expect(document.json.openapi).toBe("3.0.0");
  expect(document.headers).toMatchObject({ "cache-control": "public, immutable", "content-type": "application/json" });
  const expires = Date.parse(String(document.headers.expires));
  expect(expires - Date.now()).toBeGreaterThan(360 * 24 * 3600 * 1000);
  expect(document.headers.etag).toBe(`"${url.split("=")[1]}"`);
  const moved = await api.get(`${V3}?hash=OLD`);
  expect({ status: moved.status, location: moved.headers.location }).toEqual({ status: 301, location: url });
  expect((await api.get(V3)).headers["cache-control"]).toBe("no-cache, private");
  const unchanged = await api.get(url, { headers: { "If-None-Match": String(document.headers.etag) } });
  expect({ status: unchanged.status, text: unchanged.text }).toEqual({ status: 304, text: "" });
  for (const path of ["apis/nosuch/v1", `apis/${GROUP}/v9`, `apis/${GROUP}`]) {
    const expected = path === `apis/${GROUP}` ? 200 : 404;
    expect((await api.get(`/openapi/v3/${path}`)).status, path).toBe(expected);
  }
  for (const { serverRelativeURL } of Object.values<any>(paths)) {
    expect((await api.get(serverRelativeURL)).status, serverRelativeURL).toBe(200);
  }
});

test("shows kubectl by the PATCH operation that fields are validated here (O-02)", async () => {
  const { paths } = (await api.get(V3)).json;
  for (const path of [`${API}/ownedaccesskeys/{name}`, `${API}/namespaces/{namespace}/widgets/{name}`]) {
    const { patch } = paths[path];
    expect(patch["x-kubernetes-group-version-kind"]).toMatchObject({ group: GROUP, version: "v1" });
    expect(patch.parameters).toContainEqual(
      expect.objectContaining({
        name: "fieldValidation",
        in: "query",
        schema: expect.objectContaining({ type: "string" }),
      }),
    );
  }
});

test("has kinds with descriptions and the metadata that kubectl explains (O-03)", async () => {
  const all = await schemas();
  const key = kindOf(all, "OwnedAccessKey");
  expect(key.description).toBe("OwnedAccessKey is an access key.");
  expect(key.properties.spec.properties.displayName.description).toBe("Name shown in the UI.");
  const reference = key.properties.metadata.allOf?.[0]?.$ref ?? key.properties.metadata.$ref;
  expect(reference).toBe("#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  expect(all["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"].properties.labels.description).toBeTruthy();
  expect(kindOf(all, "OwnedAccessKeyList").properties.items.items).toBeDefined();
});

test("comes as protobuf for kubectl apply, and names strategic patches only where they are served (O-04)", async () => {
  const asked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  const { status, headers, bytes } = await api.get("/openapi/v2", { headers: { Accept: asked } });
  expect({ status, type: headers["content-type"] }).toEqual({
    status: 200,
    type: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
  });
  // The first field of the message is `swagger`.
  expect(Buffer.from(bytes).subarray(0, 5).toString("latin1")).toBe("\n\x032.0");
  const typesOf = async (document: string, path: string): Promise<readonly string[]> =>
    Object.keys((await api.get(document)).json.paths[path].patch.requestBody.content);
  expect(await typesOf(V3, `${API}/ownedaccesskeys/{name}`)).toEqual([
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
  ]);
  expect(await typesOf("/openapi/v3/api/v1", "/api/v1/namespaces/{name}")).toContain(
    "application/strategic-merge-patch+json",
  );
});

test("is JSON for clients that accept it, and 406 without a body otherwise (O-05)", async () => {
  for (const accept of ["application/json", "*/*", ""]) {
    const { headers, json } = await api.get("/openapi/v2", { headers: { Accept: accept } });
    expect(headers["content-type"]).toBe("application/json");
    expect(json.swagger).toBe("2.0");
    expect(kindOf(json.definitions, "OwnedAccessKey").properties.spec.type).toBe("object");
  }
  const refused = await api.get("/openapi/v2", { headers: { Accept: "text/html" } });
  expect({ status: refused.status, text: refused.text }).toEqual({ status: 406, text: "" });
});

const recorded: any = JSON.parse(readFileSync(new URL("./testdata/openapi-operations.json", import.meta.url), "utf8"));

test.each(Object.entries<any>(recorded.paths))("has the operations of %s as recorded (O-06)", async (path, methods) => {
  const operations = (await api.get(V3)).json.paths[path];
  const shared = (operations.parameters ?? []).map(({ name }: any) => name);
  for (const [method, expected] of Object.entries<any>(methods)) {
    const operation = operations[method];
    expect(operation, method).toMatchObject({
      operationId: expected.operationId,
      tags: expected.tags,
      "x-kubernetes-action": expected.action,
      "x-kubernetes-group-version-kind": expected.kind,
    });
    expect(Object.keys(operation.responses).sort(), method).toEqual(expected.responses);
    const names = [...new Set([...shared, ...(operation.parameters ?? []).map(({ name }: any) => name)])].sort();
    expect(names, `${method} ${path}`).toEqual(expected.parameters);
  }
  expect(
    Object.keys(operations)
      .filter((name) => name !== "parameters")
      .sort(),
  ).toEqual(Object.keys(methods).sort());
});

test("has the operations of built-in kinds on a part of an object (O-06)", async () => {
  const operationsOf = async (document: string, path: string) =>
    Object.entries<any>((await api.get(`/openapi/v3/${document}`)).json.paths[path])
      .filter(([method]) => method !== "parameters")
      .map(([method, { operationId, description }]) => [method, operationId, description]);
  expect(await operationsOf("api/v1", "/api/v1/namespaces/{name}/finalize")).toEqual([
    ["put", "replaceCoreV1NamespaceFinalize", "replace finalize of the specified Namespace"],
  ]);
  const csr = "/apis/certificates.k8s.io/v1/certificatesigningrequests/{name}/approval";
  expect((await operationsOf("apis/certificates.k8s.io/v1", csr)).map(([method, id]) => [method, id])).toEqual([
    ["get", "readCertificatesV1CertificateSigningRequestApproval"],
    ["put", "replaceCertificatesV1CertificateSigningRequestApproval"],
    ["patch", "patchCertificatesV1CertificateSigningRequestApproval"],
  ]);
});

test("keeps the extensions of Kubernetes (O-07)", async () => {
  const all = await schemas();
  const { spec } = kindOf(all, "OwnedAccessKey").properties;
  expect(spec.properties.tags["x-kubernetes-list-type"]).toBe("set");
  expect(spec.properties.scope.properties.projects).toMatchObject({
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["project"],
  });
  const widget = kindOf(all, "Widget").properties.spec.properties;
  expect(widget.free["x-kubernetes-preserve-unknown-fields"]).toBe(true);
  expect(widget.atom["x-kubernetes-map-type"]).toBe("atomic");
  expect(widget.ios["x-kubernetes-int-or-string"]).toBe(true);
  expect(kindOf(all, "OwnedAccessKey")["x-kubernetes-selectable-fields"]).toEqual([
    { fieldPath: "spec.user" },
    { fieldPath: "spec.team" },
  ]);
  expect(kindOf(all, "OwnedAccessKey")["x-kubernetes-group-version-kind"]).toEqual([KEY]);
});

test("marks lists as apply treats them (O-08)", async () => {
  const { ports, atom } = kindOf(await schemas(), "Widget").properties.spec.properties;
  expect(ports["x-kubernetes-list-map-keys"]).toEqual(["port", "protocol"]);
  const path = `${API}/namespaces/default/widgets/o08`;
  const apply = (manager: string, spec: object) =>
    api.patch(
      `${path}?fieldManager=${manager}`,
      "application/apply-patch+yaml",
      JSON.stringify({ apiVersion: `${GROUP}/v1`, kind: "Widget", metadata: { name: "o08" }, spec }),
    );
  await apply("one", { size: 1, ports: [{ port: 1 }], atom: { a: "1" } });
  // An item of a map by its keys is another's own; a part of an atomic map is not.
  expect((await apply("two", { ports: [{ port: 2 }] })).json.spec.ports).toHaveLength(2);
  expect(atom["x-kubernetes-map-type"]).toBe("atomic");
  expect((await apply("two", { ports: [{ port: 2 }], atom: { b: "2" } })).json).toMatchObject({
    code: 409,
    details: { causes: [{ field: ".spec.atom" }] },
  });
});
