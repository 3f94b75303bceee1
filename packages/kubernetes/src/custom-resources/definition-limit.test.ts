import { admissionChain } from "@postern/apiserver/registry/admission-plugin";
import { describe, expect, it } from "vitest";
import { createDefinitionLimit } from "./definition-limit.ts";
import { definitionManifest, definitionVersion } from "./testing/definition-manifest.ts";

const resource: any = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
};
const definition = (count: number): any =>
  definitionManifest(
    { group: "example.com", kind: "Widget", plural: "widgets" },
    ...Array.from({ length: count }, (_, i) => definitionVersion(`v${i + 1}`, { type: "object" })),
  );

/** A cluster with so many definitions and served versions, of which 5 and 10 are allowed. */
const limit = (definitions: number, versions: number) =>
  createDefinitionLimit(
    {
      find: () => ({ view: { count: () => definitions }, keys: { prefix: "" } }) as any,
      resources: [{ kind: "Pod" }, ...Array.from({ length: versions }, () => ({ storedSchemas: new Map() }))].map(
        (definition) => ({ definition }) as any,
      ),
    },
    { definitions: 5, versions: 10 },
  );
const attributes = (changes: object): any => ({
  resource,
  subresource: "",
  namespace: "",
  name: "widgets.example.com",
  operation: "create",
  object: definition(1),
  oldObject: undefined,
  ...changes,
});

describe("a cluster with as many definitions as it may have", () => {
  it.each<[string, object, string | undefined, number, number]>([
    ["another definition", {}, "this cluster has 5 customresourcedefinitions, limited: 5", 5, 5],
    ["the last definition", {}, undefined, 4, 5],
    [
      "too many versions",
      { object: definition(3) },
      "spec.versions: 3 more served versions, used: 8, limited: 10",
      4,
      8,
    ],
    ["the last versions", { object: definition(2) }, undefined, 4, 8],
    [
      "an update with more versions",
      { operation: "update", object: definition(3), oldObject: definition(1) },
      "2 more served versions",
      5,
      9,
    ],
    [
      "an update with as many versions",
      { operation: "update", object: definition(3), oldObject: definition(3) },
      undefined,
      9,
      20,
    ],
    [
      "a status",
      { operation: "update", subresource: "status", object: definition(9), oldObject: definition(1) },
      undefined,
      9,
      20,
    ],
    ["a deletion", { operation: "delete", object: undefined, oldObject: definition(1) }, undefined, 9, 20],
    ["another kind", { resource: { ...resource, plural: "widgets" } }, undefined, 9, 20],
  ])("is asked for %s", async (_, changes, text, definitions, versions) => {
    const ask = async () => await admissionChain([limit(definitions, versions)]).validate(attributes(changes));
    if (text === undefined) await ask();
    else await expect(ask()).rejects.toMatchObject({ code: 403, message: expect.stringContaining(text) });
  });
});
