// One write may hold thousands of expressions: each takes a part of its own, and long lists are read once.

import type { WorkParts } from "@postern/apiserver/limits/long-work";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { describe, expect, it, test } from "vitest";
import { deviceClasses } from "./device-classes.ts";
import { bindingConditionFaults } from "./device-names.ts";
import { resourceClaimTemplates } from "./resource-claim-templates.ts";
import { resourceClaims } from "./resource-claims.ts";
import { claimStatusFaults } from "./validate-claim-status.ts";
import { resourceSliceFaults } from "./validate-resource-slice.ts";

const permissions = {
  authorizer: { authorize: () => ({ verdict: "allow" as const, reason: "" }) },
  findNamespace: async () => undefined,
};

/** The number of steps that a hook of a strategy takes, and the fields that it refuses. */
async function stepsOf({ strategy }: { readonly strategy?: any }, next: object, old?: object) {
  let steps = 0;
  const work = {
    run(_client: string, running: Generator<undefined>) {
      for (;;) {
        const { done, value } = running.next();
        if (done === true) return value;
        steps++;
      }
    },
  } as unknown as WorkParts;
  const context = createTestContext({ method: "POST", url: "/apis/resource.k8s.io/v1/namespaces/default/x" }).with({
    work,
  });
  const faults =
    old === undefined ? await strategy.validate(next, context) : await strategy.validateUpdate(next, old, context);
  return { steps, fields: faults.map(({ field }: { readonly field: string }) => field) };
}

const expression = (text: string) => ({ cel: { expression: text } });
const selectorsOf = (count: number, textOf: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => expression(textOf(at)));
const claimOf = (textOf: (request: number, alternative: number, at: number) => string) => ({
  metadata: { name: "claim", namespace: "default" },
  spec: {
    devices: {
      requests: Array.from({ length: 32 }, (_, request) => ({
        name: `r${request}`,
        firstAvailable: Array.from({ length: 8 }, (_, alternative) => ({
          name: `a${alternative}`,
          deviceClassName: "class",
          allocationMode: "ExactCount",
          count: 1,
          selectors: selectorsOf(32, (at) => textOf(request, alternative, at)),
        })),
      })),
    },
  },
});
const templateOf = ({ metadata, spec }: ReturnType<typeof claimOf>) => ({ metadata, spec: { spec } });

describe("expressions are compiled", () => {
  const largest = claimOf((...numbers) => `device.driver == "${numbers.join(".")}"`);
  it("each in a step of its own", async () => {
    expect(await stepsOf(resourceClaims(permissions), largest)).toEqual({ steps: 8_192, fields: [] });
    expect(await stepsOf(resourceClaimTemplates(permissions), templateOf(largest))).toEqual({
      steps: 8_192,
      fields: [],
    });
  });

  it("once in a write", async () => {
    const claim = claimOf((_request, _alternative, at) => (at === 0 ? "1" : `device.driver == "${at}"`));
    const { steps, fields } = await stepsOf(resourceClaims(permissions), claim);
    expect(steps).toBe(32);
    expect(fields).toHaveLength(32 * 8);
    expect(new Set(fields).size).toBe(32 * 8);
    expect(fields[9]).toBe("spec.devices.requests[1].firstAvailable[1].selectors[0].cel.expression");
  });

  it("only where their number is not too large", async () => {
    const { requests } = largest.spec.devices;
    const claim = { ...largest, spec: { devices: { requests: [...requests, ...requests] } } };
    expect(await stepsOf(resourceClaims(permissions), claim)).toEqual({ steps: 0, fields: ["spec.devices.requests"] });
  });

  it("not again when other members change", async () => {
    const named = (labels: object) => ({ name: "class", labels });
    const template = templateOf(largest);
    const labelled = { ...template, metadata: named({ a: "b" }) };
    expect(await stepsOf(resourceClaimTemplates(permissions), labelled, template)).toEqual({ steps: 0, fields: [] });
    const selectors = selectorsOf(32, (at) => `device.driver == "${at}"`);
    const old = { metadata: named({}), spec: { selectors } };
    const config = [{ opaque: { driver: "d.example.com", parameters: {} } }];
    const next = { metadata: named({}), spec: { selectors: structuredClone(selectors), config } };
    expect(await stepsOf(deviceClasses, next, old)).toEqual({ steps: 0, fields: [] });
    const changed = { ...next, spec: { selectors: [...selectors.slice(1), expression("1")] } };
    expect(await stepsOf(deviceClasses, changed, old)).toEqual({
      steps: 32,
      fields: ["spec.selectors[31].cel.expression"],
    });
  });
});

