// SelfSubjectAccessReviews in the platform's own group, where existing clients ask: the review that Kubernetes has, under another name.

import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import { selfSubjectAccessReviews } from "@postern/apiserver/builtin/authorization/self-subject-access-reviews";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { PlatformNames } from "../platform-names.ts";

export const ownSelfSubjectAccessReviews = (dependencies: {
  readonly names: Pick<PlatformNames, "managementGroup">;
  readonly authorizer: Authorizer;
}): ResourceDefinition => ({
  ...selfSubjectAccessReviews(dependencies),
  group: dependencies.names.managementGroup,
});
