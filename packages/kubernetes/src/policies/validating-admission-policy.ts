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
    resourceNames: s
      .list(s.string())
      .describe(
        "ResourceNames is an optional list of names that the rule applies to. An empty set means that everything is allowed.",
      ),
    operations: s
      .list(s.string())
      .describe(
        "Operations is the operations the admission hook cares about - CREATE, UPDATE, DELETE, CONNECT or * for all of those operations and any future admission operations that are added.",
      ),
    apiGroups: s.list(s.string()).describe("APIGroups is the API groups the resources belong to. '*' is all groups."),
    apiVersions: s
      .list(s.string())
      .describe("APIVersions is the API versions the resources belong to. '*' is all versions."),
    resources: s
      .list(s.string())
      .describe("Resources is a list of resources this rule applies to, such as pods, pods/status, */scale or *."),
    scope: s
      .string()
      .describe(
        'scope specifies the scope of this rule. Valid values are "Cluster", "Namespaced", and "*". The default is "*".',
      ),
  },
  { atomic: true },
);

export const matchFields = s.object(
  {
    namespaceSelector: labelSelector.describe(
      "NamespaceSelector decides whether to run the admission control policy on an object based on whether the namespace for that object matches the selector.",
    ),
    objectSelector: labelSelector.describe(
      "ObjectSelector decides whether to run the validation based on if the object has matching labels. It is evaluated against both the oldObject and newObject.",
    ),
    resourceRules: s
      .list(ruleFields)
      .describe(
        "ResourceRules describes what operations on what resources/subresources the ValidatingAdmissionPolicy matches. The policy cares about an operation if it matches any Rule.",
      ),
    excludeResourceRules: s
      .list(ruleFields)
      .describe(
        "ExcludeResourceRules describes what operations on what resources/subresources the ValidatingAdmissionPolicy should not care about.",
      ),
    matchPolicy: s
      .string()
      .describe(
        'matchPolicy defines how the "MatchResources" list is used to match incoming requests. Allowed values are "Exact" or "Equivalent". Defaults to "Equivalent".',
      ),
  },
  { atomic: true },
);

export const namedExpression = (what: string) =>
  s.object({
    name: s.string().required().describe("Name of the variable or condition."),
    expression: s.string().required().describe(what),
  });

export const paramKindFields = s
  .object(
    {
      apiVersion: s
        .string()
        .describe('APIVersion is the API group version the resources belong to. In format of "group/version".'),
      kind: s.string().describe("Kind is the API kind the resources belong to."),
    },
    { atomic: true },
  )
  .describe(
    "ParamKind specifies the kind of resources used to parameterize this policy. If absent, there are no parameters for this policy.",
  );

export const paramRefFields = s
  .object(
    {
      name: s
        .string()
        .describe(
          "name is the name of the resource being referenced. One of name or selector must be set, but name and selector are mutually exclusive properties.",
        ),
      namespace: s
        .string()
        .describe("namespace is the namespace of the referenced resource. Defaults to the namespace of the request."),
      selector: labelSelector.describe(
        "selector can be used to match multiple param objects based on their labels. If multiple params are found, they are all evaluated with the policy expressions and the results are ANDed together.",
      ),
      parameterNotFoundAction: s
        .string()
        .describe(
          "parameterNotFoundAction controls the behavior of the binding when the resource exists, and name or selector is valid, but there are no parameters matched by the binding. Allowed values are Allow or Deny.",
        ),
    },
    { atomic: true },
  )
  .describe("paramRef specifies the parameter resource used to configure the admission control policy.");

export const failurePolicyField = s
  .string()
  .describe(
    "failurePolicy defines how to handle failures for the admission policy. Allowed values are Ignore or Fail. Defaults to Fail.",
  );

export const matchConditionsField = mergedInPatches(
  s.listMap(
    namedExpression("Expression represents the expression which will be evaluated by CEL. Must evaluate to bool."),
    ["name"],
  ),
  "name",
);

