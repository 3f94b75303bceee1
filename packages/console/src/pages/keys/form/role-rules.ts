// The rules of an access key that reads, or that deploys: as the roles view and edit of Kubernetes, inside the clusters of its scope.

import type { AccessKeySpec } from "@postern/api/owned-access-key";
import { settings } from "../../../settings.ts";

const INSIDE = ["Cluster", "ProjectSpace", "ProjectVirtualCluster"] as const;
const READ = ["get", "list", "watch"];
const WRITE = ["create", "update", "patch", "delete", "deletecollection"];
const CORE = [
  ...["configmaps", "endpoints", "events", "limitranges", "namespaces", "persistentvolumeclaims", "pods", "pods/log"],
  ...["replicationcontrollers", "resourcequotas", "serviceaccounts", "services"],
];
const GROUPS = ["apps", "autoscaling", "batch", "discovery.k8s.io", "events.k8s.io", "networking.k8s.io", "policy"];

/** The role edit writes these beside the groups. */
const WRITTEN_CORE = [
  ...["configmaps", "endpoints", "events", "persistentvolumeclaims", "pods", "pods/*", "replicationcontrollers"],
  ...["replicationcontrollers/*", "secrets", "serviceaccounts", "services", "services/proxy"],
];
const WRITTEN_GROUPS = [...GROUPS, "coordination.k8s.io"];

/** `owner`: all that the owner of the key may do. */
export const ROLES_INSIDE = ["owner", "edit", "view"] as const;
export type RoleInside = (typeof ROLES_INSIDE)[number];

/** `spec.rules` of a key; undefined for one without. Kubeconfigs that are made with the key have the same rules. */
export function rulesOf(role: RoleInside): NonNullable<AccessKeySpec["rules"]> | undefined {
  if (role === "owner") return undefined;
  return role === "edit" ? [...editRules(), ...viewRules()] : viewRules();
}

const editRules = (): NonNullable<AccessKeySpec["rules"]> => [
  {
    requestTargets: INSIDE,
    verbs: [...READ, ...WRITE],
    resources: [{ group: "", resources: WRITTEN_CORE }, ...WRITTEN_GROUPS.map((group) => ({ group }))],
  },
];

/** Without Secrets: as their tokens it could write. */
const viewRules = (): NonNullable<AccessKeySpec["rules"]> => [
  {
    requestTargets: INSIDE,
    verbs: READ,
    resources: [{ group: "", resources: CORE }, ...GROUPS.map((group) => ({ group }))],
  },
  {
    requestTargets: INSIDE,
    verbs: ["create"],
    resources: [{ group: "authorization.k8s.io", resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"] }],
  },
  {
    requestTargets: INSIDE,
    verbs: ["get", "head"],
    nonResourceURLs: ["/*"],
  },
  {
    requestTargets: ["Management"],
    verbs: READ,
    resources: [
      {
        group: settings.managementGroup,
        resources: ["projects", "virtualclusterinstances", "spaceinstances", "clusters"],
      },
    ],
  },
  {
    requestTargets: ["Management"],
    verbs: ["use"],
    resources: [{ group: settings.managementGroup, resources: ["virtualclusterinstances"] }],
  },
  {
    requestTargets: ["Management"],
    verbs: ["create"],
    resources: [{ group: settings.managementGroup, resources: ["virtualclusterinstances/kubeconfig"] }],
  },
];
