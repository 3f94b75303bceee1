// The roles and bindings that every cluster begins with.
// Source: k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { GROUP_SERVICE_ACCOUNTS } from "@postern/apiserver/authentication/service-account";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import { ISSUER_DISCOVERY_PATHS } from "../../service-accounts/issuer-discovery.ts";

const API_VERSION = `${RBAC_GROUP}/v1`;
const BOOTSTRAPPING = { "kubernetes.io/bootstrapping": "rbac-defaults" };

const READ = ["get", "list", "watch"];
const WRITE = ["create", "delete", "deletecollection", "patch", "update"];

const CORE_CONTENT = ["configmaps", "events", "secrets", "serviceaccounts"];
const READABLE_CORE_CONTENT = ["configmaps", "events", "serviceaccounts"];

const DISCOVERY_PATHS = [
  "/api",
  "/api/*",
  "/apis",
  "/apis/*",
  "/healthz",
  "/livez",
  "/openapi",
  "/openapi/*",
  "/readyz",
  "/version",
  "/version/",
];
/** Paths that load balancers probe, and clients read before they have a credential. */
export const PUBLIC_PATHS = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

const EVERYTHING = [
  { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
  { nonResourceURLs: ["*"], verbs: ["*"] },
];

const aggregates = (role: string): { readonly [label: string]: string } => ({
  [`rbac.authorization.k8s.io/aggregate-to-${role}`]: "true",
});

function clusterRole(
  name: string,
  rules: readonly JsonObject[],
  labels: { readonly [label: string]: string } = {},
): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: "ClusterRole",
    metadata: { name, labels: { ...BOOTSTRAPPING, ...labels } },
    rules,
  };
}

function aggregatedRole(
  name: string,
  from: readonly string[],
  labels: { readonly [label: string]: string } = {},
): KubeObject {
  return {
    ...clusterRole(name, [], labels),
    aggregationRule: { clusterRoleSelectors: from.map((role) => ({ matchLabels: aggregates(role) })) },
  };
}

function clusterRoleBinding(role: string, groups: readonly string[]): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: "ClusterRoleBinding",
    metadata: { name: role, labels: BOOTSTRAPPING },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
    subjects: groups.map((name) => ({ apiGroup: RBAC_GROUP, kind: "Group", name })),
  };
}

