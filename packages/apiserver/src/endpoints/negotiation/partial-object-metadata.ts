// The forms of objects and lists that carry metadata only.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/meta.go, k8s.io/apiserver/pkg/endpoints/handlers/response.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { ApiError, untypedError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";

/** `apiVersion` is `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`. */
export const partialObjectMetadata = (object: KubeObject, apiVersion: string): JsonObject => ({
  kind: "PartialObjectMetadata",
  apiVersion,
  metadata: object.metadata,
});

/** The refusal of `as=PartialObjectMetadata` on a list. */
export const partialMetadataOfListError = (): ApiError =>
  new ApiError({
    code: 406,
    reason: "NotAcceptable",
    message: "you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)",
  });

/** The refusal of `as=PartialObjectMetadataList` on a single object, without a reason as upstream has it. */
export const notAListError = (): ApiError => untypedError("content is not a list");
