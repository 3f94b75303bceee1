// The fields of webhook configurations.
// Source: k8s.io/api/admissionregistration/v1/types.go

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../../builtin/builtin-resource.ts";
import { labelSelector } from "../../builtin/rbac/rbac-fields.ts";
import { webhookClientFields } from "../../webhooks/client-config.ts";

const ruleFields = s.object({
  operations: texts(
    "Operations is the operations the admission hook cares about - CREATE, UPDATE, DELETE, CONNECT or * for all of those operations and any future admission operations that are added.",
  ),
  apiGroups: texts("APIGroups is the API groups the resources belong to. '*' is all groups."),
  apiVersions: texts("APIVersions is the API versions the resources belong to. '*' is all versions."),
  resources: texts("Resources is a list of resources this rule applies to, such as pods, pods/status, */scale or *."),
  scope: s
    .string()
    .describe(
      'scope specifies the scope of this rule. Valid values are "Cluster", "Namespaced", and "*". The default is "*".',
    ),
});

function texts(what: string) {
  return s.list(s.string()).describe(what);
}

const COMMON = {
  name: s
    .string()
    .required()
    .describe("The name of the admission webhook. Name should be fully qualified, e.g., imagepolicy.kubernetes.io."),
  clientConfig: webhookClientFields.required().describe("ClientConfig defines how to communicate with the hook."),
  rules: s
    .list(ruleFields)
    .describe(
      "Rules describes what operations on what resources/subresources the webhook cares about. The webhook cares about an operation if it matches any Rule.",
    ),
  failurePolicy: s
    .string()
    .describe(
      "FailurePolicy defines how unrecognized errors from the admission endpoint are handled - allowed values are Ignore or Fail. Defaults to Fail.",
    ),
  matchPolicy: s
    .string()
    .describe(
      'matchPolicy defines how the "rules" list is used to match incoming requests. Allowed values are "Exact" or "Equivalent". Defaults to "Equivalent".',
    ),
  namespaceSelector: labelSelector.describe(
    "NamespaceSelector decides whether to run the webhook on an object based on whether the namespace for that object matches the selector.",
  ),
  objectSelector: labelSelector.describe(
    "ObjectSelector decides whether to run the webhook based on if the object has matching labels. It is evaluated against both the oldObject and newObject that would be sent to the webhook.",
  ),
  sideEffects: s
    .string()
    .describe("SideEffects states whether this webhook has side effects. Acceptable values are: None, NoneOnDryRun."),
  timeoutSeconds: s
    .int32()
    .describe(
      "TimeoutSeconds specifies the timeout for this webhook. The timeout value must be between 1 and 30 seconds. Default to 10 seconds.",
    ),
  admissionReviewVersions: s
    .list(s.string())
    .describe("AdmissionReviewVersions is an ordered list of preferred AdmissionReview versions the Webhook expects."),
  matchConditions: mergedInPatches(
    s.listMap(
      s.object({
        name: s
          .string()
          .required()
          .describe(
            "Name is an identifier for this match condition, used for strategic merging of MatchConditions, as well as providing an identifier for logging purposes.",
          ),
        expression: s
          .string()
          .required()
          .describe(
            "Expression represents the expression which will be evaluated by CEL. Must evaluate to bool. It can use the variables object, oldObject, request and authorizer.",
          ),
      }),
      ["name"],
    ),
    "name",
  ).describe("MatchConditions is a list of conditions that must be met for a request to be sent to this webhook."),
};

const ORDER = "Webhooks is a list of webhooks and the affected resources and operations.";

export const validatingFields = s
  .object({ webhooks: mergedInPatches(s.listMap(s.object(COMMON), ["name"]), "name").describe(ORDER) })
  .describe(
    "ValidatingWebhookConfiguration describes the configuration of an admission webhook that accepts or rejects an object without changing it.",
  );

const mutatingWebhook = s.object({
  ...COMMON,
  reinvocationPolicy: s
    .string()
    .describe(
      'reinvocationPolicy indicates whether this webhook should be called multiple times as part of a single admission evaluation. Allowed values are "Never" and "IfNeeded". Defaults to "Never".',
    ),
});

export const mutatingFields = s
  .object({ webhooks: mergedInPatches(s.listMap(mutatingWebhook, ["name"]), "name").describe(ORDER) })
  .describe(
    "MutatingWebhookConfiguration describes the configuration of an admission webhook that accepts or rejects an object and may change it.",
  );

type MutatingWebhookConfiguration = KindOf<typeof mutatingFields>;
/** A webhook of either kind; only mutating ones have `reinvocationPolicy`. */
export type Webhook = NonNullable<MutatingWebhookConfiguration["webhooks"]>[number];
export type WebhookRule = NonNullable<Webhook["rules"]>[number];
export type WebhookConfiguration = MutatingWebhookConfiguration;
