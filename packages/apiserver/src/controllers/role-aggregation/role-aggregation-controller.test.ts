import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestCluster, type TestCluster } from "../../builtin/testing/test-cluster.ts";
import type { Controller } from "../controller-port.ts";
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
