// The widest thing that each role of a scope and each built-in ClusterRole reaches, over every resource and subresource that the server lists: a new
// one, or a new role, fails here until it is classified. `vitest --update` writes the page of it in the reference.

import { createPlatformNames } from "@postern/api/platform-names";
import { ruleAllows } from "@postern/apiserver/authorization/rbac/testing/rule-oracle";
import { afterAll, beforeAll, expect, it } from "vitest";
import { builtInClusterRoles } from "../features/authorization/built-in-roles.ts";
import { managementRequest } from "../features/authorization/request/platform-request.ts";
import { alwaysAllowedRules } from "../features/authorization/restrictions/always-allowed.ts";
import { inScope } from "../features/authorization/restrictions/scope.ts";
import { type RunningPlatform, startPlatform } from "../testing/running-platform.ts";

const names = createPlatformNames({ domain: "postern", name: "postern", projectNamespacePrefix: "p-" });
const VERBS = [
  ...["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"],
  ...["use", "impersonate", "escalate", "bind", "extend", "restrict", "introspect", "approve"],
];

type Asked = {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
};
let platform: RunningPlatform;
let asked: readonly Asked[];

beforeAll(async () => {
  platform = await startPlatform();
  const { body } = await platform.send({ path: "/apis" });
  const lists = [
    "/api/v1",
    ...body.groups.flatMap(({ versions }: any) => versions.map(({ groupVersion }: any) => `/apis/${groupVersion}`)),
  ];
  const found = new Map<string, Asked>();
  for (const path of lists) {
    const { resources } = (await platform.send({ path })).body;
    const group = path.split("/")[2] === "v1" ? "" : (path.split("/")[2] ?? "");
    for (const { name, namespaced } of resources) {
      const [resource, subresource = ""] = name.split("/");
      found.set(`${group}/${name}`, { group, resource, subresource, namespace: namespaced ? "p-shop" : "" });
    }
  }
  // Resources that Kubernetes knows without serving them.
  for (const resource of ["users", "groups", "serviceaccounts"])
    found.set(resource, { group: "", resource, subresource: "", namespace: "" });
  asked = [...found.values()];
});
afterAll(() => platform?.[Symbol.asyncDispose]());

/** Lines such as `get,list management.postern/users`. */
function reach(opens: (request: any) => boolean): readonly string[] {
  return asked
    .flatMap(({ group, resource, subresource, namespace }) => {
      const verbs = VERBS.filter((verb) =>
        opens({
          ...{ isResourceRequest: true, verb, apiGroup: group, resource, subresource, namespace, path: "" },
          name: ["list", "watch", "create", "deletecollection"].includes(verb) && subresource === "" ? "" : "someone",
        }),
      );
      const what = [...(group === "" ? [] : [group]), resource, ...(subresource === "" ? [] : [subresource])].join("/");
      return verbs.length === 0 ? [] : [`${verbs.join()} ${what}`];
    })
    .toSorted();
}

const always = alwaysAllowedRules(names);
const isAlways = (request: any): boolean => always.some((rule) => ruleAllows(rule, request));

it.each(["platform-cli", "vcluster", "agent", "scim", "metrics-reader", "network-peer", "workspace", "metrics-writer"])(
  "the scope role %s reaches no more than this, of all that its owner may do",
  (role) => {
    const scope = {
      ...{ projects: [], virtualClusters: [], spaces: [], clusters: [] },
      roles: [{ role, projects: [], virtualClusters: [] }],
    };
    const context = { names, user: { name: "owner", groups: [] }, owner: { kind: "user", name: "owner" } };
    const open = reach(
      (inner) =>
        !isAlways(inner) && inScope({ scope, ruleSets: [] } as any, managementRequest(inner), context as any).open,
    );
    expect(open.filter((line) => !/^list,watch m(anagement|ulticluster)/.test(line))).toEqual(SCOPE_ROLES[role]);
    // Lists show what the key may get.
    expect(open.some((line) => line.includes("impersonate"))).toBe(false);
  },
);

it("the ClusterRoles reach no more than this", () => {
  const found = Object.fromEntries(
    builtInClusterRoles(names).map((role: any) => {
      const rules = role.rules.map((rule: any) => ({
        ...{ apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] },
        ...rule,
      }));
      const isAdmin = role.metadata.name === "postern:admin";
      return [
        role.metadata.name,
        isAdmin
          ? ["everything"]
          : reach((inner) => !isAlways(inner) && rules.some((rule: any) => ruleAllows(rule, inner))),
      ];
    }),
  );
  const expected = Object.entries(CLUSTER_ROLES).map(([role, lines]) => [role, [...lines].toSorted()]);
  expect(found).toEqual(Object.fromEntries(expected));
});

it("the page in the reference says so, and names what no role reaches", async () => {
  const section = (title: string, roles: { readonly [role: string]: readonly string[] }): readonly string[] => [
    ...["", `## ${title}`, "", "| role | verbs | resource |", "|---|---|---|"],
    ...Object.entries(roles).flatMap(([role, lines]) =>
      (lines.length === 0 ? ["no resource"] : lines).map((line) => {
        const [verbs = "", resource] = line.split(" ");
        return resource === undefined || line === "no resource"
          ? `| \`${role}\` | | ${line} |`
          : `| \`${role}\` | ${verbs.replaceAll(",", ", ")} | \`${resource}\` |`;
      }),
    ),
  ];
  const lists = [...Object.values(SCOPE_ROLES), ...Object.values(CLUSTER_ROLES)].flat();
  const reached = new Set(lists.map((line) => line.split(" ")[1]));
  const all = asked.map(({ group, resource, subresource }) =>
    [...(group === "" ? [] : [group]), resource, ...(subresource === "" ? [] : [subresource])].join("/"),
  );
  const closed = [...new Set(all)].filter((what) => !reached.has(what)).toSorted();
  const page = [
    ...["# What roles reach", "", PAGE_HEAD],
    ...section("Roles of a scope", SCOPE_ROLES),
    ...section("ClusterRoles", CLUSTER_ROLES),
    ...["", "## Only with postern:admin", "", CLOSED_HEAD, "", ...closed.map((what) => `- \`${what}\``), ""],
  ];
  await expect(page.join("\n")).toMatchFileSnapshot("../../../../docs/reference/roles.md");
});

