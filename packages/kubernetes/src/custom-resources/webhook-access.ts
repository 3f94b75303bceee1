// A conversion webhook receives and changes every object of its kind: a credential without access to the whole cluster cannot configure one.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { type FieldError, forbiddenError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { CustomResourceDefinition } from "./custom-resource-definition.ts";

/** Like admission webhooks, which also receive the writes of other users. */
const LIKEWISE = {
  verb: "create",
  isResourceRequest: true,
  apiGroup: "admissionregistration.k8s.io",
  apiVersion: "v1",
  resource: "mutatingwebhookconfigurations",
  subresource: "",
  namespace: "",
  name: "",
  path: "",
} as const;

export async function validateWebhookAccess(
  { spec: { conversion } }: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
  { outerAuthorizer, user, credential }: RequestContext,
): Promise<readonly FieldError[]> {
  if (conversion?.strategy !== "Webhook" || equalJson(conversion, old?.spec.conversion)) return [];
  const decision = await outerAuthorizer?.authorize({ ...LIKEWISE, user, credential });
  if (decision === undefined || decision.verdict === "allow") return [];
  const why =
    "this credential does not have access to the whole cluster, and a conversion webhook receives every object of the kind";
  return [forbiddenError("spec.conversion", why)];
}
