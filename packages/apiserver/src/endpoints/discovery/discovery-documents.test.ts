// Discovery of many definitions: what has not changed is not written again.

import { describe, expect, it } from "vitest";
import { defineResource, type ResourceDefinition } from "../../registry/resource-definition.ts";
import { createDiscoveryDocuments, type DiscoveryDocuments } from "./discovery-documents.ts";
import { requestContext } from "./testing/request-context.ts";

const JSON_OUTPUT = { format: "json", pretty: false } as const;

/** Counts how often the documents write a resource. */
function manyDefinitions(count: number) {
  let written = 0;
  const define = (index: number, version = "v1"): ResourceDefinition => {
    const definition = defineResource({
      group: `g${index % 40}.example`,
      version,
      kind: `Kind${index}`,
      plural: `kind${index}s`,
      singular: `kind${index}`,
      namespaced: true,
      shortNames: [`k${index}`],
      hasStatus: true,
      schema: { type: "object" },
    });
    return new Proxy(definition, {
      get(target, name, receiver) {
        if (name === "singular") written++;
        return Reflect.get(target, name, receiver);
      },
    });
  };
  return {
    define,
    definitions: Array.from({ length: count }, (_, index) => define(index)),
    take: () => {
      const taken = written;
      written = 0;
      return taken;
    },
  };
}

const READS: readonly [string, (documents: DiscoveryDocuments) => ReturnType<DiscoveryDocuments["groupList"]>][] = [
  ["aggregated", (documents) => documents.aggregated("apis")],
  ["the list of a version", (documents) => documents.resourceList("g1.example", "v1")!],
];

describe.each(READS)("discovery: %s", (name, read) => {
  const textOf = async (documents: DiscoveryDocuments) =>
    Buffer.from((await read(documents)(JSON_OUTPUT, requestContext("/apis"))).bytes).toString();

  it("writes what is new, and gives what a server gives that has just started", async () => {
    const { define, definitions, take } = manyDefinitions(400);
    const documentsOf = createDiscoveryDocuments();
    await textOf(documentsOf(definitions));
    // A document may look at a resource twice.
    const perResource = take() / (name.startsWith("aggregated") ? 400 : 10);
    expect([1, 2]).toContain(perResource);
    const more = [...definitions, define(1_001)];
    const text = await textOf(documentsOf(more));
    expect(take()).toBe(perResource);
    const changed = [...more.slice(1), define(41)];
    const next = await textOf(documentsOf(changed));
    expect(take()).toBe(perResource);
    for (const [set, given] of [
      [more, text],
      [changed, next],
    ] as const) {
      expect(given === (await textOf(createDiscoveryDocuments()(set)))).toBe(true);
      expect(`${JSON.stringify(JSON.parse(given))}\n` === given).toBe(true);
    }
  });
});

it("writes large YAML in a thread, for each request until it is there", async () => {
  const { definitions } = manyDefinitions(400);
  const document = createDiscoveryDocuments()(definitions).aggregated("apis");
  const asked: string[] = [];
  const finish: ((text: string) => void)[] = [];
  const runInThread = (type: string) => {
    asked.push(type);
    return new Promise<string>((resolve) => finish.push(resolve));
  };
  const context = { ...requestContext("/apis"), runInThread } as never;
  const yaml = { format: "yaml", pretty: false } as const;
  const bodies = [document(yaml, context), document(yaml, context)];
  expect(asked).toEqual(["encodeYaml", "encodeYaml"]);
  for (const resolve of finish) resolve("a: b\n");
  for (const body of await Promise.all(bodies)) expect(Buffer.from(body.bytes).toString()).toBe("a: b\n");
  expect(document(yaml, context)).not.toBeInstanceOf(Promise);
  expect(asked).toHaveLength(2);
});
