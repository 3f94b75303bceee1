// A review as it goes back to who asked: the question with the answer in its status.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";

/** The time of creation is null, as upstream prints it for what is never stored. */
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
