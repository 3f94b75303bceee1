// Expressions and patterns in the schemas of custom resources are run within a budget: whoever writes objects against them, and
// whoever has written them, keep nobody waiting.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "./testing/start-server.ts";

const CRD = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "costlies.example.com" },
  spec: {
    group: "example.com",
    scope: "Cluster",
    names: { plural: "costlies", singular: "costly", kind: "Costly", listKind: "CostlyList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: {
                  items: {
                    type: "array",
                    items: { type: "string" },
                    "x-kubernetes-validations": [
                      { rule: "self.all(a, self.all(b, self.all(c, a != b || b != c || a == c)))" },
                    ],
                  },
                  text: { type: "string", "x-kubernetes-validations": [{ rule: "!self.matches('^(a+)+$')" }] },
                  name: { type: "string", pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" },
                },
              },
            },
          },
        },
      },
    ],
  },
};

describe("expressions of users", () => {
  let server: RunningServer;
  let folder: Awaited<ReturnType<typeof temporaryDirectory>>;
  beforeAll(async () => {
    folder = await temporaryDirectory("postern-expressions-");
    const file = join(folder.path, "costly.yaml");
    await writeFile(file, JSON.stringify(CRD));
    server = await startServer({ crdFiles: [file] });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  const create = async (spec: object) => {
    const started = process.cpuUsage();
    const answer = await server.client.send({
      method: "POST",
      path: "/apis/example.com/v1/costlies",
      headers: { authorization: "Bearer admin-token", "content-type": "application/json" },
      body: JSON.stringify({ apiVersion: "example.com/v1", kind: "Costly", metadata: { generateName: "x-" }, spec }),
    });
    const { user, system } = process.cpuUsage(started);
    expect((user + system) / 1_000).toBeLessThan(10_000);
    return answer;
  };

  it("security book 51: a rule that looks at every item for every item for every item is given up", async () => {
    const { status, text } = await create({ items: Array.from({ length: 1_000 }, (_, at) => `item-${at}`) });
    expect(status).toBe(422);
    expect(text).toContain("call cost exceeds limit for rule");
    expect((await create({ items: ["a", "b", "c"] })).status).toBe(201);
  });

  it("security book 51: a pattern that could be tried in very many ways is tried in one", async () => {
    expect((await create({ text: `${"a".repeat(100_000)}!` })).status).toBe(201);
    expect((await create({ text: "a".repeat(1_000) })).status).toBe(422);
    expect((await create({ name: "a".repeat(100_000) })).status).toBe(422);
  });
});