export const policyFields = s
  .object({
    spec: s
      .object({
        paramKind: paramKindFields,
        matchConstraints: matchFields.describe(
          "MatchConstraints specifies what resources this policy is designed to validate.",
        ),
        validations: s
          .list(
            s.object({
              expression: s
                .string()
                .required()
                .describe(
                  "Expression represents the expression which will be evaluated by CEL. It can use the variables object, oldObject, request, params, namespaceObject, variables and authorizer.",
                ),
              message: s.string().describe("Message represents the message displayed when validation fails."),
              reason: s
                .string()
                .describe(
                  "Reason represents a machine-readable description of why this validation failed. Unauthorized, Forbidden, Invalid or RequestEntityTooLarge. Defaults to Invalid.",
                ),
              messageExpression: s
                .string()
                .describe(
                  "messageExpression declares a CEL expression that evaluates to the validation failure message that is returned when this rule fails.",
                ),
            }),
          )
          .describe("Validations contain CEL expressions which are used to apply the validation."),
        failurePolicy: failurePolicyField,
        auditAnnotations: s
          .list(
            s.object({
              key: s
                .string()
                .required()
                .describe("key specifies the audit annotation key. It is appended to the name of the policy."),
              valueExpression: s
                .string()
                .required()
                .describe(
                  "valueExpression represents the expression which is evaluated by CEL to produce an audit annotation value. It must evaluate to either a string or null.",
                ),
            }),
          )
          .describe(
            "auditAnnotations contains CEL expressions which are used to produce audit annotations for the audit event of the API request.",
          ),
        matchConditions: matchConditionsField.describe(
          "MatchConditions is a list of conditions that must be met for a request to be validated.",
        ),
        variables: mergedInPatches(
          s.listMap(
            namedExpression("Expression is the expression that will be evaluated as the value of the variable."),
            ["name"],
          ),
          "name",
        ).describe(
          "Variables contain definitions of variables that can be used in composition of other expressions, as variables.<name>.",
        ),
      })
      .describe("Specification of the desired behavior of the ValidatingAdmissionPolicy."),
    status: s
      .object({
        observedGeneration: s.int64().describe("The generation observed by the controller."),
        typeChecking: s
          .object({
            expressionWarnings: s
              .list(
                s.object({
                  fieldRef: s.string().describe("The path to the field that refers to the expression."),
                  warning: s.string().describe("The content of type checking information in a human readable form."),
                }),
              )
              .describe("The type checking warnings for each expression."),
          })
          .describe("The results of type checking for each expression."),
        conditions: mergedInPatches(s.listMap(conditionFields("observedGeneration"), ["type"]), "type").describe(
          "The conditions represent the latest available observations of a policy's current state.",
        ),
      })
      .describe(
        "The status of the ValidatingAdmissionPolicy, including warnings that are useful to determine if the policy behaves in the expected way. Populated by the system. Read-only.",
      ),
  })
  .describe(
    "ValidatingAdmissionPolicy describes the definition of an admission validation policy that accepts or rejects an object without changing it.",
  );

export type Policy = KindOf<typeof policyFields>;
export type PolicySpec = NonNullable<Policy["spec"]>;
export type MatchResources = NonNullable<PolicySpec["matchConstraints"]>;
export type MatchRule = NonNullable<MatchResources["resourceRules"]>[number];

export const bindingFields = s
  .object({
    spec: s
      .object({
        policyName: s
          .string()
          .describe(
            "PolicyName references a ValidatingAdmissionPolicy name which the ValidatingAdmissionPolicyBinding binds to.",
          ),
        paramRef: paramRefFields,
        matchResources: matchFields.describe(
          "MatchResources declares what resources match this binding and will be validated by it.",
        ),
        validationActions: s
          .set(s.string())
          .describe(
            "validationActions declares how Validations of the referenced ValidatingAdmissionPolicy are enforced. Supported values are Deny, Warn and Audit.",
          ),
      })
      .describe("Specification of the desired behavior of the ValidatingAdmissionPolicyBinding."),
  })
  .describe("ValidatingAdmissionPolicyBinding binds the ValidatingAdmissionPolicy with parameterized resources.");

export type PolicyBinding = KindOf<typeof bindingFields>;
