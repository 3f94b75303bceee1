// The rules of an access key that only reads.

import type { AccessKeySpec } from "@postern/api/owned-access-key";
import { settings } from "../../settings.ts";

const INSIDE = ["Cluster", "ProjectSpace", "ProjectVirtualCluster"] as const;
const READ = ["get", "list", "watch"];
const CORE = [
  ...["configmaps", "endpoints", "events", "limitranges", "namespaces", "persistentvolumeclaims", "pods", "pods/log"],
  ...["replicationcontrollers", "resourcequotas", "serviceaccounts", "services"],
];
const GROUPS = ["apps", "autoscaling", "batch", "discovery.k8s.io", "events.k8s.io", "networking.k8s.io", "policy"];

/**
 * `spec.rules` of a key that reads: what the role view of Kubernetes has, without Secrets, as their tokens could write. Kubeconfigs that are made with the
 * key have the same rules.
 */
export const readOnlyRules = (): NonNullable<AccessKeySpec["rules"]> => [
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
