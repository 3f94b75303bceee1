// The fields that roles and bindings are made of.
// Source: k8s.io/api/rbac/v1/types.go

import { s } from "@postern/apimachinery/schema/builder";

export const policyRule = s.object({
  verbs: s
    .list(s.string())
    .describe("What may be done: get, list, watch, create, update, patch, delete, …, or * for all."),
  apiGroups: s
    .list(s.string())
    .describe("The API groups of the resources; an empty text is the core group, * all groups."),
  resources: s
    .list(s.string())
    .describe("The resources, such as secrets, secrets/status or */status; * is every resource and subresource."),
  resourceNames: s
    .list(s.string())
    .describe("The names of the objects the rule is limited to. Absent means every object."),
  nonResourceURLs: s
    .list(s.string())
    .describe("Paths outside the resources, such as /healthz; * at the end stands for any rest. Cluster roles only."),
});

export const policyRules = s.list(policyRule).nullable().describe("What the role opens.");

const labelSelectorRequirement = s.object({
  key: s.string().describe("The label the requirement is about."),
  operator: s.string().describe("In, NotIn, Exists or DoesNotExist."),
  values: s.list(s.string()).describe("The values for In and NotIn; none for the others."),
});

export const labelSelector = s.object(
  {
    matchLabels: s.map(s.string()).describe("Labels and the values they must have."),
    matchExpressions: s.list(labelSelectorRequirement).describe("Further requirements; all must hold."),
  },
  { atomic: true },
);

const subject = s.object(
  {
    kind: s.string().describe("User, Group or ServiceAccount."),
    apiGroup: s
      .string()
      .describe("rbac.authorization.k8s.io for users and groups, empty for service accounts. Filled in when absent."),
    name: s.string().describe("The name of the user, group or service account."),
    namespace: s.string().describe("The namespace of the service account; for users and groups it must be empty."),
  },
  { atomic: true },
);

const roleRef = s.object(
  {
    apiGroup: s.string().describe("rbac.authorization.k8s.io. Filled in when absent."),
    kind: s.string().describe("Role or ClusterRole."),
    name: s.string().describe("The name of the role."),
  },
  { atomic: true },
);

export const bindingFields = s.object({
  subjects: s.list(subject).describe("Whom the role is given to."),
  roleRef: roleRef.describe("The role that is given. Cannot be changed: delete the binding and make another."),
});
