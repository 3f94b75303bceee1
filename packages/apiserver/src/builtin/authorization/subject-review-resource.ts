// What SubjectAccessReviews and LocalSubjectAccessReviews have in common: a request, who would make it, and whether that may be.

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import type { Authorizer } from "../../authorization/authorizer.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { defineBuiltin } from "../builtin-resource.ts";
import { reviewResponse } from "../review-response.ts";
import {
  AUTHORIZATION_GROUP,
  attributesOf,
  reviewedUser,
  reviewStatus,
  reviewStatusOf,
  type SubjectReviewSpec,
  subjectReviewSpec,
} from "./review-fields.ts";
import { refuseInvalidReview, validateReviewMeta } from "./validate-review.ts";

type SubjectReviewResource = Pick<ResourceDefinition, "kind" | "plural" | "singular" | "namespaced"> & {
  readonly description: string;
  readonly authorizer: Authorizer;
  /** `namespace` is that of the path, empty where there is none. */
  readonly validate: (spec: SubjectReviewSpec, namespace: string) => readonly FieldError[];
};

const fields = s.object({
  spec: subjectReviewSpec.describe("SubjectAccessReviewSpec is a description of the access request."),
  status: reviewStatus,
});

export const defineSubjectReview = ({
  description,
  authorizer,
  validate,
  ...naming
}: SubjectReviewResource): ResourceDefinition =>
  defineBuiltin({
    ...naming,
    group: AUTHORIZATION_GROUP,
    version: "v1",
    schema: kindSchema(fields.describe(description).schema),
    async submit({ info }, body) {
      // The schema has checked the shape.
      const { spec = {} } = body as KindOf<typeof fields>;
      refuseInvalidReview([...validate(spec, info.namespace), ...validateReviewMeta(body, naming.namespaced)]);
      return reviewResponse(body, await reviewStatusOf(authorizer, attributesOf(spec, reviewedUser(spec))));
    },
  });
