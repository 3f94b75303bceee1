// SubjectAccessReviews: may that user?
// Source: k8s.io/kubernetes/pkg/registry/authorization/subjectaccessreview/rest.go

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
  questionFields,
  reviewedUser,
  reviewStatus,
  reviewStatusOf,
  type SubjectReviewSpec,
  subjectReviewSpec,
} from "./review-fields.ts";
import {
  refuseInvalidReview,
  validateLocalReview,
  validateQuestion,
  validateReviewMeta,
  validateSubjectReview,
} from "./validate-review.ts";

export type SubjectAccessReviewDeps = {
  readonly authorizer: Authorizer;
  /** Whether this caller learns reasons, which name bindings in all namespaces. Default: every caller does, as in Kubernetes. */
  readonly showsReasons?: (asker: RequestContext) => boolean | Promise<boolean>;
};

export const subjectAccessReviews = ({ authorizer, showsReasons }: SubjectAccessReviewDeps): ResourceDefinition =>
  defineSubjectReview({
    kind: "SubjectAccessReview",
    plural: "subjectaccessreviews",
    singular: "subjectaccessreview",
    namespaced: false,
    description: "SubjectAccessReview checks whether or not a user or group can perform an action.",
    authorizer,
    showsReasons,
    validate: validateSubjectReview,
  });

// Common parts of SubjectAccessReviews and LocalSubjectAccessReviews: a request, its user, and whether it is allowed.

type SubjectReviewResource = Pick<ResourceDefinition, "kind" | "plural" | "singular" | "namespaced"> & {
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
      refuseInvalidReview([...validate(spec, context.info.namespace), ...validateReviewMeta(body, naming.namespaced)]);
      const { reason, ...status } = await reviewStatusOf(authorizer, attributesOf(spec, reviewedUser(spec)));
      const isShown = reason !== undefined && (await showsReasons(context));
      return reviewResponse(body, isShown ? { ...status, reason } : status);
    },
  });

// LocalSubjectAccessReviews: may that user, in this namespace? So that the right to ask can be given per namespace.
// Source: k8s.io/kubernetes/pkg/registry/authorization/localsubjectaccessreview/rest.go

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
    singular: "selfsubjectaccessreview",
    namespaced: false,
    schema: kindSchema(selfFields.schema),
    async submit({ user, credential, outerAuthorizer }, body) {
      // The schema has checked the shape.
      const { spec = {} } = body as SelfSubjectAccessReview;
      refuseInvalidReview([...validateQuestion(spec), ...validateReviewMeta(body, false)]);
      const question = attributesOf(spec, user, credential);
      // A request that the outer surface refuses would not get here, so it is not allowed, whatever RBAC says.
      const outside = outerAuthorizer && (await reviewStatusOf(outerAuthorizer, question));
      if (outside?.allowed === false) return reviewResponse(body, outside);
      return reviewResponse(body, await reviewStatusOf(authorizer, question));
    },
  });
