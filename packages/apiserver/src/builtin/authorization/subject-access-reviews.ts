// SubjectAccessReviews: may that user?
// Source: k8s.io/kubernetes/pkg/registry/authorization/subjectaccessreview/rest.go

import type { Authorizer } from "../../authorization/authorizer.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { defineSubjectReview } from "./subject-review-resource.ts";
import { validateSubjectReview } from "./validate-review.ts";

export const subjectAccessReviews = ({ authorizer }: { readonly authorizer: Authorizer }): ResourceDefinition =>
  defineSubjectReview({
    kind: "SubjectAccessReview",
    plural: "subjectaccessreviews",
    singular: "subjectaccessreview",
    namespaced: false,
    description: "SubjectAccessReview checks whether or not a user or group can perform an action.",
    authorizer,
    validate: validateSubjectReview,
  });
