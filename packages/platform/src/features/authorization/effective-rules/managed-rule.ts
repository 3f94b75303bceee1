// A rule about one object of the management group.

import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";

export const managed = (
  group: string,
  verbs: readonly string[],
  resources: readonly string[],
  name: string,
): PolicyRule => ({
  verbs,
  apiGroups: [group],
  resources,
  resourceNames: [name],
  nonResourceURLs: [],
});
