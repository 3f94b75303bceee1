// SelfSubjectRulesReviews: what may I do here? For showing, not for deciding.
// Source: k8s.io/kubernetes/pkg/registry/authorization/selfsubjectrulesreview/rest.go

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { RuleResolver } from "@postern/apiserver/authorization/authorizer";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { defineBuiltin } from "../builtin-resource.ts";
import { reviewResponse } from "../review-response.ts";
import { AUTHORIZATION_GROUP } from "./review-fields.ts";

const resourceRule = s.object({
  verbs: s.list(s.string()).required().describe("List of verbs. * means all."),
  apiGroups: s.list(s.string()).describe("APIGroups is the name of the APIGroup that contains the resources."),
  resources: s
    .list(s.string())
    .describe('Resources is a list of resources this rule applies to. "*" means all in the specified apiGroups.'),
  resourceNames: s
    .list(s.string())
    .describe(
      "ResourceNames is an optional white list of names that the rule applies to. An empty set means that everything is allowed.",
    ),
});

const nonResourceRule = s.object({
  verbs: s.list(s.string()).required().describe("List of verbs. * means all."),
  nonResourceURLs: s
    .list(s.string())
    .describe("NonResourceURLs is a set of partial urls that a user should have access to."),
});

const fields = s
  .object({
    spec: s
      .object({ namespace: s.string().describe("Namespace to evaluate rules for. Required.") })
      .describe("SelfSubjectRulesReviewSpec defines the specification for SelfSubjectRulesReview."),
    status: s
      .object({
        resourceRules: s
          .list(resourceRule)
          .required()
          .describe("ResourceRules is the list of actions the subject is allowed to perform on resources."),
        nonResourceRules: s
          .list(nonResourceRule)
          .required()
          .describe("NonResourceRules is the list of actions the subject is allowed to perform on non-resources."),
        incomplete: s
          .boolean()
          .required()
          .describe("Incomplete is true when the rules returned by this call are incomplete."),
        evaluationError: s.string().describe("EvaluationError can appear in combination with Rules."),
      })
      .describe("SubjectRulesReviewStatus contains the result of a rules check."),
  })
  .describe("SelfSubjectRulesReview enumerates the set of actions the current user can perform within a namespace.");
type SelfSubjectRulesReview = KindOf<typeof fields>;

/** The least size of a rule in the answer: a user may have tens of thousands of them. */
const RULE_BYTES = 64;

export const selfSubjectRulesReviews = ({
  ruleResolver,
}: {
  readonly ruleResolver: RuleResolver;
}): ResourceDefinition =>
  defineBuiltin({
    group: AUTHORIZATION_GROUP,
    version: "v1",
    kind: "SelfSubjectRulesReview",
    plural: "selfsubjectrulesreviews",
    namespaced: false,
    schema: kindSchema(fields.schema),
    async submit(context, body) {
      const { user, credential, outerAuthorizer } = context;
      // The schema has checked the shape.
      const { namespace = "" } = (body as SelfSubjectRulesReview).spec ?? {};
      if (namespace === "") throw badRequestError("no namespace on request");
      const held = await ruleResolver.rulesFor(user, namespace, credential, context);
      context.weigh((held.resourceRules.length + held.nonResourceRules.length) * RULE_BYTES);
      await context.pause();
      const told = outerAuthorizer === undefined ? held : await outerAuthorizer.narrowRules(held, namespace, context);
      const { resourceRules, nonResourceRules, incomplete, evaluationError } = told;
      const status = {
        resourceRules,
        nonResourceRules,
        incomplete,
        ...(evaluationError === undefined ? {} : { evaluationError }),
      };
      return reviewResponse({ ...body, metadata: {}, spec: {} }, status);
    },
  });
