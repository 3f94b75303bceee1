// SelfSubjectReviews: who am I?
// Source: k8s.io/kubernetes/pkg/registry/authentication/selfsubjectreview/rest.go

import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { defineBuiltin } from "../builtin-resource.ts";
import { reviewResponse } from "../review-response.ts";
import { AUTHENTICATION_GROUP, userInfoFields, userInfoOf } from "./user-info-fields.ts";

const fields = s.object({
  status: s.object({
    userInfo: userInfoFields,
  }),
});

export const selfSubjectReviews: ResourceDefinition = defineBuiltin({
  group: AUTHENTICATION_GROUP,
  version: "v1",
  kind: "SelfSubjectReview",
  plural: "selfsubjectreviews",
  namespaced: false,
  schema: kindSchema(fields.schema),
  submit: async ({ user, receivedAt }, body) =>
    reviewResponse({ ...body, metadata: {} }, { userInfo: userInfoOf(user) }, formatTimestamp(receivedAt)),
});
