// The fields of ValidatingAdmissionPolicies and their bindings.
// Source: k8s.io/api/admissionregistration/v1/types.go

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../builtin/builtin-resource.ts";
import { conditionFields } from "../builtin/condition-fields.ts";
import { labelSelector } from "../builtin/rbac/rbac-fields.ts";

export const ADMISSION_GROUP = "admissionregistration.k8s.io";

const ruleFields = s.object(
  {
    resourceNames: s.list(s.string()).describe("Names of objects. Absent: all."),
    operations: s.list(s.string()).describe("CREATE, UPDATE, DELETE, CONNECT or *."),
    apiGroups: s.list(s.string()).describe("API groups, or *."),
    apiVersions: s.list(s.string()).describe("Versions, or *."),
    resources: s.list(s.string()).describe("Resources, such as pods, pods/status, */scale or *."),
    scope: s.string().describe("Cluster, Namespaced or *. Absent: *."),
  },
  { atomic: true },
);

const matchFields = s.object(
  {
    namespaceSelector: labelSelector.describe("Labels of the namespace."),
    objectSelector: labelSelector.describe("Labels of the object, or of the one before it."),
    resourceRules: s.list(ruleFields).describe("What it is about: one of these."),
    excludeResourceRules: s.list(ruleFields).describe("What it is not about: none of these."),
    matchPolicy: s
      .string()
      .describe(
        "Exact or Equivalent: whether requests in other versions of what the rules name are judged, too, as objects of the version that they name.",
      ),
  },
  { atomic: true },
);

const named = (what: string) =>
  s.object({
    name: s.string().required().describe("Its name."),
    expression: s.string().required().describe(what),
  });

export const policyFields = s
  .object({
    spec: s
      .object({
        paramKind: s
          .object(
            {
              apiVersion: s.string().describe("Group and version of the parameters."),
              kind: s.string().describe("Kind of the parameters."),
            },
            { atomic: true },
          )
          .describe("What bindings bring along as params."),
        matchConstraints: matchFields.describe("Which requests it is about."),
        validations: s
          .list(
            s.object({
              expression: s
                .string()
                .required()
                .describe(
                  "What has to hold, in CEL: of object, oldObject, request, params, namespaceObject and variables.",
                ),
              message: s.string().describe("What a refusal says."),
              reason: s
                .string()
                .describe("Unauthorized, Forbidden, Invalid or RequestEntityTooLarge. Absent: Invalid."),
              messageExpression: s.string().describe("What a refusal says, in CEL."),
            }),
          )
          .describe("What has to hold."),
        failurePolicy: s.string().describe("Fail or Ignore: what becomes of requests that cannot be judged."),
        auditAnnotations: s
          .list(
            s.object({
              key: s.string().required().describe("The key, below the name of the policy."),
              valueExpression: s.string().required().describe("The value, in CEL: a text, or null for none."),
            }),
          )
          .describe("What is written to the audit log."),
        matchConditions: mergedInPatches(
          s.listMap(named("What has to hold for a request to be judged, in CEL."), ["name"]),
          "name",
        ).describe("Which requests are judged; all must hold."),
        variables: mergedInPatches(s.listMap(named("The value, in CEL."), ["name"]), "name").describe(
          "Values that expressions name as variables.<name>.",
        ),
      })
      .describe("The policy."),
    status: s
      .object({
        observedGeneration: s.int64().describe("The generation that was last looked at."),
        typeChecking: s.anyObject().describe("What is suspicious in its expressions."),
        conditions: mergedInPatches(s.listMap(conditionFields, ["type"]), "type").describe("The state in words."),
      })
      .describe("The state of the policy."),
  })
  .describe("What requests must be like. It counts where a binding names it.");

export type Policy = KindOf<typeof policyFields>;
export type PolicySpec = NonNullable<Policy["spec"]>;
export type MatchResources = NonNullable<PolicySpec["matchConstraints"]>;
export type MatchRule = NonNullable<MatchResources["resourceRules"]>[number];

export const bindingFields = s
  .object({
    spec: s
      .object({
        policyName: s.string().describe("The policy."),
        paramRef: s
          .object(
            {
              name: s.string().describe("Name of the parameters."),
              namespace: s.string().describe("Their namespace. Absent: that of the request."),
              selector: labelSelector.describe("Labels of the parameters, in place of a name: each is asked."),
              parameterNotFoundAction: s.string().describe("Allow or Deny, where there are none."),
            },
            { atomic: true },
          )
          .describe("The parameters."),
        matchResources: matchFields.describe("Which of the policy's requests it is about."),
        validationActions: s
          .set(s.string())
          .describe("Deny, Warn and Audit: what becomes of requests that do not hold."),
      })
      .describe("The binding."),
  })
  .describe("Puts a policy into force.");

export type PolicyBinding = KindOf<typeof bindingFields>;