export const BOOTSTRAP_CLUSTER_ROLES: readonly KubeObject[] = [
  clusterRole("cluster-admin", EVERYTHING),
  clusterRole("system:discovery", [{ nonResourceURLs: DISCOVERY_PATHS, verbs: ["get"] }]),
  clusterRole("system:public-info-viewer", [{ nonResourceURLs: PUBLIC_PATHS, verbs: ["get"] }]),
  clusterRole("system:service-account-issuer-discovery", [
    { nonResourceURLs: ISSUER_DISCOVERY_PATHS.flatMap((path) => [path, `${path}/`]), verbs: ["get"] },
  ]),
  clusterRole("system:basic-user", [
    {
      apiGroups: ["authorization.k8s.io"],
      resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
      verbs: ["create"],
    },
    { apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"], verbs: ["create"] },
  ]),
  clusterRole("system:auth-delegator", [
    { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
    { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
  ]),
  aggregatedRole("admin", ["admin"]),
  aggregatedRole("edit", ["edit"], aggregates("admin")),
  aggregatedRole("view", ["view"], aggregates("edit")),
  clusterRole(
    "system:aggregate-to-admin",
    [
      { apiGroups: ["authorization.k8s.io"], resources: ["localsubjectaccessreviews"], verbs: ["create"] },
      { apiGroups: [RBAC_GROUP], resources: ["rolebindings", "roles"], verbs: [...WRITE, ...READ] },
    ],
    aggregates("admin"),
  ),
  clusterRole(
    "system:aggregate-to-edit",
    [
      { apiGroups: [""], resources: CORE_CONTENT, verbs: WRITE },
      { apiGroups: [""], resources: ["secrets"], verbs: READ },
      { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["impersonate"] },
      { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] },
      { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: WRITE },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: [...WRITE, ...READ] },
    ],
    aggregates("edit"),
  ),
  clusterRole(
    "system:aggregate-to-view",
    [
      { apiGroups: [""], resources: READABLE_CORE_CONTENT, verbs: READ },
      { apiGroups: [""], resources: ["namespaces"], verbs: READ },
      { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: READ },
    ],
    aggregates("view"),
  ),
];

export const BOOTSTRAP_CLUSTER_ROLE_BINDINGS: readonly KubeObject[] = [
  clusterRoleBinding("cluster-admin", ["system:masters"]),
  clusterRoleBinding("system:discovery", ["system:authenticated"]),
  clusterRoleBinding("system:service-account-issuer-discovery", [GROUP_SERVICE_ACCOUNTS]),
  clusterRoleBinding("system:basic-user", ["system:authenticated"]),
  clusterRoleBinding("system:public-info-viewer", ["system:authenticated", "system:unauthenticated"]),
];

/** Resources of clusters, by group: those that `edit` writes, and those that `view` reads. Services and their endpoints are written together. */
const CLUSTER_CONTENT: readonly (readonly [group: string, written: readonly string[], read: readonly string[]])[] = [
  [
    "",
    [
      "pods",
      "persistentvolumeclaims",
      "services",
      "podtemplates",
      "replicationcontrollers",
      "replicationcontrollers/scale",
    ],
    [
      "pods",
      "pods/status",
      "pods/log",
      "replicationcontrollers",
      "replicationcontrollers/scale",
      "replicationcontrollers/status",
      "persistentvolumeclaims",
      "services",
      "services/status",
      "endpoints",
      "resourcequotas",
      "resourcequotas/status",
      "limitranges",
    ],
  ],
  ["discovery.k8s.io", [], ["endpointslices"]],
  [
    "apps",
    [
      "daemonsets",
      "deployments",
      "deployments/scale",
      "replicasets",
      "replicasets/scale",
      "statefulsets",
      "statefulsets/scale",
    ],
    [
      "controllerrevisions",
      "daemonsets",
      "daemonsets/status",
      "deployments",
      "deployments/scale",
      "deployments/status",
      "replicasets",
      "replicasets/scale",
      "replicasets/status",
      "statefulsets",
      "statefulsets/scale",
      "statefulsets/status",
    ],
  ],
  ["batch", ["cronjobs", "jobs"], ["cronjobs", "cronjobs/status", "jobs", "jobs/status"]],
  ["autoscaling", ["horizontalpodautoscalers"], ["horizontalpodautoscalers", "horizontalpodautoscalers/status"]],
  ["policy", ["poddisruptionbudgets"], ["poddisruptionbudgets", "poddisruptionbudgets/status"]],
  ["networking.k8s.io", ["ingresses", "networkpolicies"], ["ingresses", "ingresses/status", "networkpolicies"]],
  [
    "resource.k8s.io",
    ["resourceclaims", "resourceclaimtemplates"],
    ["resourceclaims", "resourceclaims/status", "resourceclaimtemplates"],
  ],
];

/** Roles of their own, so that clusters that were made before they had these kinds get them as well. */
export const CLUSTER_KIND_ROLES: readonly KubeObject[] = [
  clusterRole(
    "system:aggregate-to-edit:cluster-kinds",
    CLUSTER_CONTENT.flatMap(([group, written]) =>
      written.length === 0 ? [] : [{ apiGroups: [group], resources: written, verbs: WRITE }],
    ),
    aggregates("edit"),
  ),
  clusterRole(
    "system:aggregate-to-view:cluster-kinds",
    CLUSTER_CONTENT.map(([group, , read]) => ({ apiGroups: [group], resources: read, verbs: READ })),
    aggregates("view"),
  ),
];
