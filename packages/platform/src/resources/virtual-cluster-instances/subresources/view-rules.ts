// What a kubeconfig that only reads opens by its token: what the ClusterRole view of Kubernetes has, in which there are no Secrets.
// Source: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go (viewRules)

import type { AccessKeySpec } from "../../../api/owned-access-key.ts";

const CORE = [
  ...["configmaps", "endpoints", "events", "limitranges", "persistentvolumeclaims", "pods", "replicationcontrollers"],
  ...["resourcequotas", "serviceaccounts", "services", "namespaces", "bindings"],
  ...["namespaces/status", "persistentvolumeclaims/status", "pods/log", "pods/status", "replicationcontrollers/scale"],
  ...["replicationcontrollers/status", "resourcequotas/status", "services/status"],
];
const GROUPS = ["apps", "autoscaling", "batch", "discovery.k8s.io", "events.k8s.io", "networking.k8s.io", "policy"];
const INSIDE = { requestTargets: ["ProjectVirtualCluster"] as const };

/** For `spec.rules` of the key. Each group stands for itself: those of custom resources may hold anything. */
export const VIEW_RULES: NonNullable<AccessKeySpec["rules"]> = [
  {
    ...INSIDE,
    verbs: ["get", "list", "watch"],
    resources: [{ group: "", resources: CORE }, ...GROUPS.map((group) => ({ group }))],
  },
  {
    ...INSIDE,
    verbs: ["create"],
    resources: [{ group: "authorization.k8s.io", resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"] }],
  },
  { ...INSIDE, verbs: ["get", "head"], nonResourceURLs: ["/*"] },
];
