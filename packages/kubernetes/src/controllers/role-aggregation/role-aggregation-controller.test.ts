import { runSteps } from "@postern/apimachinery/steps/steps";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BOOTSTRAP_CLUSTER_ROLES, CLUSTER_KIND_ROLES } from "../../builtin/rbac/bootstrap-policy.ts";
import { createTestCluster, type TestCluster } from "../../builtin/testing/test-cluster.ts";
import { aggregatedRules, MAX_WORK, type RoleSource, withAggregatedRules } from "./aggregated-rules.ts";
import { createRoleAggregationController } from "./role-aggregation-controller.ts";

let cluster: TestCluster;
let controller: Controller;

beforeEach(async () => {
  cluster = await createTestCluster();
  controller = createRoleAggregationController(cluster.port, cluster.resource("clusterroles"));
});
afterEach(async () => {
  controller[Symbol.dispose]();
  await cluster[Symbol.asyncDispose]();
  expect(cluster.port.errors).toEqual([]);
});

const rule = (resource: string) => ({ verbs: ["get"], apiGroups: [""], resources: [resource] });
const role = (name: string, labels: { [key: string]: string }, rules: object[], selects?: string) =>
  cluster.create("clusterroles", {
    metadata: { name, labels },
    rules: rules as never,
    ...(selects === undefined
      ? {}
      : { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [selects]: "true" } }] } }),
  });
const rulesOf = async (name: string) => {
  await controller.idle();
  return cluster.get("clusterroles", { name })?.["rules"];
};

describe("role aggregation", () => {
  it("puts the rules of the selected roles together, each once, and follows their changes", async () => {
    await role("all", {}, [rule("written-by-hand")], "to-all");
    await role("b", { "to-all": "true" }, [rule("pods"), rule("secrets")]);
    await role("a", { "to-all": "true" }, [rule("secrets")]);
    await role("c", { "to-all": "false" }, [rule("nodes")]);
    expect(await rulesOf("all")).toEqual([rule("secrets"), rule("pods")]);
    await cluster.delete("clusterroles", { name: "b" });
    expect(await rulesOf("all")).toEqual([rule("secrets")]);
    await cluster.update("clusterroles", { name: "a" }, (a) => ({ ...a, rules: [rule("jobs")] }));
    expect(await rulesOf("all")).toEqual([rule("jobs")]);
  });

  it("finds nothing to change in the roles that a cluster begins with", async () => {
    const first = withAggregatedRules([...BOOTSTRAP_CLUSTER_ROLES, ...CLUSTER_KIND_ROLES]);
    // All at once, as a cluster begins: alone, one would be given only the rules of those that are there.
    await Promise.all(first.map((each) => cluster.create("clusterroles", each)));
    const versions = () =>
      first.map(({ metadata }) => {
        const stored = cluster.get("clusterroles", { name: metadata.name ?? "" });
        return stored?.metadata.resourceVersion;
      });
    const before = versions();
    expect(JSON.stringify(await rulesOf("edit"))).toContain("configmaps");
    expect(versions()).toEqual(before);
  });

  it("aggregates aggregated roles, and does not feed a role with itself", async () => {
    await role("outer", {}, [], "to-outer");
    await role("inner", { "to-outer": "true", "to-inner": "true" }, [], "to-inner");
    await role("leaf", { "to-inner": "true" }, [rule("pods")]);
    expect(await rulesOf("inner")).toEqual([rule("pods")]);
    expect(await rulesOf("outer")).toEqual([rule("pods")]);
  });

  it("comes to rest where roles select each other, and keeps no rule that is gone", async () => {
    const everyone = (name: string, rules: object[], labels: { [key: string]: string } = {}) =>
      cluster.create("clusterroles", {
        metadata: { name, labels },
        rules: rules as never,
        aggregationRule: { clusterRoleSelectors: [{}] },
      });
    await everyone("one", [rule("written"), rule("by-hand")]);
    await everyone("two", [rule("by-hand"), rule("written"), rule("too")]);
    await everyone("three", [rule("too")]);
    await role("leaf", {}, [rule("pods"), rule("secrets")]);
    for (const name of ["one", "two", "three"]) expect(await rulesOf(name)).toEqual([rule("pods"), rule("secrets")]);
    await cluster.update("clusterroles", { name: "leaf" }, (leaf) => ({ ...leaf, rules: [rule("jobs")] }));
    for (const name of ["one", "two", "three"]) expect(await rulesOf(name)).toEqual([rule("jobs")]);
  });

  it("comes to rest on circles of every length, whatever the roles had before", async () => {
    for (const length of [2, 3, 7]) {
      for (let at = 0; at < length; at++) {
        const labels = { [`to-${length}-${at}`]: "true" };
        await role(`circle-${length}-${at}`, labels, [rule(`old-${at}`)], `to-${length}-${(at + 1) % length}`);
      }
      await role(`leaf-${length}`, { [`to-${length}-0`]: "true" }, [rule("pods")]);
      for (let at = 0; at < length; at++) expect(await rulesOf(`circle-${length}-${at}`)).toEqual([rule("pods")]);
    }
  });

  it("follows a label that is taken away", async () => {
    await role("all", {}, [], "to-all");
    await role("a", { "to-all": "true" }, [rule("pods")]);
    expect(await rulesOf("all")).toEqual([rule("pods")]);
    await cluster.update("clusterroles", { name: "a" }, (a) => ({ ...a, metadata: { ...a.metadata, labels: {} } }));
    expect(await rulesOf("all")).toEqual([]);
  });
});

