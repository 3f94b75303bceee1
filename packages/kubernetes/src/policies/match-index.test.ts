import type { AdmissionAttributes } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAdmissionLimit } from "./admission-limit.ts";
import { matchingVersion } from "./equivalent-versions.ts";
import { MatchIndex } from "./match-index.ts";
import { compileMatch } from "./match-resources.ts";
import { ADMISSION_GROUP, type MatchRule } from "./validating-admission-policy.ts";

const some = (...values: string[]) => fc.subarray(values, { minLength: 1, maxLength: 2 });
const rule: fc.Arbitrary<MatchRule> = fc.record({
  operations: some("CREATE", "DELETE", "*"),
  apiGroups: fc.oneof(some("", "apps", "*"), fc.constant(numbered(20, "g").concat("apps"))),
  apiVersions: some("v1", "*"),
  resources: fc.oneof(
    some("pods", "pods/status", "*", "*/*", "*/status", "jobs"),
    fc.constant([...numbered(20, "r"), "pods"]),
  ),
});
const attributesOf = (operation: string, group: string, plural: string, subresource = "") =>
  ({
    operation,
    resource: { group, plural, version: "v1" },
    subresource,
    namespace: "a",
    name: "n",
    object: { apiVersion: "v1", kind: "K", metadata: { name: "n" } },
  }) as unknown as AdmissionAttributes;

