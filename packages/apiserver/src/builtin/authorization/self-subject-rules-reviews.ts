// SelfSubjectRulesReviews: what may I do here? For showing, not for deciding.
// Source: k8s.io/kubernetes/pkg/registry/authorization/selfsubjectrulesreview/rest.go

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { ResourceRule, RuleResolver } from "../../authorization/authorizer.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { answeredReview } from "../answered-review.ts";
import { defineBuiltin } from "../builtin-resource.ts";
import { AUTHORIZATION_GROUP } from "./review-fields.ts";

const resourceRule = s.object({
  verbs: s.list(s.string()).required().describe("What may be done; * is everything."),
  apiGroups: s.list(s.string()).describe("The API groups; * is all of them."),
  resources: s.list(s.string()).describe("The resources; * is all of them."),
  resourceNames: s.list(s.string()).describe("The names it is limited to. Absent means every name."),
});

const nonResourceRule = s.object({
  verbs: s.list(s.string()).required().describe("What may be done; * is everything."),
  nonResourceURLs: s.list(s.string()).describe("The paths; * at the end stands for any rest."),
});

const fields = s
  .object({
    spec: s
      .object({ namespace: s.string().describe("The namespace that is asked about. Required.") })
      .describe("The request."),
    status: s
      .object({
        resourceRules: s.list(resourceRule).required().describe("What may be done with resources, in no order."),
        nonResourceRules: s
          .list(nonResourceRule)
          .required()
          .describe("What may be done with other paths, in no order."),
        incomplete: s.boolean().required().describe("True when there may be more than is listed."),
        evaluationError: s.string().describe("What went wrong while the list was made, if something did."),
      })
      .describe("The answer. Set by the server."),
  })
  .describe("Asks for all that the caller may do in a namespace.");
type SelfSubjectRulesReview = KindOf<typeof fields>;

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
    singular: "selfsubjectrulesreview",
    namespaced: false,
    schema: kindSchema(fields.schema),
    async submit({ user, credential, outerAuthorizer }, body) {
      // The schema has checked the shape.
      const { namespace = "" } = (body as SelfSubjectRulesReview).spec ?? {};
      if (namespace === "") throw badRequestError("no namespace on request");
      const held = await ruleResolver.rulesFor(user, namespace, credential);
      const told = outerAuthorizer === undefined ? held : outerAuthorizer.narrowRules(held, namespace);
      const { resourceRules, nonResourceRules, incomplete, evaluationError } = told;
      const status = {
        resourceRules: resourceRules.map(withoutEmptyNames),
        nonResourceRules,
        incomplete,
        ...(evaluationError === undefined ? {} : { evaluationError }),
      };
      return answeredReview({ ...body, metadata: {}, spec: {} }, status);
    },
  });

const withoutEmptyNames = ({ resourceNames = [], ...rule }: ResourceRule): ResourceRule =>
  resourceNames.length === 0 ? rule : { ...rule, resourceNames };
