// LocalSubjectAccessReviews: may that user, in this namespace? So that the right to ask can be given per namespace.
// Source: k8s.io/kubernetes/pkg/registry/authorization/localsubjectaccessreview/rest.go

import type { Authorizer } from "../../authorization/authorizer.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { defineSubjectReview } from "./subject-review-resource.ts";
import { validateLocalReview } from "./validate-review.ts";

export const localSubjectAccessReviews = ({ authorizer }: { readonly authorizer: Authorizer }): ResourceDefinition =>
  defineSubjectReview({
    kind: "LocalSubjectAccessReview",
    plural: "localsubjectaccessreviews",
    singular: "localsubjectaccessreview",
    namespaced: true,
    description:
      "LocalSubjectAccessReview checks whether or not a user or group can perform an action in a given namespace.",
    authorizer,
    validate: validateLocalReview,
  });
