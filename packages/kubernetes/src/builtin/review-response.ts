// The response to a review: the request with a status.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";

/** creationTimestamp is null, as upstream prints it for objects that are not stored. */
export const reviewResponse = (
  { apiVersion, kind, metadata, ...rest }: KubeObject,
  status: JsonObject,
  creationTimestamp: string | null = null,
): KubeObject => ({
  apiVersion,
  kind,
  metadata: { ...metadata, creationTimestamp },
  ...rest,
  status,
});
