import { apiGroups } from "@postern/apiserver/endpoints/discovery/api-groups";
import { goldenResources } from "@postern/apiserver/endpoints/discovery/testing/golden-resources";
import { encodeGnosticMember } from "@postern/apiserver/endpoints/openapi/encode-gnostic";
import { createOpenApiDocuments } from "@postern/apiserver/endpoints/openapi/openapi-documents";
import { decodeGnosticDocument } from "@postern/apiserver/endpoints/openapi/testing/decode-gnostic";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { describe, expect, it } from "vitest";
import { definitionsFromCrd } from "./definition-from-crd.ts";
import { definitionManifest, definitionVersion } from "./testing/definition-manifest.ts";

const schema = (fields: number) => ({
  type: "object",
  properties: Object.fromEntries(Array.from({ length: fields }, (_, i) => [`f${i}`, { type: "string", minLength: i }])),
});
const widgets = (index: number, versions: number, fields = 3): readonly ResourceDefinition[] =>
  definitionsFromCrd(
    definitionManifest(
      { group: `g${index}.example.com`, kind: "Widget", plural: "widgets" },
      ...Array.from({ length: versions }, (_, v) => ({
        ...definitionVersion(`v${v + 1}`, schema(fields)),
        storage: v === 0,
      })),
    ) as any,
  );

/** The result, and the number of steps. */
function run<T>(steps: Generator<undefined, T, undefined>): { result: T; count: number } {
  for (let count = 0; ; count++) {
    const { done, value } = steps.next();
    if (done === true) return { result: value, count };
  }
}
const resultOf = <T>(steps: Generator<undefined, T, undefined>): T => run(steps).result;
const json = (body: { readonly bytes: Uint8Array }) => JSON.parse(Buffer.from(body.bytes).toString());

const cluster = () => createOpenApiDocuments({ title: "a", version: "1" });
const many = Array.from({ length: 20 }, (_, i) => widgets(i, 5)).flat();

describe("a definition that is added to many", () => {
  const set = () => {
    const documentsOf = cluster();
    const before = documentsOf(apiGroups([...goldenResources, ...many]));
    const first = run(before.v2()).count;
    const firstHashes = before.names.map((name) => run(before.v3Hash(name)));
    const after = documentsOf(apiGroups([...goldenResources, ...many, ...widgets(99, 1)]));
    return { before, first, firstHashes, after };
  };

  it("is all that is written anew", () => {
    const { first, firstHashes, after } = set();
    const again = run(after.v2()).count;
    expect(again).toBeLessThan(first / 10);
    const steps = after.names.map((name) => run(after.v3Hash(name)).count);
    const changed = after.names.filter((_, i) => (steps[i] ?? 0) > 0);
    expect(changed).toEqual(["apis/g99.example.com", "apis/g99.example.com/v1"]);
    expect(firstHashes.every(({ count }) => count > 0)).toBe(true);
  });

  it("is in the documents, which are otherwise the same", () => {
    const { before, after } = set();
    const [old, now] = [json(resultOf(before.v2())), json(resultOf(after.v2()))];
    expect(now.definitions["com.example.g99.v1.Widget"].properties.f0).toEqual({ type: "string", minLength: 0 });
    for (const member of ["paths", "definitions", "parameters"]) {
      const kept = Object.fromEntries(Object.entries(now[member]).filter(([name]) => !name.includes("g99")));
      expect(kept).toEqual(old[member]);
    }
    expect(now.definitions).not.toHaveProperty("undefined");
    for (const name of before.names) expect(resultOf(after.v3Hash(name))).toBe(resultOf(before.v3Hash(name)));
  });

  it("leaves with its definition", () => {
    const documentsOf = cluster();
    const before = documentsOf(apiGroups([...goldenResources, ...many]));
    const v2 = resultOf(before.v2()).hash;
    resultOf(documentsOf(apiGroups([...goldenResources, ...many, ...widgets(99, 1)])).v2());
    expect(resultOf(documentsOf(apiGroups([...goldenResources, ...many])).v2()).hash).toBe(v2);
  });

  it("changes only its version when its schema changes", () => {
    const documentsOf = cluster();
    const resources = (fields: number) => apiGroups([...goldenResources, ...many, ...widgets(99, 1, fields)]);
    const before = documentsOf(resources(3));
    const hashes = new Map(before.names.map((name) => [name, resultOf(before.v3Hash(name))]));
    const after = documentsOf(resources(4));
    expect(after.names.filter((name) => resultOf(after.v3Hash(name)) !== hashes.get(name))).toEqual([
      "apis/g99.example.com/v1",
    ]);
  });
});

