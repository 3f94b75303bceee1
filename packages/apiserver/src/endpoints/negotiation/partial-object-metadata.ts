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

/** How an object is served upstream: built-in kinds have a type in Go, custom ones do not. */
type ServedKind = { readonly apiVersion: string; readonly kind: string; readonly isTyped: boolean };

/** The refusal of `as=PartialObjectMetadata` on a list. */
export const partialMetadataOfListError = (list: ServedKind): ApiError =>
  notAcceptable(`you requested PartialObjectMetadata, but the requested object is a list (${goTypeOf(list)})`);

/** The refusal of `as=PartialObjectMetadataList` on a single object. That of custom resources is without a reason, as upstream has it. */
export const notAListError = (object: ServedKind): ApiError =>
  object.isTyped
    ? notAcceptable(
        `you requested PartialObjectMetadataList, but the requested object is not a list (${goTypeOf(object)})`,
      )
    : untypedError("content is not a list");

const notAcceptable = (message: string): ApiError => new ApiError({ code: 406, reason: "NotAcceptable", message });

/** Packages of internal types are named after their group. */
function goTypeOf({ apiVersion, kind, isTyped }: ServedKind): string {
  if (!isTyped) return "*unstructured.UnstructuredList";
  const [group = "", version] = apiVersion.split("/");
  const isCore = version === undefined || group === "events.k8s.io";
  return `*${isCore ? "core" : group.split(".")[0]}.${kind}`;
}
