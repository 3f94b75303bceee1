// Things that a tenant can store in its project of the management API (see stored-things.ts).

import { hostGroup, members, RBAC, RBAC_GROUP, range, roleRef, SPACES, type StoredThing } from "./stored-thing.ts";
import { ISSUER, WORKLOAD_KEYS } from "./workload-tokens.ts";

const TEMPLATE = "parameterized";
const PROJECT = "/apis/management.postern/v1/namespaces/p-tenant";

export const PROJECT_THINGS: readonly StoredThing[] = [
  {
    name: "keys with rules",
    place: "project",
    base: { count: 20, size: 50 },
    path: "/apis/management.postern/v1/ownedaccesskeys",
    object: (index, size) => ({
      metadata: { name: `product-${size}-${index}` },
      spec: {
        type: "User",
        scope: {},
        rules: range(size).map((number) => ({ verbs: ["get"], resources: [{ group: "", resources: [`r${number}`] }] })),
      },
    }),
  },
  {
    name: "spaces with labels",
    place: "project",
    base: { count: 100, size: 20 },
    path: SPACES,
    object: (index, size) => ({
      metadata: { name: `space-${size}-${index}`, labels: members(size, "v") },
      spec: { owner: { user: "attacker" } },
    }),
  },
  {
    name: "kubeconfig generators with values of labels",
    place: "project",
    base: { count: 2, size: 15 },
    path: `${PROJECT}/kubeconfiggenerators`,
    object: (index, size) => ({
      metadata: { name: `generator-${size}-${index}` },
      spec: {
        selector: {
          matchExpressions: [{ key: "k", operator: "NotIn", values: range(size).map((each) => `v${each}`) }],
        },
        secretRef: { name: `generated-${size}-${index}` },
      },
    }),
  },
  {
    name: "instances with access",
    place: "project",
    base: { count: 4, size: 2_000 },
    path: "/apis/management.postern/v1/namespaces/p-tenant/virtualclusterinstances",
    object: (index, size) => ({
      metadata: { name: `with-access-${size}-${index}` },
      spec: { access: [{ verbs: ["get"], users: range(size).map((number) => `user-${number}`) }] },
    }),
  },
  {
    name: "RoleBindings of a project to a Role with rules",
    place: "project",
    base: { count: 100, size: 200 },
    before: (store, size) =>
      store(`/${RBAC}/namespaces/p-tenant/roles`, {
        metadata: { name: `wide-${size}` },
        rules: range(size).map((index) => ({
          verbs: ["get"],
          apiGroups: [""],
          resources: ["secrets"],
          resourceNames: [`n${index}`],
        })),
      }),
    path: `/${RBAC}/namespaces/p-tenant/rolebindings`,
    object: (index, size) => ({
      metadata: { name: `b${size}-${index}` },
      roleRef: roleRef("Role", `wide-${size}`),
      subjects: [{ kind: "Group", name: "system:authenticated", apiGroup: RBAC_GROUP }],
    }),
  },
  {
    name: "RoleBindings of a project for groups of another cluster",
    place: "project",
    base: { count: 50, size: 100 },
    before: (store, size) =>
      store(`/${RBAC}/namespaces/p-tenant/roles`, {
        metadata: { name: `hosted-${size}` },
        rules: range(size).map((index) => ({
          verbs: ["get"],
          apiGroups: [""],
          resources: ["secrets"],
          resourceNames: [`n${index}`],
        })),
      }),
    path: `/${RBAC}/namespaces/p-tenant/rolebindings`,
    object: (index, size) => ({
      metadata: { name: `hosted-${size}-${index}` },
      roleRef: roleRef("Role", `hosted-${size}`),
      subjects: range(size).map((each) => ({ kind: "Group", name: `host:${hostGroup(each)}`, apiGroup: RBAC_GROUP })),
    }),
  },
  {
    name: "RoleBindings of a project with instances",
    place: "project",
    base: { count: 50, size: 10 },
    before: async (store, size) => {
      for (const index of range(size)) {
        const body = { metadata: { name: `beside-${size}-${index}` }, spec: { owner: { user: "attacker" } } };
        if (!(await store(`${PROJECT}/virtualclusterinstances`, body))) return false;
      }
      const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }];
      return await store(`/${RBAC}/namespaces/p-tenant/roles`, { metadata: { name: `beside-${size}` }, rules });
    },
    path: `/${RBAC}/namespaces/p-tenant/rolebindings`,
    object: (index, size) => ({
      metadata: { name: `beside-${size}-${index}` },
      roleRef: roleRef("Role", `beside-${size}`),
      subjects: [{ kind: "Group", name: "system:authenticated", apiGroup: RBAC_GROUP }],
    }),
  },
  {
    name: "trust rules with claims and conditions",
    place: "project",
    base: { count: 20, size: 5 },
    path: `${PROJECT}/trustrules`,
    object: (index, size) => ({
      metadata: { name: `trusts-${size}-${index}` },
      spec: {
        issuer: { url: ISSUER, jwks: WORKLOAD_KEYS },
        audiences: ["postern"],
        claims: range(Math.min(size, 32)).map((number) => ({
          claim: `k${number}`,
          values: [...range(20).map((value) => `v${value}`), "v"],
        })),
        // True for the first ones, so that each of them is evaluated.
        conditions: range(Math.min(size, 16)).map((number) => ({
          expression: number === Math.min(size, 16) - 1 ? "false" : `claims.groups.all(g, g != 'x${number}')`,
        })),
        user: "attacker",
      },
    }),
  },
  {
    name: "instances with roles for users inside",
    place: "project",
    base: { count: 4, size: 100 },
    path: `${PROJECT}/virtualclusterinstances`,
    object: (index, size) => ({
      metadata: { name: `with-roles-${size}-${index}` },
      spec: {
        extraAccessRules: range(size).map((number) => ({ users: [`user-${number}`], clusterRole: `role-${number}` })),
      },
    }),
  },
  {
    name: "instances with templates of objects",
    place: "project",
    base: { count: 3, size: 20 },
    path: `${PROJECT}/virtualclusterinstances`,
    object: (index, size) => ({
      metadata: { name: `with-objects-${size}-${index}` },
      spec: {
        template: {
          metadata: { labels: members(Math.min(size, 60), "v") },
          objects: range(size)
            .map((number) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: o${number}, namespace: default}\n`)
            .join("---\n"),
        },
      },
    }),
  },
  {
    name: "instances with parameters",
    place: "project",
    base: { count: 4, size: 50 },
    path: `${PROJECT}/virtualclusterinstances`,
    object: (index, size) => ({
      metadata: { name: `with-parameters-${size}-${index}` },
      spec: {
        templateRef: { name: TEMPLATE },
        parameters: range(size)
          .map((number) => `k${number}: "v${number}"\n`)
          .join(""),
      },
    }),
  },
  {
    name: "Secrets of a project with keys",
    place: "project",
    base: { count: 50, size: 50 },
    path: `${PROJECT}/projectsecrets`,
    object: (index, size) => ({
      metadata: { name: `secret-${size}-${index}` },
      spec: { data: members(size, "dg==") },
    }),
  },
  {
    name: "keys with virtual clusters in their scope",
    place: "project",
    base: { count: 20, size: 100 },
    path: "/apis/management.postern/v1/ownedaccesskeys",
    object: (index, size) => ({
      metadata: { name: `scoped-${size}-${index}` },
      spec: {
        type: "User",
        scope: { virtualClusters: range(size).map((number) => ({ project: "tenant", virtualCluster: `v${number}` })) },
      },
    }),
  },
];

/** A template of the administrator, with more parameters than a person writes down. */
export async function createTemplate(
  send: (path: string, body: object) => Promise<{ readonly status: number; readonly text: string }>,
): Promise<void> {
  const parameters = range(400).map((index) => ({
    variable: `k${index}`,
    defaultValue: "v",
    validation: "^[a-z0-9]+$",
  }));
  const objects = range(400)
    .map((index) => `# {{ .Values.k${index} }}\n`)
    .join("");
  const { status, text } = await send("/apis/management.postern/v1/virtualclustertemplates", {
    metadata: { name: TEMPLATE },
    spec: { parameters, template: { objects } },
  });
  if (status !== 201) throw new Error(`${status} ${text}`);
}