const PAGE_HEAD =
  "The most that each role of `spec.scope.roles` and each built-in ClusterRole allows, beside what every user may do. A key never has more than its owner.";
const CLOSED_HEAD =
  "No other role allows these. Some of them, such as reviews of your own permissions, are open to every user.";

/** A control plane may also get its own instance and its `accesskey`, an agent its own cluster. */
const REVIEWS = [
  "create authentication.k8s.io/tokenreviews",
  "create authorization.k8s.io/subjectaccessreviews",
  "introspect management.postern/selves",
];
const SCOPE_ROLES: { readonly [role: string]: readonly string[] } = {
  "platform-cli": [
    "get management.postern/projects/clusters",
    "get management.postern/projects/templates",
    "get,list,watch management.postern/clusters",
    "get,list,watch management.postern/projects",
    "get,list,watch management.postern/spaceinstances",
    "get,list,watch management.postern/virtualclusterinstances",
    "get,list,watch multicluster.x-k8s.io/clusterprofiles",
  ],
  vcluster: REVIEWS,
  agent: REVIEWS,
  // The SCIM routes mark their requests: `features/directory/kinds/provisioned.ts` says what these reach.
  scim: [],
  // The path /metrics.
  "metrics-reader": [],
  "network-peer": [],
  workspace: [],
  "metrics-writer": [],
};
const READ = "get,list,watch";
const ALL = `${READ},create,update,patch,delete,deletecollection`;
const M = "management.postern";
const VIEWER = [
  "get namespaces",
  `${READ} events`,
  `${READ} events.k8s.io/events`,
  `${READ} ${M}/projects/clusters`,
  `${READ} ${M}/projects/templates`,
];
const CLUSTER_ROLES: { readonly [role: string]: readonly string[] } = {
  "postern:admin": ["everything"],
  // The resource shows callers their own keys only.
  "postern:authenticated": [
    // The resources show callers what they may ask for, their own requests, and those that they may approve.
    `${READ} ${M}/accesspolicies`,
    `${READ},create ${M}/accessrequests`,
    `create ${M}/accessrequests/approval`,
    `${READ} ${M}/clusteraccesspolicies`,
    `${ALL} ${M}/ownedaccesskeys`,
    ...["credentials", "explain", "rotate"].map((name) => `get,create ${M}/ownedaccesskeys/${name}`),
  ],
  // Without `impersonate`, the strategies refuse whatever gives permissions.
  "postern:directory": ["teams", "users"].map((name) => `get,list,create,update,delete ${M}/${name}`),
  // In the namespace of the project, and for the project itself.
  "postern:project-admin": [
    "get namespaces",
    `${ALL} events`,
    `${READ} events.k8s.io/events`,
    `${ALL} secrets`,
    ...["rolebindings", "roles"].map((name) => `${ALL} rbac.authorization.k8s.io/${name}`),
    "create authorization.k8s.io/localsubjectaccessreviews",
    `${READ} ${M}/projects/clusters`,
    `${READ} ${M}/projects/templates`,
    `${READ},update,patch,use ${M}/projects`,
    ...["projectsecrets", "spaceinstances", "virtualclusterinstances"].map((name) => `${ALL},use ${M}/${name}`),
    `${READ} multicluster.x-k8s.io/clusterprofiles`,
    `${ALL},approve ${M}/accesspolicies`,
    `${ALL} ${M}/trustrules`,
    `${ALL} ${M}/kubeconfiggenerators`,
    `create ${M}/trustrules/test`,
    `get ${M}/virtualclusterinstances/accesskey`,
    ...["spaceinstances", "virtualclusterinstances"].map((name) => `get,create ${M}/${name}/certificateauthority`),
    `get,create ${M}/virtualclusterinstances/credentials`,
    `create ${M}/virtualclusterinstances/kubeconfig`,
    `create ${M}/virtualclusterinstances/join`,
  ],
  "postern:project-reader": [
    ...VIEWER,
    `${READ} ${M}/projects`,
    ...["spaceinstances", "virtualclusterinstances"].map((name) => `${READ},use ${M}/${name}`),
    `${READ} multicluster.x-k8s.io/clusterprofiles`,
    `create ${M}/virtualclusterinstances/kubeconfig`,
  ],
  "postern:project-user": [
    ...VIEWER,
    ...["projects", "spaceinstances", "virtualclusterinstances"].map((name) => `${READ},use ${M}/${name}`),
    `${READ} multicluster.x-k8s.io/clusterprofiles`,
    `create ${M}/virtualclusterinstances/kubeconfig`,
  ],
  "postern:project-viewer": [
    ...VIEWER,
    ...["projects", "spaceinstances", "virtualclusterinstances"].map((name) => `${READ} ${M}/${name}`),
    `${READ} multicluster.x-k8s.io/clusterprofiles`,
  ],
  "postern:public-info-viewer": [],
};
