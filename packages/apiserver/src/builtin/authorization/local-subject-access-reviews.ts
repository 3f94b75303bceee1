// LocalSubjectAccessReviews: may that user, in this namespace? So that the right to ask can be given per namespace.
// Source: k8s.io/kubernetes/pkg/registry/authorization/localsubjectaccessreview/rest.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Authorizer } from "../../authorization/authorizer.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { answeredReview } from "../answered-review.ts";
import { defineBuiltin } from "../builtin-resource.ts";
import {
  AUTHORIZATION_GROUP,
  attributesOf,
  reviewedUser,
  reviewStatus,
  reviewStatusOf,
  subjectReviewSpec,
} from "./review-fields.ts";
import { refuseInvalidReview, validateLocalReview, validateReviewMeta } from "./validate-review.ts";

const fields = s
  .object({ spec: subjectReviewSpec.describe("The request, and who would make it."), status: reviewStatus })
  .describe("Asks whether a user may do something in the namespace of the review.");
type LocalSubjectAccessReview = KindOf<typeof fields>;

export const localSubjectAccessReviews = ({ authorizer }: { readonly authorizer: Authorizer }): ResourceDefinition =>
  defineBuiltin({
    group: AUTHORIZATION_GROUP,
    version: "v1",
    kind: "LocalSubjectAccessReview",
    plural: "localsubjectaccessreviews",
    singular: "localsubjectaccessreview",
    namespaced: true,
    schema: kindSchema(fields.schema),
    async submit({ info }, body) {
      // The schema has checked the shape.
      const { spec = {} } = body as LocalSubjectAccessReview;
      refuseInvalidReview([...validateLocalReview(spec, info.namespace), ...validateReviewMeta(body, true)]);
      return answeredReview(body, await reviewStatusOf(authorizer, attributesOf(spec, reviewedUser(spec))));
    },
  });