describe("the work for all aggregated roles", () => {
  /** So many aggregated roles with so many selectors each, of which each selects all, beside a role with a rule. */
  function roles(count: number, selectors: number, textOf: (at: number, selector: number) => string) {
    const names = Array.from({ length: count }, (_, at) => `r${at}`).toSorted();
    const each = new Map(
      names.map((name, at) => [
        name,
        Array.from({ length: selectors }, (_, selector) => ({ matches: () => true, text: textOf(at, selector) })),
      ]),
    );
    const source: RoleSource = {
      list: () => [...names, "leaf"].map((key) => ({ key, labels: {} })),
      selectorsOf: (key) => each.get(key),
      rulesOf: () => [rule("pods")],
    };
    return { names, source };
  }
  function workOf({ names, source }: ReturnType<typeof roles>) {
    const work = aggregatedRules(names, source);
    let steps = 0;
    let result = work.next();
    for (; result.done !== true; result = work.next()) steps++;
    return { steps, rules: result.value };
  }

  it("is that of the roles, where hundreds select each other by the same label", () => {
    const { steps, rules } = workOf(roles(500, 1, () => "same"));
    expect(new Set(rules.values())).toEqual(new Set([[rule("pods")]]));
    expect(rules.size).toBe(500);
    expect(steps).toBeLessThanOrEqual(8 * 502);
  });

  it("is that of the roles and selectors, where all select each other in many ways", () => {
    const one = workOf(roles(40, 40, (_, selector) => `${selector}`));
    const two = workOf(roles(80, 80, (_, selector) => `${selector}`));
    expect(two.steps / one.steps).toBeLessThan(4.2);
    expect(new Set(two.rules.values()).size).toBe(1);
  });

  it("has a limit, and says which roles are over it", () => {
    const { steps, rules } = workOf(roles(1_000, 2, (at, selector) => `${at} ${selector}`));
    expect(rules.get("r0")).toEqual(Error("the roles that r0 selects, and those that they select, are too many"));
    expect(steps).toBeLessThanOrEqual(MAX_WORK + 1_000);
  });
});

it("agrees with a search from each role, for random roles", () => {
  const seed = Number(process.env["SEED"] ?? Date.now() % 1e6);
  const next = randomNumbers(seed);
  for (let round = 0; round < 200; round++) {
    const names = Array.from({ length: 1 + next(12) }, (_, at) => `r${at}`).toSorted();
    const labelsOf = new Map(names.map((name) => [name, `${next(6)}`]));
    const selectors = new Map<string, string[]>();
    for (const name of names)
      if (next(10) < 7)
        selectors.set(
          name,
          Array.from({ length: next(4) }, () => `${next(6)}`),
        );
    const source: RoleSource = {
      list: () => names.map((key) => ({ key, labels: { l: labelsOf.get(key) ?? "" } })),
      selectorsOf: (key) => selectors.get(key)?.map((text) => ({ text, matches: (labels) => labels?.["l"] === text })),
      rulesOf: (key) => [rule(key)],
    };
    const found = runSteps(aggregatedRules(names, source));
    for (const [root] of selectors) {
      const open = [root];
      for (const role of open)
        for (const label of selectors.get(role) ?? [])
          for (const name of names) if (labelsOf.get(name) === label && !open.includes(name)) open.push(name);
      const expected = open.filter((name) => !selectors.has(name)).map(rule);
      const textsOf = (rules: unknown) =>
        Array.isArray(rules) ? rules.map((each) => JSON.stringify(each)).toSorted() : rules;
      expect(textsOf(found.get(root)), `seed ${seed}, round ${round}, ${root}`).toEqual(textsOf(expected));
    }
  }
});

it("writes each of a chain of roles once, when the last in it changes", async () => {
  const chain = 5;
  for (let at = 0; at < chain; at++) await role(`c${at}`, { [`to-c${at - 1}`]: "true" }, [], `to-c${at}`);
  await role("last", { [`to-c${chain - 1}`]: "true" }, [rule("pods")]);
  expect(await rulesOf("c0")).toEqual([rule("pods")]);
  const revision = async (name: string) => Number((await role(name, {}, [])).metadata.resourceVersion);
  const before = await revision("before");
  await cluster.update("clusterroles", { name: "last" }, (last) => ({ ...last, rules: [rule("secrets")] }));
  expect(await rulesOf("c0")).toEqual([rule("secrets")]);
  const after = await revision("after");
  expect(after - before).toBe(chain + 2);
});
