// The fields that roles and bindings are made of.
// Source: k8s.io/api/rbac/v1/types.go

import { s } from "@postern/apimachinery/schema/builder";
import { selectorRequirement } from "../selector-requirement.ts";

export const policyRule = s.object({
  verbs: s
    .list(s.string())
    .describe(
      "Verbs is a list of Verbs that apply to ALL the ResourceKinds contained in this rule. '*' represents all verbs.",
    ),
  apiGroups: s.list(s.string()).describe("APIGroups is the name of the APIGroup that contains the resources."),
  resources: s
    .list(s.string())
    .describe("Resources is a list of resources this rule applies to. '*' represents all resources."),
  resourceNames: s
    .list(s.string())
    .describe(
      "ResourceNames is an optional white list of names that the rule applies to. An empty set means that everything is allowed.",
    ),
  nonResourceURLs: s
    .list(s.string())
    .describe("NonResourceURLs is a set of partial urls that a user should have access to."),
});

export const policyRules = s.list(policyRule).nullable().describe("Rules holds all the PolicyRules of the role.");

const labelRequirement = selectorRequirement("key is the label key that the selector applies to.");

export const labelSelector = s.object(
  {
    matchLabels: s.map(s.string()).describe("matchLabels is a map of {key,value} pairs."),
    matchExpressions: s
      .list(labelRequirement)
      .describe("matchExpressions is a list of label selector requirements. The requirements are ANDed."),
  },
  { atomic: true },
);

const subject = s.object(
  {
    kind: s
      .string()
      .describe(
        'Kind of object being referenced. Values defined by this API group are "User", "Group", and "ServiceAccount".',
      ),
    apiGroup: s
      .string()
      .describe('APIGroup holds the API group of the referenced subject. Defaults to "" for ServiceAccount subjects.'),
    name: s.string().describe("Name of the object being referenced."),
    namespace: s.string().describe("Namespace of the referenced object."),
  },
  { atomic: true },
);

const roleRef = s.object(
  {
    apiGroup: s.string().describe("APIGroup is the group for the resource being referenced"),
    kind: s.string().describe("Kind is the type of resource being referenced"),
    name: s.string().describe("Name is the name of resource being referenced"),
  },
  { atomic: true },
);

export const bindingFields = s.object({
  subjects: s.list(subject).describe("Subjects holds references to the objects the role applies to."),
  roleRef: roleRef.describe("RoleRef contains information that points to the role being used"),
});
