// SubjectAccessReviews: may that user?
// Source: k8s.io/kubernetes/pkg/registry/authorization/subjectaccessreview/rest.go

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
import { refuseInvalidReview, validateReviewMeta, validateSubjectReview } from "./validate-review.ts";

const fields = s
  .object({ spec: subjectReviewSpec.describe("The request, and who would make it."), status: reviewStatus })
  .describe("Asks whether a user may do something.");
type SubjectAccessReview = KindOf<typeof fields>;

export const subjectAccessReviews = ({ authorizer }: { readonly authorizer: Authorizer }): ResourceDefinition =>
  defineBuiltin({
    group: AUTHORIZATION_GROUP,
    version: "v1",
    kind: "SubjectAccessReview",
    plural: "subjectaccessreviews",
    singular: "subjectaccessreview",
    namespaced: false,
    schema: kindSchema(fields.schema),
    async submit(_context, body) {
      // The schema has checked the shape.
      const { spec = {} } = body as SubjectAccessReview;
      refuseInvalidReview([...validateSubjectReview(spec), ...validateReviewMeta(body, false)]);
      return answeredReview(body, await reviewStatusOf(authorizer, attributesOf(spec, reviewedUser(spec))));
    },
  });
