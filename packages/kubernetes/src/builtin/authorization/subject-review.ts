// The common parts of SubjectAccessReviews and LocalSubjectAccessReviews: a request, its user, and whether it is allowed.

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
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

export type SubjectAccessReviewDeps = {
  readonly authorizer: Authorizer;
  /** Whether this caller learns reasons, which name bindings in all namespaces. Default: every caller does, as in Kubernetes. */
  readonly showsReasons?: (asker: RequestContext) => boolean | Promise<boolean>;
};

type SubjectReviewResource = Pick<ResourceDefinition, "kind" | "plural" | "namespaced"> & {
  readonly description: string;
  readonly authorizer: Authorizer;
  readonly showsReasons?: SubjectAccessReviewDeps["showsReasons"];
  /** `namespace` is that of the path; empty if the path has none. */
  readonly validate: (spec: SubjectReviewSpec, namespace: string) => readonly FieldError[];
};

const fields = s.object({
  spec: subjectReviewSpec.describe("SubjectAccessReviewSpec is a description of the access request."),
  status: reviewStatus,
});

export const defineSubjectReview = ({
  description,
  authorizer,
  showsReasons = () => true,
  validate,
  ...naming
}: SubjectReviewResource): ResourceDefinition =>
  defineBuiltin({
    ...naming,
    group: AUTHORIZATION_GROUP,
    version: "v1",
    schema: kindSchema(fields.describe(description).schema),
    async submit(context, body) {
      // The schema has checked the shape.
      const { spec = {} } = body as KindOf<typeof fields>;
      refuseInvalidReview([...validate(spec, context.info.namespace), ...validateReviewMeta(body, naming)]);
      const { reason, ...status } = await reviewStatusOf(authorizer, attributesOf(spec, reviewedUser(spec)));
      const isShown = reason !== undefined && (await showsReasons(context));
      return reviewResponse(body, isShown ? { ...status, reason } : status);
    },
  });