describe("long lists are read once", () => {
  const COUNT = 3_000;
  let reads = 0;
  /** Counts how often the member is read. */
  const counted = <T extends object>(member: string, value: string, rest: T): T =>
    Object.defineProperty({ ...rest }, member, {
      enumerable: true,
      get() {
        reads++;
        return value;
      },
    });

  test("conditions of a device", () => {
    reads = 0;
    const conditions = Array.from({ length: COUNT }, (_, at) => counted("type", `t${at % (COUNT - 1)}`, {}));
    const claim = { apiVersion: "", kind: "", metadata: {}, status: { devices: [{ conditions }] } };
    const faults = claimStatusFaults(claim, { apiVersion: "", kind: "", metadata: {} });
    expect(faults.filter(({ type }) => type === "FieldValueDuplicate").map(({ field }) => field)).toEqual([
      `status.devices[0].conditions[${COUNT - 1}].type`,
    ]);
    expect(reads).toBeLessThan(COUNT * 5);
  });

  test("consumers of a claim that is being deleted", () => {
    reads = 0;
    const consumer = (uid: string) => counted("uid", uid, { resource: "pods", name: "p" });
    const stored = Array.from({ length: 256 }, (_, at) => consumer(`${at}`));
    const reservedFor = Array.from({ length: COUNT }, () => consumer("255"));
    const claim = { apiVersion: "", kind: "", metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
    const allocation = {};
    const faults = claimStatusFaults(
      { ...claim, status: { allocation, reservedFor } },
      { ...claim, status: { allocation, reservedFor: stored } },
    );
    expect(faults.map(({ type }) => type)).toEqual(["FieldValueTooMany"]);
    expect(reads).toBeLessThan(COUNT * 5);
  });

  test("binding conditions that are too many", () => {
    const wanted = Array.from({ length: COUNT }, (_, at) => `w${at}`);
    let compared = 0;
    const list = new Proxy(wanted, {
      get(target, member, receiver) {
        if (typeof member === "string" && /^\d+$/.test(member)) compared++;
        return Reflect.get(target, member, receiver);
      },
    });
    const failed = [...Array.from({ length: COUNT }, (_, at) => `f${at}`), "w7"];
    const faults = bindingConditionFaults("d", { bindingConditions: list, bindingFailureConditions: failed });
    expect(faults.map(({ type }) => type)).toEqual(["FieldValueTooMany", "FieldValueTooMany", "FieldValueInvalid"]);
    expect(compared).toBeLessThan(COUNT * 5);
  });
});

test("a request may have more faults than a call takes arguments", async () => {
  const tolerations = Array.from({ length: 150_000 }, () => ({}));
  const exactly = { deviceClassName: "class", allocationMode: "All", tolerations };
  const claim = { metadata: { name: "c" }, spec: { devices: { requests: [{ name: "r", exactly }] } } };
  expect((await stepsOf(resourceClaims(permissions), claim)).fields).toHaveLength(150_000);
});

/** Source: https://semver.org/spec/v2.0.0.html#is-there-a-suggested-regular-expression-regex-to-check-a-semver-string */
test.each([
  [true, ["0.0.4", "1.0.0-0A.is.legal", "1.2.3----RC-SNAPSHOT.12.9.1--.12+788", "1.0.0+0.build.1-rc.10000aaa-kk-0.1"]],
  [
    false,
    ["1", "1.2.3-0123", "1.2.3-", "1.2.3+", "1.1.2+.123", "+invalid", "1.0.0-a..b", "01.1.1", "1.2.3+a+b", "1.2.3\n"],
  ],
  [false, [`1.0.0-${"a.".repeat(1_000_000)}`, `1.0.0+${"a.".repeat(1_000_000)}`]],
])("versions of attributes that are taken: %s", (isTaken, versions) => {
  for (const version of versions) {
    const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
    const devices = [{ name: "d", attributes: { a: { version } } }];
    const faults = resourceSliceFaults({ driver: "d.example.com", pool, nodeName: "n", devices });
    expect(faults.every(({ type }) => type !== "FieldValueInvalid")).toBe(isTaken);
  }
});
