// Expressions and patterns in the schemas of custom resources run within a budget: neither their authors nor the authors of objects delay other
// clients.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import { definitionsFromCrd } from "@postern/kubernetes/custom-resources/definition-from-crd";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "./testing/start-server.ts";

const CRD = definitionManifest(
  { group: "example.com", kind: "Costly", plural: "costlies" },
  definitionVersion("v1", {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          items: {
            type: "array",
            maxItems: 70,
            items: { type: "string", maxLength: 8 },
            "x-kubernetes-validations": [{ rule: "self.all(a, self.all(b, self.all(c, a != b || b != c || a == c)))" }],
          },
          text: { type: "string", "x-kubernetes-validations": [{ rule: "!self.matches('^(a+)+$')" }] },
          name: { type: "string", pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" },
        },
      },
    },
  }),
);

const RULED = definitionManifest(
  { group: "example.com", kind: "Ruled", plural: "ruleds" },
  definitionVersion("v1", {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          memory: { type: "string", maxLength: 20 },
          network: { type: "string", maxLength: 43 },
          host: {
            type: "string",
            "x-kubernetes-validations": [
              {
                rule: "oldSelf.optMap(o, o == self).orValue(self != 'later')",
                message: "is set once",
                optionalOldSelf: true,
                reason: "FieldValueForbidden",
              },
            ],
          },
          names: {
            type: "array",
            maxItems: 10,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["key"],
            items: {
              type: "object",
              required: ["key"],
              properties: { key: { type: "string" }, value: { type: "string" } },
              "x-kubernetes-validations": [
                {
                  rule: "!has(self.value) || self.value == oldSelf.value",
                  messageExpression: "'keep ' + self.key",
                },
              ],
            },
          },
        },
        "x-kubernetes-validations": [
          {
            rule: "!has(self.memory) || quantity(self.memory).isLessThan(quantity('4Gi'))",
            message: "takes too much",
            fieldPath: ".memory",
          },
          {
            rule: "!has(self.network) || cidr('10.0.0.0/8').containsCIDR(self.network)",
            message: "is not one of ours",
          },
        ],
      },
    },
    "x-kubernetes-validations": [{ rule: "self.metadata.name.size() <= 8", message: "has a long name" }],
  }),
);

describe("expressions of users", () => {
  let server: RunningServer;
  let folder: Awaited<ReturnType<typeof temporaryDirectory>>;
  beforeAll(async () => {
    folder = await temporaryDirectory("postern-expressions-");
    const file = join(folder.path, "costly.yaml");
    await writeFile(file, [CRD, RULED].map((crd) => JSON.stringify(crd)).join("\n---\n"));
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

  it("a rule that looks at every item for every item for every item is given up (security book 51)", async () => {
    const { status, text } = await create({ items: Array.from({ length: 70 }, (_, at) => `item-${at}`) });
    expect(status).toBe(422);
    expect(text).toContain("call cost exceeds limit for rule");
    expect((await create({ items: ["a", "b", "c"] })).status).toBe(201);
  });

  it("a rule that could look at very many items for each of them is refused with its definition (security book 51)", () => {
    const unbounded = structuredClone(CRD);
    const spec = unbounded.spec.versions[0]?.schema.openAPIV3Schema.properties.spec;
    Object.assign(spec?.properties.items ?? {}, { maxItems: undefined });
    expect(() => definitionsFromCrd(unbounded)).toThrow(
      "items].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x",
    );
  });

  it("a definition is refused with the errors of all its rules in all its versions", () => {
    const faulty = structuredClone(CRD);
    const [version] = faulty.spec.versions;
    const { properties } = version?.schema.openAPIV3Schema.properties.spec ?? {};
    Object.assign(properties?.text ?? {}, { "x-kubernetes-validations": [{ rule: "self > 1" }, { rule: "nobody" }] });
    const unserved = { ...structuredClone(version), name: "v2", served: false, storage: false };
    const at = (index: number, rule: number) =>
      `spec.versions[${index}].schema.openAPIV3Schema.properties[spec].properties[text].x-kubernetes-validations[${rule}].rule`;
    try {
      definitionsFromCrd({ ...faulty, spec: { ...faulty.spec, versions: [version, unserved] } } as JsonObject);
      expect.unreachable();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      expect(error.code).toBe(422);
      expect(error.details?.causes?.map(({ field }) => field)).toEqual([at(0, 0), at(0, 1), at(1, 0), at(1, 1)]);
    }
  });

  it("a pattern that could be tried in very many ways is tried in one (security book 51)", async () => {
    expect((await create({ text: `${"a".repeat(100_000)}!` })).status).toBe(201);
    expect((await create({ text: "a".repeat(1_000) })).status).toBe(422);
    expect((await create({ name: "a".repeat(100_000) })).status).toBe(422);
  });

  const send = async (method: string, name: string, spec: object, resourceVersion = "") => {
    const { status, text } = await server.client.send({
      method,
      path: `/apis/example.com/v1/ruleds${method === "POST" ? "" : `/${name}`}`,
      headers: { authorization: "Bearer admin-token", "content-type": "application/json" },
      body: JSON.stringify({
        apiVersion: "example.com/v1",
        kind: "Ruled",
        metadata: { name, ...(resourceVersion === "" ? {} : { resourceVersion }) },
        spec,
      }),
    });
    const { metadata, details } = JSON.parse(text);
    const causes = (details?.causes ?? []).map((cause: { [member: string]: string }) => [
      cause["field"],
      cause["reason"],
      cause["message"],
    ]);
    return { status, causes, resourceVersion: String(metadata?.resourceVersion) };
  };

  it("have optional values and the libraries of Kubernetes", async () => {
    expect((await send("POST", "fine", { memory: "2Gi", network: "10.2.0.0/16", host: "a" })).status).toBe(201);
    const { status, causes } = await send("POST", "too-long-a-name", { memory: "8Gi", network: "192.168.0.0/16" });
    expect(status).toBe(422);
    expect(causes).toEqual([
      ["<nil>", "FieldValueInvalid", "Invalid value: has a long name"],
      ["spec.memory", "FieldValueInvalid", "Invalid value: takes too much"],
      ["spec", "FieldValueInvalid", "Invalid value: is not one of ours"],
    ]);
    expect((await send("POST", "bad", { memory: "lots" })).causes).toEqual([
      [
        "spec",
        "FieldValueInvalid",
        `Invalid value: "object": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' evaluating rule: takes too much`,
      ],
    ]);
  });

  it("compare with what was there, also where nothing was", async () => {
    const forbidden = [["spec.host", "FieldValueForbidden", "Forbidden: is set once"]];
    expect((await send("POST", "host", { host: "later" })).causes).toEqual(forbidden);
    const made = await send("POST", "host", { host: "a", names: [{ key: "x", value: "1" }] });
    expect(made.status).toBe(201);
    expect((await send("PUT", "host", { host: "b" }, made.resourceVersion)).causes).toEqual(forbidden);
    const names = [
      { key: "new", value: "5" },
      { key: "x", value: "2" },
    ];
    expect((await send("PUT", "host", { host: "a", names }, made.resourceVersion)).causes).toEqual([
      ["spec.names[1]", "FieldValueInvalid", "Invalid value: keep x"],
    ]);
  });
});
