// The fields of access reviews, and how a review becomes a question to the authorizer.
// Source: k8s.io/api/authorization/v1/types.go, k8s.io/kubernetes/pkg/registry/authorization/util/helpers.go

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { Credential } from "../../authentication/authenticator.ts";
import type { UserInfo } from "../../authentication/user-info.ts";
import type { AuthorizationAttributes, Authorizer } from "../../authorization/authorizer.ts";

export const AUTHORIZATION_GROUP = "authorization.k8s.io";

const selectorRequirement = s.object({
  key: s.string().describe("The field or label."),
  operator: s.string().describe("In, NotIn, Exists or DoesNotExist."),
  values: s.list(s.string()).describe("The values for In and NotIn."),
});
export type SelectorRequirement = Infer<typeof selectorRequirement>;

const selectorAttributes = s.object({
  rawSelector: s.string().describe("The selector as the query of a request has it. Not together with requirements."),
  requirements: s.list(selectorRequirement).describe("The parsed selector; all must hold."),
});
export type SelectorAttributes = Infer<typeof selectorAttributes>;

const resourceAttributes = s.object({
  namespace: s
    .string()
    .describe("The namespace of the request; empty for cluster-scoped resources and all namespaces."),
  verb: s.string().describe("What is to be done, such as get or create; * is any verb."),
  group: s.string().describe("The API group of the resource; * is any group."),
  version: s.string().describe("The version of the API; * is any version."),
  resource: s.string().describe("The resource; * is any resource."),
  subresource: s.string().describe("The subresource, if one."),
  name: s.string().describe("The name of the object; empty is every name."),
  fieldSelector: selectorAttributes.describe("Which objects the request is limited to, by field."),
  labelSelector: selectorAttributes.describe("Which objects the request is limited to, by label."),
});
export type ResourceAttributes = Infer<typeof resourceAttributes>;

const nonResourceAttributes = s.object({
  path: s.string().describe("The path of the request."),
  verb: s.string().describe("The HTTP method in lower case."),
});
export type NonResourceAttributes = Infer<typeof nonResourceAttributes>;

/** What every access review asks. */
export const questionFields = {
  resourceAttributes: resourceAttributes.describe("A request for a resource. Exactly one of the two must be given."),
  nonResourceAttributes: nonResourceAttributes.describe("A request for a path outside the resources."),
};

export type Question = {
  readonly resourceAttributes?: ResourceAttributes;
  readonly nonResourceAttributes?: NonResourceAttributes;
};

export const subjectReviewSpec = s.object({
  ...questionFields,
  user: s.string().describe("Who would make the request. A user without groups is in no group."),
  groups: s.list(s.string()).describe("The groups that user is in."),
  uid: s.string().describe("The uid of that user."),
  extra: s.map(s.list(s.string())).describe("What else the authenticator would tell of that user."),
});
export type SubjectReviewSpec = Infer<typeof subjectReviewSpec>;

export const reviewStatus = s
  .object({
    allowed: s.boolean().required().describe("Whether the request would be let through."),
    denied: s.boolean().describe("Whether it is refused whatever another authorizer says."),
    reason: s.string().describe("Why, for people to read."),
    evaluationError: s.string().describe("What went wrong while deciding, if something did."),
  })
  .describe("The answer. Set by the server.");

export function attributesOf(
  { resourceAttributes: resource, nonResourceAttributes: nonResource }: Question,
  user: UserInfo,
  credential?: Credential,
): AuthorizationAttributes {
  return {
    user,
    credential,
    verb: resource?.verb ?? nonResource?.verb ?? "",
    isResourceRequest: resource !== undefined,
    apiGroup: resource?.group ?? "",
    apiVersion: resource?.version || "*",
    resource: resource?.resource ?? "",
    subresource: resource?.subresource ?? "",
    namespace: resource?.namespace ?? "",
    name: resource?.name ?? "",
    path: resource === undefined ? (nonResource?.path ?? "") : "",
  };
}

/** The status of a review: only what is not the default is written. */
export async function reviewStatusOf(
  authorizer: Authorizer,
  attributes: AuthorizationAttributes,
): Promise<Infer<typeof reviewStatus>> {
  const { verdict, reason } = await authorizer.authorize(attributes);
  return {
    allowed: verdict === "allow",
    ...(verdict === "deny" ? { denied: true } : {}),
    ...(reason === "" ? {} : { reason }),
  };
}

export const reviewedUser = ({ user = "", groups = [], uid, extra }: SubjectReviewSpec): UserInfo => ({
  name: user,
  groups,
  ...(uid === undefined ? {} : { uid }),
  ...(extra === undefined ? {} : { extra }),
});