describe("the documents of many versions", () => {
  it("have a length that does not depend on the other versions", () => {
    const small = cluster()(apiGroups([...goldenResources, ...widgets(0, 1)]));
    const large = cluster()(
      apiGroups([...goldenResources, ...widgets(0, 1), ...many.filter(({ group }) => group !== "g0.example.com")]),
    );
    const name = "apis/g0.example.com/v1";
    expect(resultOf(large.v3Hash(name))).toBe(resultOf(small.v3Hash(name)));
  });

  it("take a step for each of their parts", () => {
    const documents = cluster()(apiGroups([...goldenResources, ...many]));
    expect(run(documents.v2()).count).toBeGreaterThan(many.length);
    expect(run(documents.v2Protobuf()).count).toBeGreaterThan(many.length);
  });

  it("are the same in protobuf and in JSON", () => {
    const documents = cluster()(apiGroups([...goldenResources, ...many]));
    const decoded = decodeGnosticDocument(Buffer.from(resultOf(documents.v2Protobuf()).bytes));
    const expected = json(resultOf(documents.v2()));
    expect(Object.keys(decoded.paths)).toHaveLength(Object.keys(expected.paths).length);
    expect(Object.keys(decoded.definitions)).toEqual(Object.keys(expected.definitions));
    expect(Object.keys(decoded.parameters)).toEqual(Object.keys(expected.parameters));
  });

  it("are written again after they were dropped, with the same hash", () => {
    const documents = cluster()(apiGroups(Array.from({ length: 30 }, (_, i) => widgets(i, 20)).flat()));
    const hashes = documents.names.map((name) => resultOf(documents.v3Hash(name)));
    expect(documents.names.map((name) => resultOf(documents.v3(name)!).hash)).toEqual(hashes);
  });
});

it("never lets a definition replace a component of the server", () => {
  const [own] = goldenResources;
  const [pretender] = definitionsFromCrd(
    definitionManifest(
      { group: own!.group, kind: own!.kind, plural: "pretenders" },
      { ...definitionVersion(own!.version, schema(2)) },
    ) as any,
  );
  const before = json(resultOf(cluster()(apiGroups(goldenResources)).v2()));
  const after = json(resultOf(cluster()(apiGroups([...goldenResources, pretender!])).v2()));
  expect(after.definitions).toEqual(before.definitions);
});

it("encodes one very large schema in steps, and gives what one step gives", () => {
  const fields = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `field${index}`,
        { type: "string", description: "a field", maxLength: 10 + index, default: "x" },
      ]),
    );
  const stepsOf = (count: number) => {
    const schema = { type: "object", properties: fields(count), "x-kubernetes-map-type": "atomic" };
    const steps = encodeGnosticMember("definitions", { A: schema });
    let number = 1;
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return { number, bytes: value };
      number++;
    }
  };
  const small = stepsOf(100);
  const large = stepsOf(6_000);
  expect(small.number).toBe(1);
  // Each field is four messages.
  expect(large.number).toBeGreaterThan(20);
  expect(Buffer.from(large.bytes).includes("field5999")).toBe(true);
});

it("writes one very large schema in steps", () => {
  const few = cluster()(apiGroups(widgets(0, 1, 10)));
  const many = cluster()(apiGroups(widgets(0, 1, 12_000)));
  const name = "apis/g0.example.com/v1";
  for (const document of [
    (of: typeof few) => of.v3(name)!,
    (of: typeof few) => of.v2(),
    (of: typeof few) => of.v2Protobuf(),
  ]) {
    const own = run(document(many)).count - run(document(few)).count;
    // Written, as text or in protobuf, and searched.
    expect(own).toBeGreaterThan(24);
  }
});
