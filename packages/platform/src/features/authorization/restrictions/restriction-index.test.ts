import type { AccessKeyRule, AccessKeyScope } from "@postern/api/access-key-restrictions";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PlatformRequest } from "../request/platform-request.ts";
import { caller, realRestrictions, request, restrictions, wideRules } from "../testing/arbitraries.ts";
import { management, names } from "../testing/memory-world.ts";
import { context } from "../testing/scope-cases.ts";
import { RestrictionIndex } from "./restriction-index.ts";
import { inScope } from "./scope.ts";

const SEED = Number(process.env["TEST_SEED"]);
const COUNT = 1_000;
const range = Array.from({ length: COUNT }, (_, at) => at);
const EMPTY: AccessKeyScope = { roles: [], projects: [], spaces: [], virtualClusters: [], clusters: [] };
const clusterLabels = { of: (_: string, name: string) => (name === "v1" ? { env: "dev" } : { tier: "prod" }) };
const RULE: AccessKeyRule = {
  verbs: [],
  resources: [],
  namespaces: [],
  nonResourceURLs: [],
  requestTargets: [],
  cluster: "",
  virtualClusters: [],
};

it(`decides as the entries gone through one by one do, and names the same entry (seed ${SEED})`, () => {
  let opened = 0;
  const any = fc.oneof(restrictions, realRestrictions, wideRules);
  fc.assert(
    fc.property(
      caller,
      any,
      fc.array(request, { minLength: 40, maxLength: 40 }),
      ({ user, owner }, narrowed, asked) => {
        const index = new RestrictionIndex(0);
        for (const isProvisioning of [false, true]) {
          for (const each of asked) {
            const facts = { names, user, owner, isProvisioning, clusterLabels };
            const expected = inScope(narrowed, each, facts);
            expect(inScope(narrowed, each, { ...facts, index })).toEqual(expected);
            if (expected.open) opened++;
          }
        }
      },
    ),
    { seed: SEED, numRuns: 400 },
  );
  expect(opened).toBeGreaterThan(100);
});

describe("of a thousand entries, few are looked at for each of a thousand objects", () => {
  const get = (resource: string, namespace: string, name: string): PlatformRequest =>
    management({ verb: "get", apiGroup: names.managementGroup, resource, namespace, name });
  const ofProject = (at: number): PlatformRequest => get("projects", "", `n${at}`);
  const ofInstance = (at: number): PlatformRequest => get("virtualclusterinstances", "p-a", `n${at}`);
  const ofUser = (at: number): PlatformRequest => get("users", "", `n${at}`);
  const group = names.managementGroup;
  const ruled = (rule: (at: number) => Partial<AccessKeyRule>) => ({
    scope: undefined,
    ruleSets: [range.map((at) => ({ ...RULE, ...rule(at) }))],
  });
  const scoped = (scope: Partial<AccessKeyScope>) => ({ scope: { ...EMPTY, ...scope }, ruleSets: [] });

  it.each<[string, Parameters<typeof inScope>[0], (at: number) => PlatformRequest]>([
    ["projects", scoped({ projects: range.map((at) => ({ project: `n${at + 500}` })) }), ofProject],
    [
      "virtual clusters",
      scoped({ virtualClusters: range.map((at) => ({ project: "a", virtualCluster: `n${at + 500}` })) }),
      ofInstance,
    ],
    [
      "virtual clusters of one project, for projects",
      scoped({ virtualClusters: range.map((at) => ({ project: "n1", virtualCluster: `n${at}` })) }),
      ofProject,
    ],
    ["spaces", scoped({ spaces: range.map((at) => ({ project: `q${at}`, space: "s" })) }), ofInstance],
    ["clusters", scoped({ clusters: range.map((at) => ({ cluster: `n${at}` })) }), ofUser],
    [
      "roles with projects",
      scoped({ roles: range.map((at) => ({ role: "platform-cli", projects: [`q${at}`], virtualClusters: [] })) }),
      ofInstance,
    ],
    [
      "roles with virtual clusters",
      scoped({ roles: range.map((at) => ({ role: "vcluster", projects: [], virtualClusters: [`n${at}`] })) }),
      ofUser,
    ],
    [
      "roles with virtual clusters, for projects",
      scoped({ roles: range.map((at) => ({ role: "platform-cli", projects: [], virtualClusters: [`n${at}`] })) }),
      ofProject,
    ],
    [
      "roles that open nothing",
      scoped({ roles: range.map(() => ({ role: "agent", projects: [], virtualClusters: [] })) }),
      ofUser,
    ],
    [
      "rules with names",
      ruled((at) => ({ resources: [{ group, resources: ["projects"], resourceNames: [`n${at}`] }] })),
      ofProject,
    ],
    [
      "rules with namespaces",
      ruled((at) => ({ namespaces: [`p-${at}`], resources: [{ group, resources: ["*"], resourceNames: [] }] })),
      ofInstance,
    ],
    ["rules with verbs", ruled((at) => ({ verbs: [`verb${at}`] })), ofUser],
    ["rules about virtual clusters", ruled((at) => ({ virtualClusters: [{ name: `v${at}`, namespace: "" }] })), ofUser],
    ["rules about clusters", ruled((at) => ({ cluster: `c${at}` })), ofUser],
    ["rules about paths", ruled((at) => ({ nonResourceURLs: [`/x${at}`] })), ofUser],
    [
      "selectors of one rule",
      {
        scope: undefined,
        ruleSets: [
          [{ ...RULE, resources: range.map((at) => ({ group, resources: ["users"], resourceNames: [`n${at}`] })) }],
        ],
      },
      ofUser,
    ],
  ])("%s", (_, narrowed, asked) => {
    const index = new RestrictionIndex();
    for (const at of range) inScope(narrowed, asked(at), { ...context, index });
    expect(index.visited).toBeLessThanOrEqual(10 * COUNT);
  });
});
