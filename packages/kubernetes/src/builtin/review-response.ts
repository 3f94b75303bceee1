// The response to a review: the request with a status.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";

export const reviewResponse = (
  { apiVersion, kind, metadata, ...rest }: KubeObject,
  status: JsonObject,
  creationTimestamp?: string,
): KubeObject => ({
  apiVersion,
  kind,
  metadata: { ...metadata, ...(creationTimestamp === undefined ? {} : { creationTimestamp }) },
  ...rest,
  status,
});
