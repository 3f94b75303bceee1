// SelfSubjectAccessReviews: may I?
// Source: k8s.io/kubernetes/pkg/registry/authorization/selfsubjectaccessreview/rest.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Authorizer } from "../../authorization/authorizer.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { defineBuiltin } from "../builtin-resource.ts";
import { reviewResponse } from "../review-response.ts";
import { AUTHORIZATION_GROUP, attributesOf, questionFields, reviewStatus, reviewStatusOf } from "./review-fields.ts";
import { refuseInvalidReview, validateQuestion, validateReviewMeta } from "./validate-review.ts";

const fields = s
  .object({
    spec: s.object(questionFields).describe("SelfSubjectAccessReviewSpec is a description of the access request."),
    status: reviewStatus,
  })
  .describe("SelfSubjectAccessReview checks whether or the current user can perform an action.");
type SelfSubjectAccessReview = KindOf<typeof fields>;

export const selfSubjectAccessReviews = ({ authorizer }: { readonly authorizer: Authorizer }): ResourceDefinition =>
  defineBuiltin({
    group: AUTHORIZATION_GROUP,
    version: "v1",
    kind: "SelfSubjectAccessReview",
    plural: "selfsubjectaccessreviews",
    singular: "selfsubjectaccessreview",
    namespaced: false,
    schema: kindSchema(fields.schema),
    async submit({ user, credential, outerAuthorizer }, body) {
      // The schema has checked the shape.
      const { spec = {} } = body as SelfSubjectAccessReview;
      refuseInvalidReview([...validateQuestion(spec), ...validateReviewMeta(body, false)]);
      const question = attributesOf(spec, user, credential);
      // What would not get here is not allowed here, whatever RBAC says.
      const outside = outerAuthorizer && (await reviewStatusOf(outerAuthorizer, question));
      if (outside?.allowed === false) return reviewResponse(body, outside);
      return reviewResponse(body, await reviewStatusOf(authorizer, question));
    },
  });