function numbered(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}${at}`);
}

describe("MatchIndex", () => {
  it("leaves nothing out that a look at every rule finds, and keeps the order", () => {
    fc.assert(
      fc.property(
        fc.array(fc.option(fc.array(rule, { maxLength: 2 }), { nil: undefined }), { maxLength: 6 }),
        fc.constantFrom("create", "delete"),
        fc.constantFrom("", "apps"),
        fc.constantFrom("pods", "jobs"),
        fc.constantFrom("", "status"),
        (all, operation, group, plural, subresource) => {
          const attributes = attributesOf(operation, group, plural, subresource);
          const isMeant = (rules: readonly MatchRule[] | undefined) =>
            (rules === undefined || rules.length > 0) &&
            matchingVersion(compileMatch({ resourceRules: rules ?? [] }), attributes, undefined, { resources: [] }) !==
              undefined;
          const values = all.map((rules, at) => ({ rules, at }));
          const index = new MatchIndex(values, ({ rules }) => rules);
          const found = index.candidates(attributes, [attributes.resource]);
          expect(found.map(({ at }) => at)).toEqual(found.map(({ at }) => at).toSorted((a, b) => a - b));
          expect(found.filter(({ rules }) => isMeant(rules))).toEqual(values.filter(({ rules }) => isMeant(rules)));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each<[string, (name: string) => Partial<MatchRule>]>([
    ["resources", (name) => ({ resources: [name] })],
    ["groups", (name) => ({ apiGroups: [name], resources: ["*"] })],
    ["groups of one resource", (name) => ({ apiGroups: [name] })],
    ["operations", () => ({ operations: ["DELETE"] })],
    ["operations on everything", () => ({ operations: ["DELETE"], apiGroups: ["*"], resources: ["*/*"] })],
    ["lists of resources", (name) => ({ resources: numbered(30, name) })],
  ])("hands out none of any number that differ by %s", (_what, partOf) => {
    const visited = (count: number): number => {
      const rules = numbered(count, "x").map((name) => ({
        operations: ["CREATE"],
        apiGroups: [""],
        apiVersions: ["v1"],
        resources: ["secrets"],
        ...partOf(name),
      }));
      const index = new MatchIndex(rules, (each) => [each]);
      const attributes = attributesOf("create", "", "configmaps");
      index.candidates(attributes, [attributes.resource]);
      return index.visited;
    };
    expect([visited(500), visited(1_000)]).toEqual([0, 0]);
  });
});

describe("the limit on admission rules of a cluster", () => {
  const configuration = (webhooks: number) =>
    ({ apiVersion: "v1", kind: "K", metadata: { name: "c" }, webhooks: numbered(webhooks, "w") }) as any;
  const ask = (plural: string, operation: string, parts: object, stored: readonly object[]) => {
    const view = { list: () => stored.map((object) => ({ decode: () => object })) };
    const registry = { find: () => ({ view, keys: { inNamespace: () => "/" } }) as any };
    const resource = { group: ADMISSION_GROUP, version: "v1", plural } as ResourceDefinition;
    return () =>
      createAdmissionLimit(registry, 10).validate?.({
        ...attributesOf(operation, "", ""),
        resource,
        ...parts,
      } as AdmissionAttributes);
  };
  const MUTATING = "mutatingwebhookconfigurations";
  const ofOtherGroup = (group: string, plural: string, object: object, count: number) => () => {
    const view = { list: () => Array.from({ length: count }, () => ({ decode: () => object, has: () => true })) };
    const registry = { find: () => ({ view, keys: { inNamespace: () => "/" } }) as any };
    const resource = { group, version: "v1", plural } as ResourceDefinition;
    const attributes = { ...attributesOf("create", "", ""), resource, object } as AdmissionAttributes;
    return createAdmissionLimit(registry, 10).validate?.(attributes);
  };
  const RBAC = "rbac.authorization.k8s.io";
  const aggregated = { metadata: {}, aggregationRule: {} };

  it.each([
    ["an aggregated ClusterRole", ofOtherGroup(RBAC, "clusterroles", aggregated, 100)],
    ["a ResourceQuota", ofOtherGroup("", "resourcequotas", { metadata: {} }, 100)],
  ])("refuses %s beside a hundred, with the figures", (_what, write) => {
    expect(write).toThrow(/exceeded limit: .*requested: 1, used: 100, limited: 100/);
  });

  it.each([
    ["an aggregated ClusterRole beside fewer", ofOtherGroup(RBAC, "clusterroles", aggregated, 99)],
    ["any number of other ClusterRoles", ofOtherGroup(RBAC, "clusterroles", { metadata: {} }, 1_000)],
    ["any number of Roles", ofOtherGroup(RBAC, "roles", aggregated, 1_000)],
    ["a ResourceQuota beside fewer", ofOtherGroup("", "resourcequotas", { metadata: {} }, 99)],
    ["any number of ConfigMaps", ofOtherGroup("", "configmaps", { metadata: {} }, 1_000)],
  ])("lets %s pass", (_what, write) => {
    expect(write).not.toThrow();
  });

  it.each([
    ["a configuration of too many webhooks", ask(MUTATING, "create", { object: configuration(11) }, [])],
    ["one beside others", ask(MUTATING, "create", { object: configuration(2) }, [configuration(5), configuration(4)])],
    [
      "an update with more",
      ask(MUTATING, "update", { object: configuration(6), oldObject: configuration(5) }, [
        configuration(5),
        configuration(5),
      ]),
    ],
    ["an empty one", ask(MUTATING, "create", { object: configuration(0) }, Array(10).fill(configuration(0)))],
    ["a policy", ask("validatingadmissionpolicies", "create", { object: { metadata: {} } }, Array(10).fill({}))],
    ["a binding", ask("validatingadmissionpolicybindings", "create", { object: { metadata: {} } }, Array(10).fill({}))],
  ])("refuses %s, with the figures", (_what, write) => {
    expect(write).toThrow(/exceeded limit: .*requested: \d+, used: \d+, limited: 10/);
  });

  it.each([
    ["up to the limit", ask(MUTATING, "create", { object: configuration(5) }, [configuration(5)])],
    [
      "an update beyond the limit that adds nothing",
      ask(MUTATING, "update", { object: configuration(5), oldObject: configuration(6) }, [
        configuration(6),
        configuration(6),
      ]),
    ],
    ["a deletion", ask(MUTATING, "delete", { object: undefined, oldObject: configuration(1) }, [configuration(20)])],
    ["a status", ask("validatingadmissionpolicies", "update", { subresource: "status" }, Array(20).fill({}))],
  ])("lets %s pass", (_what, write) => {
    expect(write).not.toThrow();
  });
});
