// Everything that a tenant can store in numbers: so many objects, each of so large a size. Other requests meet them (see products.test.ts).

import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { APPLIED_THINGS } from "./applied-things.ts";
import { CONTROLLED_THINGS } from "./controlled-things.ts";
import { PROJECT_THINGS } from "./project-things.ts";
import { SERVED_THINGS } from "./served-things.ts";
import {
  ADMISSION,
  configMaps,
  DEFAULT,
  DEFINITIONS,
  elsewhere,
  ITEMS,
  members,
  open,
  RBAC,
  RBAC_GROUP,
  range,
  roleRef,
  rules,
  type StoredThing,
  selector,
  subject,
} from "./stored-thing.ts";

export const STORED_THINGS: readonly StoredThing[] = [
  ...APPLIED_THINGS,
  ...PROJECT_THINGS,
  ...SERVED_THINGS,
  ...CONTROLLED_THINGS,
  {
    name: "definitions with versions",
    place: "cluster",
    base: { count: 20, size: 5 },
    path: DEFINITIONS,
    object: (index, size) => ({
      ...definitionManifest({ group: `g${index}.example`, kind: `Kind${index}`, plural: `kind${index}s` }),
      spec: {
        group: `g${index}.example`,
        names: { kind: `Kind${index}`, plural: `kind${index}s` },
        scope: "Namespaced",
        versions: range(size).map((version) => ({
          name: `v${version + 1}`,
          served: true,
          storage: version === 0,
          schema: { openAPIV3Schema: { type: "object", properties: members(10, { type: "string" }) } },
        })),
      },
    }),
  },
  {
    name: "items with columns",
    place: "cluster",
    base: { count: 500, size: 10 },
    before: async (store, size) => {
      const version = {
        ...definitionVersion("v1", { type: "object", properties: { spec: open } }),
        additionalPrinterColumns: range(size).map((index) => ({
          name: `c${index}`,
          type: "string",
          jsonPath: `.spec.a[?(@.x=="${index}")].b`,
        })),
      };
      return await store(
        DEFINITIONS,
        definitionManifest({ group: "products.example", kind: "Columnar", plural: "columnars" }, version),
      );
    },
    path: ITEMS,
    object: (index) => ({
      apiVersion: "products.example/v1",
      kind: "Columnar",
      metadata: { name: `i${index}` },
      spec: { a: range(5).map((number) => ({ x: String(number), b: { c: number } })) },
    }),
  },
  {
    name: "columns that filter long lists",
    place: "cluster",
    base: { count: 2, size: 25 },
    before: async (store, size) => {
      const version = {
        ...definitionVersion("v1", { type: "object", properties: { spec: open } }),
        additionalPrinterColumns: range(Math.min(size, 100)).map((index) => ({
          name: `c${index}`,
          type: "string",
          jsonPath: `.spec.a[?(@.x>=${100_000 + index})].y`,
        })),
      };
      return await store(
        DEFINITIONS,
        definitionManifest({ group: "products.example", kind: "Columnar", plural: "columnars" }, version),
      );
    },
    path: ITEMS,
    object: (index, size) => ({
      apiVersion: "products.example/v1",
      kind: "Columnar",
      metadata: { name: `i${index}` },
      spec: { a: range(size * 40).map((x) => ({ x, y: "y" })) },
    }),
  },
  {
    name: "Roles with rules, each with RoleBindings",
    place: "cluster",
    base: { count: 200, size: 100 },
    before: async (store, size) => {
      for (const index of range(30)) {
        const body = { metadata: { name: `r${index}` }, rules: rules(size, `g${index}`) };
        if (!(await store(`${RBAC}/namespaces/default/roles`, body))) return false;
      }
      return true;
    },
    path: `${RBAC}/namespaces/default/rolebindings`,
    object: (index) => ({
      metadata: { name: `b${index}` },
      roleRef: roleRef("Role", `r${index % 30}`),
      subjects: [subject],
    }),
  },
  {
    name: "RoleBindings to a Role with rules",
    place: "cluster",
    base: { count: 200, size: 200 },
    before: (store, size) =>
      store(`${RBAC}/namespaces/default/roles`, { metadata: { name: "wide" }, rules: rules(size, "a") }),
    path: `${RBAC}/namespaces/default/rolebindings`,
    object: (index) => ({ metadata: { name: `b${index}` }, roleRef: roleRef("Role", "wide"), subjects: [subject] }),
  },
  {
    name: "RoleBindings with subjects",
    place: "cluster",
    base: { count: 100, size: 100 },
    before: (store) =>
      store(`${RBAC}/namespaces/default/roles`, { metadata: { name: "narrow" }, rules: rules(1, "a") }),
    path: `${RBAC}/namespaces/default/rolebindings`,
    object: (index, size) => ({
      metadata: { name: `b${index}` },
      roleRef: roleRef("Role", "narrow"),
      subjects: range(size).map((number) => ({ kind: "Group", name: `g${number}`, apiGroup: RBAC_GROUP })),
    }),
  },
  {
    name: "aggregated ClusterRoles with rules",
    place: "cluster",
    base: { count: 20, size: 100 },
    before: (store) =>
      store(`${RBAC}/clusterroles`, {
        metadata: { name: "sum" },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: "yes" } }] },
        rules: [],
      }),
    path: `${RBAC}/clusterroles`,
    object: (index, size) => ({
      metadata: { name: `p${index}`, labels: { part: "yes" } },
      rules: rules(size, `g${index}`),
    }),
  },
  {
    name: "webhooks in configurations",
    place: "cluster",
    base: { count: 20, size: 20 },
    path: `${ADMISSION}/validatingwebhookconfigurations`,
    object: (index, size) => ({
      metadata: { name: `w${index}` },
      webhooks: range(size).map((number) => ({
        name: `w${number}.products.example`,
        clientConfig: { url: "https://127.0.0.1:1/" },
        rules: elsewhere,
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        failurePolicy: "Ignore",
        timeoutSeconds: 1,
      })),
    }),
  },
  {
    name: "policies with expressions",
    place: "cluster",
    base: { count: 20, size: 10 },
    path: `${ADMISSION}/validatingadmissionpolicies`,
    object: (index, size) => ({
      metadata: { name: `v${index}` },
      spec: {
        failurePolicy: "Ignore",
        matchConstraints: { resourceRules: elsewhere },
        validations: range(size).map((number) => ({ expression: `object.metadata.name != 'n${number}'` })),
      },
    }),
  },
  {
    name: "bound policies with expressions",
    place: "cluster",
    base: { count: 20, size: 10 },
    before: async (store, size) => {
      for (const index of range(size)) {
        const spec = {
          failurePolicy: "Ignore",
          matchConstraints: { resourceRules: configMaps },
          validations: range(size).map((number) => ({ expression: `object.metadata.name != 'n${number}'` })),
        };
        if (!(await store(`${ADMISSION}/validatingadmissionpolicies`, { metadata: { name: `v${index}` }, spec })))
          return false;
      }
      return true;
    },
    path: `${ADMISSION}/validatingadmissionpolicybindings`,
    object: (index, size) => ({
      metadata: { name: `b${index}` },
      spec: { policyName: `v${index % size}`, validationActions: ["Deny"] },
    }),
  },
  {
    name: "ClusterRoles that select each other by labels",
    place: "cluster",
    base: { count: 15, size: 15 },
    before: async (store, size) => {
      for (const index of range(size)) {
        const role = { metadata: { name: `part-${index}`, labels: members(size, "v") }, rules: rules(1, `p${index}`) };
        if (!(await store(`${RBAC}/clusterroles`, role))) return false;
      }
      return true;
    },
    path: `${RBAC}/clusterroles`,
    object: (index, size) => ({
      metadata: { name: `sum-${index}`, labels: members(size, "v") },
      aggregationRule: {
        clusterRoleSelectors: range(size).map((number) => ({ matchLabels: { [`k${number}`]: "v" } })),
      },
      rules: [],
    }),
  },
  {
    name: "namespaces with labels",
    place: "cluster",
    base: { count: 50, size: 40 },
    path: "api/v1/namespaces",
    object: (index, size) => ({ metadata: { name: `n${index}`, labels: members(size, `v${index}`) } }),
  },
  {
    name: "NetworkPolicies with selectors",
    place: "cluster",
    base: { count: 50, size: 20 },
    path: "apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
    object: (index, size) => ({
      metadata: { name: `n${index}` },
      spec: { podSelector: {}, ingress: [{ from: range(20).map(() => ({ podSelector: selector(size) })) }] },
    }),
  },
  {
    name: "PodDisruptionBudgets with selectors",
    place: "cluster",
    base: { count: 50, size: 40 },
    path: "apis/policy/v1/namespaces/default/poddisruptionbudgets",
    object: (index, size) => ({ metadata: { name: `p${index}` }, spec: { minAvailable: 1, selector: selector(size) } }),
  },
  {
    name: "objects with labels",
    place: "cluster",
    // Both sizes of a night are beyond the 128 members from which V8 keeps an object as a dictionary: a label costs half as much again there.
    base: { count: 320, size: 50 },
    path: `${DEFAULT}/configmaps`,
    object: (index, size) => ({ metadata: { name: `l${index}`, labels: members(size, `v${index}`) } }),
  },
  {
    name: "objects with owners",
    place: "cluster",
    base: { count: 100, size: 40 },
    path: `${DEFAULT}/configmaps`,
    object: (index, size) => ({
      metadata: {
        name: `o${index}`,
        ownerReferences: range(size).map((number) => ({
          apiVersion: "v1",
          kind: "Namespace",
          name: `owner-${number}`,
          uid: `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`,
        })),
        // Kept while the measurement runs, although its owners are not there.
        finalizers: ["products.example/kept"],
      },
    }),
  },
  {
    name: "quotas with resources",
    place: "cluster",
    base: { count: 20, size: 20 },
    path: `${DEFAULT}/resourcequotas`,
    object: (index, size) => ({
      metadata: { name: `q${index}` },
      spec: {
        hard: Object.fromEntries(range(size).map((number) => [`count/things${number}.products.example`, "1000"])),
      },
    }),
  },
  {
    name: "limit ranges with limits",
    place: "cluster",
    base: { count: 20, size: 10 },
    path: `${DEFAULT}/limitranges`,
    object: (index, size) => ({
      metadata: { name: `r${index}` },
      spec: {
        limits: [
          { type: "Container", max: Object.fromEntries(range(size).map((number) => [`example.com/r${number}`, "9"])) },
        ],
      },
    }),
  },
  {
    name: "Services with ports",
    place: "cluster",
    base: { count: 100, size: 20 },
    path: `${DEFAULT}/services`,
    object: (index, size) => ({
      metadata: { name: `s${index}` },
      spec: { ports: range(size).map((number) => ({ name: `p${number}`, port: number + 1 })) },
    }),
  },
];
