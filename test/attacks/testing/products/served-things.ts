// Things that the server works on when others are read or written: conversions, status, aggregation, provisioning (see stored-things.ts).

import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { DEFAULT, DEFINITIONS, ITEMS, open, RBAC, range, rules, type StoredThing } from "./stored-thing.ts";

export const DEPLOYMENTS = `${DEFAULT.replace("api/v1", "apis/apps/v1")}/deployments`;
export const GROUPS = "/scim/v2/Groups";

export const SERVED_THINGS: readonly StoredThing[] = [
  {
    name: "items that a webhook converts",
    place: "cluster",
    base: { count: 100, size: 3 },
    before: async (store, size, webhook) => {
      const version = (index: number) => ({
        ...definitionVersion(`v${index + 1}`, { type: "object", properties: { spec: open } }),
        storage: index === 0,
      });
      const manifest: any = definitionManifest(
        { group: "products.example", kind: "Columnar", plural: "columnars" },
        version(0),
      );
      const { url = "https://127.0.0.1:1", caBundle = "" } = webhook ?? {};
      const conversion = {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1"],
          clientConfig: { url: `${url}/convert`, ...(caBundle === "" ? {} : { caBundle }) },
        },
      };
      const versions = range(Math.min(size, 20)).map(version);
      return await store(DEFINITIONS, { ...manifest, spec: { ...manifest.spec, versions, conversion } });
    },
    path: ITEMS,
    object: (index, size) => ({
      apiVersion: "products.example/v1",
      kind: "Columnar",
      metadata: { name: `i${index}` },
      spec: { a: range(size * 10).map((x) => ({ x })) },
    }),
  },
  {
    name: "ClusterRoles with rules that one role selects",
    place: "cluster",
    base: { count: 20, size: 20 },
    before: (store) =>
      store(`${RBAC}/clusterroles`, {
        metadata: { name: "sum" },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: "yes" } }] },
        rules: [],
      }),
    path: `${RBAC}/clusterroles`,
    object: (index, size) => ({
      metadata: { name: `part-${index}`, labels: { part: "yes" } },
      rules: rules(size, `p${index}`),
    }),
  },
  {
    name: "workloads with containers",
    place: "cluster",
    base: { count: 20, size: 10 },
    path: DEPLOYMENTS,
    object: (index, size) => ({
      metadata: { name: `d${index}` },
      spec: {
        selector: { matchLabels: { app: "a" } },
        template: {
          metadata: { labels: { app: "a" } },
          spec: { containers: range(size).map((number) => ({ name: `c${number}`, image: "example.com/image" })) },
        },
      },
    }),
  },
  {
    name: "pods that quotas count by many names",
    place: "cluster",
    base: { count: 60, size: 15 },
    before: async (store, size) => {
      const hard = Object.fromEntries(range(size).map((number) => [`requests.example.com/r${number}`, "1000000"]));
      for (const index of range(size)) {
        const quota = { metadata: { name: `q${index}` }, spec: { hard: { pods: "1000000", ...hard } } };
        if (!(await store(`${DEFAULT}/resourcequotas`, quota))) return false;
      }
      return true;
    },
    path: `${DEFAULT}/pods`,
    object: (index, size) => {
      const amounts = Object.fromEntries(range(size).map((number) => [`example.com/r${number}`, "1"]));
      const resources = { requests: amounts, limits: amounts };
      return {
        metadata: { name: `p${index}` },
        spec: { containers: [{ name: "c", image: "example.com/image", resources }] },
      };
    },
  },
  {
    name: "groups of a directory with members",
    place: "project",
    by: "directory",
    base: { count: 10, size: 50 },
    before: async (store, size) => {
      for (const index of range(size))
        if (!(await store("/scim/v2/Users", { userName: `member-${index}` }))) return false;
      return true;
    },
    path: GROUPS,
    object: (index, size) => ({
      displayName: `group-${size}-${index}`,
      members: range(size).map((number) => ({ value: `member-${number}` })),
    }),
  },
];
