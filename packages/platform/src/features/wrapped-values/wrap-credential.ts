// The part of a response that stands in place of a credential that is wrapped.

import type { PlatformNames } from "@postern/api/platform-names";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { WrappedValues, WrapRequest } from "./wrapped-values.ts";

export type WrapDeps = {
  readonly names: Pick<PlatformNames, "key">;
  readonly wrapped: Pick<WrappedValues, "makeRoom" | "wrap">;
};

/** For `status.wrapped`. The reader learns who made the credential: a value that was exchanged on the way shows another name. */
export async function wrapCredential(
  { user, receivedAt, audit }: Pick<RequestContext, "user" | "receivedAt" | "audit">,
  { content, ...request }: WrapRequest,
  { names, wrapped }: WrapDeps,
): Promise<JsonObject> {
  const { value, id, expiresAt } = await wrapped.wrap({
    ...request,
    content: { ...content, createdBy: user.name, creationTimestamp: formatTimestamp(receivedAt) },
  });
  audit.annotate(wrappedValueAnnotation(names), id);
  return { value, id, expirationTimestamp: formatTimestamp(expiresAt) };
}

/** In the audit events of the request that made a value, and of those that read it. */
export const wrappedValueAnnotation = (names: Pick<PlatformNames, "key">): string => names.key("wrapped-value-id");
