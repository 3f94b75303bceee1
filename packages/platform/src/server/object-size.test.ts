// For each field of each kind, whatever its type: an object that is full of it is accepted within the limit of one object, or refused. No
// write path stores more.

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { applyMergePatch } from "@postern/apimachinery/patch/merge-patch";
import { createSuiteClient } from "@postern/apiserver/registry/testing/suite-client";
import { describe, expect, it } from "vitest";
import { MAX_KEY_BYTES, MAX_OBJECT_BYTES } from "../features/budgets/management-budgets.ts";
import { openManagementSuiteSurface } from "../testing/management-suite-surface.ts";
import { caseOf, RESOURCE_CASES } from "./testing/resource-cases.ts";

type Node = {
  readonly type?: string;
  readonly properties?: { readonly [name: string]: Node };
  readonly items?: Node;
  readonly additionalProperties?: Node | boolean;
};

/** With these, upstream answers 500 to an apply whose list items lack their key, or whose time is none. */
const FAULTS_UPSTREAM = /failed to create typed patch object|failed to convert new object .* to proper version/;
/** By night. */
const everyCase = process.env["EVERY_CASE"] !== undefined;
const LARGE = 1_600_000;
const MANY = 4_000;
const text = (length: number, from = "") => from.padEnd(length, "x");

/** Values that fill each string, list and map of a schema, with the path to it. */
function* filled(schema: Node, path = ""): Generator<readonly [path: string, value: JsonValue]> {
  const { properties = {}, items, additionalProperties } = schema;
  if (schema.type === "string") yield [path, text(LARGE)];
  for (const [name, child] of Object.entries(properties)) {
    for (const [inner, value] of filled(child, `${path}.${name}`)) yield [inner, { [name]: value }];
  }
  if (items !== undefined) {
    yield [path, Array.from({ length: MANY }, (_, index) => (items.type === "string" ? text(400, `${index}`) : {}))];
    for (const [inner, value] of filled(items, `${path}[]`)) yield [inner, [value]];
  }
  if (typeof additionalProperties === "object") {
    const names = Array.from({ length: MANY }, (_, index) => text(200, `k${index}`));
    yield [path, Object.fromEntries(names.map((name) => [name, text(200)]))];
  }
}

const METADATA: readonly (readonly [string, JsonObject])[] = [
  [".metadata.annotations", { metadata: { annotations: { note: text(LARGE) } } }],
  [".metadata.labels", { metadata: { labels: { note: text(LARGE) } } }],
  [".metadata.finalizers", { metadata: { finalizers: Array.from({ length: MANY }, (_, n) => text(400, `a.b/${n}`)) } }],
];

const registered = await openManagementSuiteSurface();
const definitions = registered.definitions.filter(
  (each) => each.submit === undefined && RESOURCE_CASES[caseOf(each)] !== undefined,
);
await registered[Symbol.asyncDispose]();

const seed = Number(process.env["TEST_SEED"] ?? 1);
/** By day two kinds, drawn with the seed, and of each some fields, each written in one way. */
const BY_DAY = { kinds: 2, fields: 16 } as const;
const chosenDefinitions = everyCase
  ? definitions
  : definitions.filter((_, index) => (index + seed) % Math.ceil(definitions.length / BY_DAY.kinds) === 0);

describe.each(chosenDefinitions.map((definition) => [caseOf(definition), definition] as const))(
  `%s (seed ${seed})`,
  (name, { group, plural }) => {
    it("stores no object above the limit, whichever field is full and whatever writes it", async () => {
      await using surface = await openManagementSuiteSurface();
      const options = RESOURCE_CASES[name];
      if (options === undefined) throw new Error(name);
      await options.setup?.(surface);
      const definition = surface.definitions.find((each) => each.group === group && each.plural === plural);
      if (definition === undefined) throw new Error(name);
      const { version, kind, schema } = definition;
      const head = { apiVersion: group === "" ? version : `${group}/${version}`, kind };
      const client = createSuiteClient(surface.route, definition, options.namespace ?? "default");
      const limit = plural === "ownedaccesskeys" || plural === "accesskeys" ? MAX_KEY_BYTES : MAX_OBJECT_BYTES;
      const made = await client.send("POST", "", { ...head, ...options.valid("one") });
      expect(made.status).toBe(201);

      const { metadata: _, ...properties } = (schema as Node).properties ?? {};
      const all = [...METADATA, ...filled({ properties })];
      const step = everyCase ? 1 : Math.ceil(all.length / BY_DAY.fields);
      const patches = all.filter((_, index) => (index + seed) % step === 0);
      const wrong: string[] = [];
      const note = (path: string, how: string, { status, json }: Awaited<ReturnType<typeof client.send>>): void => {
        const size = JSON.stringify(json ?? "").length;
        // Managed fields and sealed parts are in the limit as well, and answers may show less than is stored.
        const message = String(json?.message ?? "");
        const isFault = status >= 500 && status !== 507 && !FAULTS_UPSTREAM.test(message);
        if (status < 300 ? size > limit : isFault) wrong.push(`${how} ${path}: ${status} ${size} ${message}`);
        if (status >= 400 && message === "") wrong.push(`${how} ${path}: ${status} without a message`);
      };
      const merge = { contentType: "application/merge-patch+json" };
      const json = { contentType: "application/json-patch+json" };
      const apply = { contentType: "application/apply-patch+yaml" };
      const current = async () => (await client.send("GET", "/one")).json;
      const WAYS: Record<string, (full: JsonObject, number: number) => ReturnType<typeof client.send>> = {
        create: (full, number) =>
          client.send("POST", "", applyMergePatch({ ...head, ...options.valid(`n${number}`) }, full) as JsonObject),
        PUT: async (full) => client.send("PUT", "/one", applyMergePatch(await current(), full) as JsonObject),
        merge: (full) => client.send("PATCH", "/one", full, merge),
        status: (full) => client.send("PATCH", "/one/status", full, merge),
        json: (full) => {
          const operations = Object.entries(full).map(([at, value]) => ({ op: "add", path: `/${at}`, value }));
          return client.send("PATCH", "/one", operations, json);
        },
        apply: (full) => {
          const applied = applyMergePatch({ ...head, metadata: { name: "one" } }, full) as JsonObject;
          return client.send("PATCH", "/one?fieldManager=a&force=true", applied, apply);
        },
      };
      const ways = Object.entries(WAYS);
      for (const [number, [path, patch]] of patches.entries()) {
        // By day each field is written in one way, and the next field in another.
        const chosen = everyCase ? ways : ways.slice(number % ways.length).slice(0, 1);
        for (const [how, write] of chosen) note(path, how, await write(patch as JsonObject, number));
      }
      expect(wrong).toEqual([]);
      expect(patches.length).toBeGreaterThan(3);
    }, 600_000);
  },
);
