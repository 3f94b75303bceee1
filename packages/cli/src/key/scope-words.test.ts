import { expect, it } from "vitest";
import { ruleWords, scopeWords } from "./scope-words.ts";

it.each([
  [{}, "nothing"],
  [{ projects: [{ project: "shop" }, { project: "*" }] }, "project shop, all projects"],
  [
    {
      virtualClusters: [
        { project: "shop", virtualCluster: "dev" },
        { project: "shop", virtualCluster: "*" },
      ],
      spaces: [{ project: "*", space: "*" }],
    },
    "virtual cluster shop/dev, all virtual clusters of project shop, all spaces of all projects",
  ],
  [
    {
      virtualClusters: [
        { project: "shop", selector: { matchLabels: { env: "dev" } } },
        {
          project: "shop",
          virtualCluster: "dev",
          selector: { matchExpressions: [{ key: "tier", operator: "In", values: ["web", "api"] }] },
        },
      ],
    },
    "all virtual clusters of project shop with env=dev, virtual cluster shop/dev with tier in (api,web)",
  ],
  [{ clusters: [{ cluster: "*" }, { cluster: "eu" }] }, "all clusters, cluster eu"],
  [
    { roles: [{ role: "metrics-reader" }, { role: "agent", projects: ["a", "b"], virtualClusters: ["c"] }] },
    "role metrics-reader, role agent in projects a, b of virtual clusters c",
  ],
  [{ rules: [{ verbs: ["get"] }], allowPosternCli: true }, "rule to get all resources, allowPosternCli"],
])("says %j in words", (scope, words) => {
  expect(scopeWords(scope)).toBe(words);
});

it.each([
  [{}, "do everything with all resources"],
  [
    {
      verbs: ["get", "list"],
      resources: [
        { group: "", resources: ["pods"], resourceNames: ["a"] },
        { group: "apps", resources: ["deployments", "deployments/scale"] },
        { group: "batch" },
      ],
      namespaces: ["x", "y"],
    },
    "get, list pods named a, deployments.apps, deployments/scale.apps, *.batch in namespaces x, y",
  ],
  [
    {
      verbs: ["*"],
      nonResourceURLs: ["/healthz"],
      requestTargets: ["Cluster"],
      cluster: "eu",
      virtualClusters: [{ name: "dev", namespace: "p-shop" }],
    },
    "do everything with /healthz of clusters in cluster eu in virtual clusters p-shop/dev",
  ],
  [{ verbs: ["get"], requestTargets: ["Management", "Other"] }, "get all resources of the management API, Other"],
])("says the rule %j in words", (rule, words) => {
  expect(ruleWords(rule)).toBe(words);
});
