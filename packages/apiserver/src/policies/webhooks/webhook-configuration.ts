// The fields of webhook configurations.
// Source: k8s.io/api/admissionregistration/v1/types.go

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../../builtin/builtin-resource.ts";
import { labelSelector } from "../../builtin/rbac/rbac-fields.ts";

const serviceFields = s
  .object({
    namespace: s.string().required().describe("Its namespace."),
    name: s.string().required().describe("Its name."),
    path: s.string().describe("Path of the request. Absent: /."),
    port: s.int32().describe("A port of the service. Absent: 443."),
  })
  .describe("A Service of this cluster, in place of a URL.");

const clientFields = s
  .object({
    url: s.string().describe("Where it is, as https://host[:port]/path. Not a Service of this cluster."),
    service: serviceFields,
    caBundle: s.bytes().describe("PEM of the authorities that verify its certificate. Absent: the public roots."),
  })
  .required()
  .describe("How it is reached: by a URL or by a Service.");

const ruleFields = s.object({
  operations: texts("CREATE, UPDATE, DELETE, CONNECT or *."),
  apiGroups: texts("API groups, or *."),
  apiVersions: texts("Versions, or *."),
  resources: texts("Resources, such as pods, pods/status, */scale or *."),
  scope: s.string().describe("Cluster, Namespaced or *. Absent: *."),
});

function texts(what: string) {
  return s.list(s.string()).describe(what);
}

const COMMON = {
  name: s.string().required().describe("Its name, fully qualified, such as images.example.com."),
  clientConfig: clientFields,
  rules: s.list(ruleFields).describe("Which requests it is asked about: one of these."),
  failurePolicy: s.string().describe("Fail or Ignore: what becomes of requests when it cannot be asked. Absent: Fail."),
  matchPolicy: s
    .string()
    .describe("Exact or Equivalent: whether it is asked about other versions of what its rules name, too."),
  namespaceSelector: labelSelector.describe("Labels of the namespace."),
  objectSelector: labelSelector.describe("Labels of the object, or of the one before it."),
  sideEffects: s.string().describe("None or NoneOnDryRun. Of others, dry runs are refused."),
  timeoutSeconds: s.int32().describe("How long it may take, 1 to 30. Absent: 10."),
  admissionReviewVersions: s
    .list(s.string())
    .describe("Versions of AdmissionReview that it takes; the first known one is sent."),
  matchConditions: mergedInPatches(
    s.listMap(
      s.object({
        name: s.string().required().describe("Its name."),
        expression: s
          .string()
          .required()
          .describe("What has to hold, in CEL: of object, oldObject, request and authorizer."),
      }),
      ["name"],
    ),
    "name",
  ).describe("Which requests it is asked about; all must hold."),
};

const ORDER = "The webhooks, in the order in which they are asked.";

export const validatingFields = s
  .object({ webhooks: mergedInPatches(s.listMap(s.object(COMMON), ["name"]), "name").describe(ORDER) })
  .describe("Webhooks that may refuse requests.");

const mutatingWebhook = s.object({
  ...COMMON,
  reinvocationPolicy: s
    .string()
    .describe("Never or IfNeeded: whether it is asked again where one after it has changed the object. Absent: Never."),
});

export const mutatingFields = s
  .object({ webhooks: mergedInPatches(s.listMap(mutatingWebhook, ["name"]), "name").describe(ORDER) })
  .describe("Webhooks that may change objects, and refuse requests.");

export type ValidatingWebhookConfiguration = KindOf<typeof validatingFields>;
export type MutatingWebhookConfiguration = KindOf<typeof mutatingFields>;
/** Of both kinds; `reinvocationPolicy` in mutating ones alone. */
export type Webhook = NonNullable<MutatingWebhookConfiguration["webhooks"]>[number];
export type WebhookRule = NonNullable<Webhook["rules"]>[number];
export type WebhookConfiguration = MutatingWebhookConfiguration;
