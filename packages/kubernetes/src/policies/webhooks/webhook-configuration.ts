// The fields of webhook configurations.
// Source: k8s.io/api/admissionregistration/v1/types.go

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../../builtin/builtin-resource.ts";
import { labelSelector } from "../../builtin/rbac/rbac-fields.ts";
import { webhookClientFields } from "../../webhooks/client-config.ts";
import { matchConditionsField } from "../validating-admission-policy.ts";

const ruleFields = s.object({
  operations: s.list(s.string()),
  apiGroups: s.list(s.string()),
  apiVersions: s.list(s.string()),
  resources: s.list(s.string()),
  scope: s.string(),
});

const COMMON = {
  name: s.string().required(),
  clientConfig: webhookClientFields().required(),
  rules: s.list(ruleFields),
  failurePolicy: s.string(),
  matchPolicy: s.string(),
  namespaceSelector: labelSelector,
  objectSelector: labelSelector,
  sideEffects: s.string(),
  timeoutSeconds: s.int32(),
  admissionReviewVersions: s.list(s.string()),
  matchConditions: matchConditionsField,
};

export const validatingFields = s.object({ webhooks: mergedInPatches(s.listMap(s.object(COMMON), ["name"]), "name") });

const mutatingWebhook = s.object({
  ...COMMON,
  reinvocationPolicy: s.string(),
});

export const mutatingFields = s.object({ webhooks: mergedInPatches(s.listMap(mutatingWebhook, ["name"]), "name") });

type MutatingWebhookConfiguration = KindOf<typeof mutatingFields>;
/** A webhook of either kind; only mutating ones have `reinvocationPolicy`. */
export type Webhook = NonNullable<MutatingWebhookConfiguration["webhooks"]>[number];
export type WebhookRule = NonNullable<Webhook["rules"]>[number];
export type WebhookConfiguration = MutatingWebhookConfiguration;
