// The fields that roles and bindings are made of.
// Source: k8s.io/api/rbac/v1/types.go

import { s } from "@postern/apimachinery/schema/builder";
import type { LabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { publishedField } from "../published/published-field.ts";

export const policyRule = s.object({
  verbs: s.list(s.string()),
  apiGroups: s.list(s.string()),
  resources: s.list(s.string()),
  resourceNames: s.list(s.string()),
  nonResourceURLs: s.list(s.string()),
});

export const policyRules = s.list(policyRule).nullable();

export const labelSelector = publishedField<LabelSelector>("LabelSelector");

const subject = s.object(
  {
    kind: s.string(),
    apiGroup: s.string(),
    name: s.string(),
    namespace: s.string(),
  },
  { atomic: true },
);

const roleRef = s.object(
  {
    apiGroup: s.string(),
    kind: s.string(),
    name: s.string(),
  },
  { atomic: true },
);

/** Of one of the two kinds. */
export const bindingFields = () =>
  s.object({
    subjects: s.list(subject),
    roleRef,
  });
