// SubjectAccessReviews: may that user?
// Source: k8s.io/kubernetes/pkg/registry/authorization/subjectaccessreview/rest.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { defineBuiltin } from "../builtin-resource.ts";
import { reviewResponse } from "../review-response.ts";
import { AUTHORIZATION_GROUP, attributesOf, questionFields, reviewStatus, reviewStatusOf } from "./review-fields.ts";
import { defineSubjectReview, type SubjectAccessReviewDeps } from "./subject-review.ts";
import {
  refuseInvalidReview,
  validateLocalReview,
  validateQuestion,
  validateReviewMeta,
  validateSubjectReview,
} from "./validate-review.ts";

export const subjectAccessReviews = ({ authorizer, showsReasons }: SubjectAccessReviewDeps): ResourceDefinition =>
  defineSubjectReview({
    kind: "SubjectAccessReview",
    plural: "subjectaccessreviews",
    namespaced: false,
    description: "SubjectAccessReview checks whether or not a user or group can perform an action.",
    authorizer,
    showsReasons,
    validate: validateSubjectReview,
  });

// LocalSubjectAccessReviews: may that user, in this namespace? So that the right to ask can be given per namespace.
// Source: k8s.io/kubernetes/pkg/registry/authorization/localsubjectaccessreview/rest.go

export const localSubjectAccessReviews = ({ authorizer }: { readonly authorizer: Authorizer }): ResourceDefinition =>
  defineSubjectReview({
    kind: "LocalSubjectAccessReview",
    plural: "localsubjectaccessreviews",
    namespaced: true,
    description:
      "LocalSubjectAccessReview checks whether or not a user or group can perform an action in a given namespace.",
    authorizer,
    validate: validateLocalReview,
  });

// SelfSubjectAccessReviews: may I?
// Source: k8s.io/kubernetes/pkg/registry/authorization/selfsubjectaccessreview/rest.go

const selfFields = s
  .object({
    spec: s.object(questionFields).describe("SelfSubjectAccessReviewSpec is a description of the access request."),
    status: reviewStatus,
  })
  .describe("SelfSubjectAccessReview checks whether or the current user can perform an action.");
type SelfSubjectAccessReview = KindOf<typeof selfFields>;

export const selfSubjectAccessReviews = ({ authorizer }: { readonly authorizer: Authorizer }): ResourceDefinition =>
  defineBuiltin({
    group: AUTHORIZATION_GROUP,
    version: "v1",
    kind: "SelfSubjectAccessReview",
    plural: "selfsubjectaccessreviews",
    namespaced: false,
    schema: kindSchema(selfFields.schema),
    async submit({ user, credential, outerAuthorizer }, body) {
      // The schema has checked the shape.
      const { spec = {} } = body as SelfSubjectAccessReview;
      refuseInvalidReview([...validateQuestion(spec), ...validateReviewMeta(body, { namespaced: false })]);
      const question = attributesOf(spec, user, credential);
      // A request that the outer surface refuses would not get here, so it is not allowed, whatever RBAC says.
      const outside = outerAuthorizer && (await reviewStatusOf(outerAuthorizer, question));
      if (outside?.allowed === false) return reviewResponse(body, outside);
      return reviewResponse(body, await reviewStatusOf(authorizer, question));
    },
  });
