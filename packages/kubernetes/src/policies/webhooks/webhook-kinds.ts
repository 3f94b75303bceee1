// Webhook configurations as resources.
// Source: k8s.io/kubernetes/pkg/registry/admissionregistration/{validating,mutating}webhookconfiguration/strategy.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../../builtin/builtin-resource.ts";
import { ADMISSION_GROUP } from "../validating-admission-policy.ts";
import { validateWebhooks } from "./validate-webhooks.ts";
import { mutatingFields, validatingFields, type Webhook, type WebhookConfiguration } from "./webhook-configuration.ts";

const strategy: Strategy<WebhookConfiguration> = {
  validate: (configuration, context) => context.inParts(validateWebhooks(configuration)),
  validateUpdate: (configuration, old, context) => context.inParts(validateWebhooks(configuration, old)),
};

const columns: readonly PrinterColumn[] = [
  {
    name: "Webhooks",
    type: "integer",
    value: (object) => ((object as WebhookConfiguration).webhooks ?? []).length,
  },
  ageColumn,
];

const withDefaults = (webhook: Webhook): Webhook => ({
  ...webhook,
  failurePolicy: webhook.failurePolicy ?? "Fail",
  matchPolicy: webhook.matchPolicy ?? "Equivalent",
  namespaceSelector: webhook.namespaceSelector ?? {},
  objectSelector: webhook.objectSelector ?? {},
  timeoutSeconds: webhook.timeoutSeconds ?? 10,
  ...(webhook.rules === undefined
    ? {}
    : { rules: webhook.rules.map((rule) => ({ ...rule, scope: rule.scope ?? "*" })) }),
  ...withDefaultPort(webhook),
});

/** Required fields may be missing: defaults are set before the schema is checked. */
function withDefaultPort({ clientConfig }: Partial<Webhook>): Partial<Webhook> {
  if (clientConfig?.service === undefined) return {};
  const { service } = clientConfig;
  return { clientConfig: { ...clientConfig, service: { ...service, port: service.port ?? 443 } } };
}

/** Called with bodies whose types have been checked. */
function setDefaults(object: KubeObject, complete: (webhook: Webhook) => Webhook): KubeObject {
  const { webhooks } = object as WebhookConfiguration;
  return webhooks === undefined ? object : ({ ...object, webhooks: webhooks.map(complete) } as KubeObject);
}

const COMMON = {
  group: ADMISSION_GROUP,
  version: "v1",
  namespaced: false,
  categories: ["api-extensions"],
  tracksGeneration: true,
  columns,
  // Stored objects, and bodies where it is asked, have passed their types.
  strategy: strategy as Strategy,
} as const;

export const validatingWebhookConfigurations: ResourceDefinition = defineBuiltin({
  ...COMMON,
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  schema: kindSchema(validatingFields.schema),
  setDefaults: (object) => setDefaults(object, withDefaults),
});

export const mutatingWebhookConfigurations: ResourceDefinition = defineBuiltin({
  ...COMMON,
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
  schema: kindSchema(mutatingFields.schema),
  setDefaults: (object) =>
    setDefaults(object, (webhook) => ({
      ...withDefaults(webhook),
      reinvocationPolicy: webhook.reinvocationPolicy ?? "Never",
    })),
});
