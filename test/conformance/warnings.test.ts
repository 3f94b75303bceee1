// Warnings and what is let pass: with refusals too, within bounds, and for faults that were there before.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { expect, test } from "vitest";
import { apiOf, KEYS, key, MERGE_PATCH, useServer, WIDGETS, widget } from "./testing/api.ts";
import { CUSTOM_RESOURCE_DEFINITIONS, startServer } from "./testing/start-server.ts";

const api = useServer();

test("sends warnings with a refusal as well (F-06)", async () => {
  const { json, warnings } = await api.post(KEYS, key("f06", { ttl: "x", bogus: 1 }));
  expect(json.code).toBe(422);
  expect(warnings).toEqual([`299 - "unknown field \\"spec.bogus\\""`]);
});

test("escapes quotes and backslashes, and drops what cannot be printed (F-06)", async () => {
  const { warnings } = await api.post(`${KEYS}?dryRun=All`, key("f06", { 'a"b\\c\u0007d': 1 }));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(/^299 - "unknown field \\".*\\""$/);
  expect(warnings[0]).not.toContain("\u0007");
});

test("bounds what all warnings add up to, and shortens each only then (F-06)", async () => {
  const fields = (count: number, length: number): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_none, n) => [`${"f".repeat(length)}${n + 10}`, 1]));
  const warningsOf = async (spec: JsonObject) => (await api.post(`${KEYS}?dryRun=All`, key("f06", spec))).warnings;
  expect(await warningsOf(fields(10, 350))).toHaveLength(10);
  expect((await warningsOf(fields(10, 350)))[0]?.length).toBeGreaterThan(350);
  const many = await warningsOf(fields(60, 350));
  expect(many.length).toBeLessThan(60);
  for (const warning of many) expect(warning.length).toBeLessThanOrEqual('299 - ""'.length + 256 + 1);
  const written = many.reduce((sum, warning) => sum + warning.length, 0);
  expect(written).toBeGreaterThan(4_000);
  expect(written).toBeLessThan(5_000);
});

test("tolerates an existing error, and no new one (F-12)", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "postern-ratcheting-"));
  const strict = await readFile(CUSTOM_RESOURCE_DEFINITIONS, "utf8");
  const RULE = "maxLength: 5, ";
  expect(strict).toContain(RULE);
  const lax = join(dataDir, "lax.yaml");
  await writeFile(lax, strict.replace(RULE, ""));
  {
    await using server = await startServer({ dataDir, crdFiles: [lax] });
    expect((await apiOf(() => server).post(WIDGETS, widget("f12", { size: 1, color: "magenta" }))).status).toBe(201);
  }
  {
    await using server = await startServer({ dataDir, crdFiles: [CUSTOM_RESOURCE_DEFINITIONS] });
    const later = apiOf(() => server);
    const patch = (spec: JsonObject) => later.patch(`${WIDGETS}/f12`, MERGE_PATCH, { spec });
    expect((await patch({ size: 2 })).json.spec).toMatchObject({ size: 2, color: "magenta" });
    expect((await patch({ color: "turquoise" })).json).toMatchObject({
      code: 422,
      details: {
        causes: expect.arrayContaining([
          { reason: "FieldValueTooLong", field: "spec.color", message: "Too long: may not be more than 5 bytes" },
        ]),
      },
    });
    expect((await later.post(WIDGETS, widget("f12-new", { size: 1, color: "magenta" }))).status).toBe(422);
  }
  await rm(dataDir, { recursive: true });
});
