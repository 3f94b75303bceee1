// The fields of access reviews, and how a review becomes a question to the authorizer. They have descriptions for kinds of other groups that ask as well.
// Source: k8s.io/api/authorization/v1/types.go, k8s.io/kubernetes/pkg/registry/authorization/util/helpers.go

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { Credential } from "@postern/apiserver/authentication/authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { AuthorizationAttributes, Authorizer } from "@postern/apiserver/authorization/authorizer";

export const AUTHORIZATION_GROUP = "authorization.k8s.io";

const fieldRequirement = s.object({
  key: s.string().describe("Field or label key that the requirement applies to."),
  operator: s
    .string()
    .describe(
      "operator represents a key's relationship to a set of values. Valid operators are In, NotIn, Exists and DoesNotExist.",
    ),
  values: s
    .list(s.string())
    .describe(
      "values is an array of string values. If the operator is In or NotIn, the values array must be non-empty.",
    ),
});
export type SelectorRequirement = Infer<typeof fieldRequirement>;

const selectorAttributes = s.object({
  rawSelector: s
    .string()
    .describe("rawSelector is the serialization of a field selector that would be included in a query parameter."),
  requirements: s
    .list(fieldRequirement)
    .describe("Parsed interpretation of the selector. All requirements must be met."),
});
export type SelectorAttributes = Infer<typeof selectorAttributes>;

const resourceAttributes = s.object({
  namespace: s.string().describe("Namespace is the namespace of the action being requested."),
  verb: s
    .string()
    .describe(
      'Verb is a kubernetes resource API verb, like: get, list, watch, create, update, delete, proxy. "*" means all.',
    ),
  group: s.string().describe('Group is the API Group of the Resource. "*" means all.'),
  version: s.string().describe('Version is the API Version of the Resource. "*" means all.'),
  resource: s.string().describe('Resource is one of the existing resource types. "*" means all.'),
  subresource: s.string().describe('Subresource is one of the existing resource types. "" means none.'),
  name: s
    .string()
    .describe(
      'Name is the name of the resource being requested for a "get" or deleted for a "delete". "" (empty) means all.',
    ),
  fieldSelector: selectorAttributes.describe("FieldSelectorAttributes indicates a field limited access."),
  labelSelector: selectorAttributes.describe("LabelSelectorAttributes indicates a label limited access."),
});
export type ResourceAttributes = Infer<typeof resourceAttributes>;

const nonResourceAttributes = s.object({
  path: s.string().describe("Path is the URL path of the request"),
  verb: s.string().describe("Verb is the standard HTTP verb"),
});
export type NonResourceAttributes = Infer<typeof nonResourceAttributes>;

/** The question of every access review. */
export const questionFields = {
  resourceAttributes: resourceAttributes.describe(
    "ResourceAttributes includes the authorization attributes available for resource requests to the Authorizer interface",
  ),
  nonResourceAttributes: nonResourceAttributes.describe(
    "NonResourceAttributes includes the authorization attributes available for non-resource requests to the Authorizer interface",
  ),
};

export type Question = {
  readonly resourceAttributes?: ResourceAttributes;
  readonly nonResourceAttributes?: NonResourceAttributes;
};

export const subjectReviewSpec = s.object({
  ...questionFields,
  user: s.string().describe("User is the user you're testing for."),
  groups: s.list(s.string()).describe("Groups is the groups you're testing for."),
  uid: s.string().describe("UID information about the requesting user."),
  extra: s
    .map(s.list(s.string()))
    .describe("Extra corresponds to the user.Info.GetExtra() method from the authenticator."),
});
export type SubjectReviewSpec = Infer<typeof subjectReviewSpec>;

export const reviewStatus = s
  .object({
    allowed: s
      .boolean()
      .required()
      .describe("Allowed is required. True if the action would be allowed, false otherwise."),
    denied: s.boolean().describe("Denied is optional. True if the action would be denied, otherwise false."),
    reason: s.string().describe("Reason is optional. It indicates why a request was allowed or denied."),
    evaluationError: s
      .string()
      .describe("EvaluationError is an indication that some error occurred during the authorization check."),
  })
  .describe("SubjectAccessReviewStatus");

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

/** The status of a review, without default values. */
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
