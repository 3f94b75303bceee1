// The ClusterRoles and bindings that the platform is installed with, as data.

import { CLUSTER_INVENTORY_GROUP } from "@postern/api/cluster-profile";
import type { PlatformNames } from "@postern/api/platform-names";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { GROUP_AUTHENTICATED, GROUP_UNAUTHENTICATED } from "@postern/apiserver/authentication/user-info";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import { PUBLIC_PATHS } from "@postern/kubernetes/builtin/rbac/bootstrap-policy";
import { alwaysAllowedRules } from "./restrictions/always-allowed.ts";

const READ = ["get", "list", "watch"];
const WRITE = ["create", "update", "patch", "delete", "deletecollection"];
const INSTANCES = ["virtualclusterinstances", "spaceinstances"];

const RESTRICTED = INSTANCES.map((resource) => `${resource}/restricted`);

/** Suffixes of the roles' names; see `PlatformNames.role`. */
export const PROJECT_ADMIN = "project-admin";
export const PROJECT_USER = "project-user";
export const PROJECT_READER = "project-reader";
export const PROJECT_VIEWER = "project-viewer";

export const builtInClusterRoles = (names: PlatformNames): readonly KubeObject[] => [
  clusterRole(names.role("admin"), [
    { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
    { verbs: ["*"], nonResourceURLs: ["*"] },
  ]),
  clusterRole(names.role("authenticated"), authenticatedRules(names)),
  clusterRole(names.role("public-info-viewer"), [{ verbs: ["get", "head"], nonResourceURLs: PUBLIC_PATHS }]),
  // For the bot whose key a directory holds: SCIM needs no more, and elsewhere it gives no power over other users.
  clusterRole(names.role("directory"), [
    {
      verbs: ["get", "list", "create", "update", "delete"],
      apiGroups: [names.managementGroup],
      resources: ["users", "teams"],
    },
  ]),
  clusterRole(names.role(PROJECT_ADMIN), projectAdminRules(names)),
  clusterRole(names.role(PROJECT_USER), projectUserRules(names)),
  clusterRole(names.role(PROJECT_READER), projectReaderRules(names)),
  clusterRole(names.role(PROJECT_VIEWER), projectViewerRules(names)),
];

/** The project roles are bound by the projects themselves. */
export const builtInClusterRoleBindings = (names: PlatformNames): readonly KubeObject[] => [
  groupBinding(names.role("admin"), names.adminsGroup),
  groupBinding(names.role("authenticated"), GROUP_AUTHENTICATED),
  groupBinding(names.role("public-info-viewer"), GROUP_UNAUTHENTICATED),
];

/** Own user and own teams are not among them: RBAC cannot say "own". */
const authenticatedRules = (names: PlatformNames): readonly JsonObject[] => [
  ...alwaysAllowedRules(names).map(({ verbs, apiGroups, resources, nonResourceURLs }) =>
    resources.length === 0 ? { verbs, nonResourceURLs } : { verbs, apiGroups, resources },
  ),
  // The resource shows callers their own keys only.
  { verbs: [...READ, ...WRITE], apiGroups: [names.managementGroup], resources: ["ownedaccesskeys"] },
  {
    verbs: ["get", "create"],
    apiGroups: [names.managementGroup],
    resources: ["ownedaccesskeys/rotate", "ownedaccesskeys/explain", "ownedaccesskeys/credentials"],
  },
  // The resources show callers what they may ask for, their own requests, and those that they may approve.
  { verbs: READ, apiGroups: [names.managementGroup], resources: ["clusteraccesspolicies", "accesspolicies"] },
  { verbs: [...READ, "create"], apiGroups: [names.managementGroup], resources: ["accessrequests"] },
  { verbs: ["create"], apiGroups: [names.managementGroup], resources: ["accessrequests/approval"] },
];

/** Evaluated in the project's namespace, and for the project of that name: membership binds to both. */
const projectViewerRules = ({ managementGroup }: PlatformNames): readonly JsonObject[] => [
  {
    verbs: READ,
    apiGroups: [managementGroup],
    resources: ["projects", "projects/clusters", "projects/templates", ...INSTANCES],
  },
  { verbs: READ, apiGroups: [CLUSTER_INVENTORY_GROUP], resources: ["clusterprofiles"] },
  { verbs: READ, apiGroups: ["", "events.k8s.io"], resources: ["events"] },
  { verbs: ["get"], apiGroups: [""], resources: ["namespaces"] },
];

/** The role inside is `view`: it has no Secrets, and changes nothing. */
const projectReaderRules = (names: PlatformNames): readonly JsonObject[] => [
  ...projectViewerRules(names),
  { verbs: ["use"], apiGroups: [names.managementGroup], resources: INSTANCES },
  { verbs: ["create"], apiGroups: [names.managementGroup], resources: ["virtualclusterinstances/kubeconfig"] },
];

const projectUserRules = (names: PlatformNames): readonly JsonObject[] => [
  ...projectReaderRules(names),
  { verbs: ["use"], apiGroups: [names.managementGroup], resources: ["projects"] },
];

const projectAdminRules = (names: PlatformNames): readonly JsonObject[] => [
  ...projectUserRules(names),
  { verbs: ["update", "patch"], apiGroups: [names.managementGroup], resources: ["projects"] },
  { verbs: WRITE, apiGroups: [names.managementGroup], resources: INSTANCES },
  // Asked by the original command line before it creates one without a template.
  { verbs: ["create"], apiGroups: [names.managementGroup], resources: RESTRICTED },
  { verbs: [...READ, ...WRITE, "use"], apiGroups: [names.managementGroup], resources: ["projectsecrets"] },
  { verbs: [...READ, ...WRITE], apiGroups: [names.managementGroup], resources: ["trustrules", "kubeconfiggenerators"] },
  { verbs: ["create"], apiGroups: [names.managementGroup], resources: ["trustrules/test"] },
  { verbs: [...READ, ...WRITE, "approve"], apiGroups: [names.managementGroup], resources: ["accesspolicies"] },
  { verbs: ["get"], apiGroups: [names.managementGroup], resources: ["virtualclusterinstances/accesskey"] },
  {
    verbs: ["get", "create"],
    apiGroups: [names.managementGroup],
    resources: [
      "virtualclusterinstances/credentials",
      ...INSTANCES.map((resource) => `${resource}/certificateauthority`),
    ],
  },
  { verbs: ["create"], apiGroups: [names.managementGroup], resources: ["virtualclusterinstances/join"] },
  { verbs: [...READ, ...WRITE], apiGroups: [""], resources: ["secrets", "events"] },
  { verbs: [...READ, ...WRITE], apiGroups: [RBAC_GROUP], resources: ["roles", "rolebindings"] },
  { verbs: ["create"], apiGroups: ["authorization.k8s.io"], resources: ["localsubjectaccessreviews"] },
];

export const clusterRole = (name: string, rules: readonly JsonObject[]): KubeObject => ({
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: "ClusterRole",
  metadata: { name },
  rules,
});

const groupBinding = (role: string, group: string): KubeObject => ({
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: "ClusterRoleBinding",
  metadata: { name: role },
  subjects: [{ kind: "Group", apiGroup: RBAC_GROUP, name: group }],
  roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
});
