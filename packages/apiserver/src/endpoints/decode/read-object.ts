// Reads the object of a create or update, and checks it against the path of the request.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/{create,update,namer}.go

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { isProtobufKind } from "@postern/apimachinery/protobuf/protobuf-object";
import type { RequestContext } from "../../context/request-context.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { type Awaitable, whenDone } from "../../runtime/awaitable.ts";
import { headerOf } from "../../transport/api-request.ts";
import type { EndpointContext } from "../endpoint-context.ts";
import { negotiateInput } from "../negotiation/negotiate-input.ts";
import { type Body, type BodyKind, decodeObject } from "./decode-object.ts";
import { decodeProtobufBody } from "./decode-protobuf-body.ts";
import { fieldValidationOf } from "./field-validation.ts";
import { readYamlInThread } from "./parse-body.ts";
import { tidyMetadata } from "./tidy-metadata.ts";

/** Throws 415 for a media type that is not taken, 413 for a body over the limit. */
export function readBody(
  context: RequestContext,
  { limits }: EndpointContext,
  takesProtobuf?: () => boolean,
): Awaitable<Body> {
  const { request } = context;
  const format = negotiateInput(headerOf(request, "content-type"), takesProtobuf);
  return whenDone(request.body(limits.bodyBytes), (bytes) => {
    context.weigh(bytes.length);
    if (format !== "yaml") return { format, bytes };
    return readYamlInThread(context, bytes).then((yaml) => ({ format, bytes, yaml }));
  });
}

/** The object of the body. Throws 400 for another kind, and for what strict validation rejects. */
export const decodeBody = (
  context: RequestContext,
  body: Body,
  kind: BodyKind,
  fieldValidation: string | undefined,
): Awaitable<KubeObject> =>
  context.inParts(
    body.format === "protobuf"
      ? decodeProtobufBody(body.bytes, kind)
      : decodeObject(context, body, kind, fieldValidationOf(fieldValidation)),
  );

/** The object of the body, of the resource's kind, in the namespace of the path. */
export function readObject(
  context: RequestContext,
  definition: ResourceDefinition,
  endpoint: EndpointContext,
  fieldValidation: string | undefined,
): Awaitable<KubeObject> {
  const takesProtobuf = (): boolean => isProtobufKind(formatApiVersion(definition), definition.kind);
  const object = whenDone(readBody(context, endpoint, takesProtobuf), (body) =>
    decodeBody(context, body, definition, fieldValidation),
  );
  return whenDone(object, (decoded) => tidyMetadata(inNamespaceOfPath(decoded, definition, context), context.warnings));
}

/** Fills in the namespace from the path, and refuses another one. Cluster-scoped objects lose theirs. */
export function inNamespaceOfPath(
  object: KubeObject,
  definition: ResourceDefinition,
  { info }: RequestContext,
): KubeObject {
  const { namespace = "" } = object.metadata;
  if (namespace === (definition.namespaced ? info.namespace : "")) return object;
  const { namespace: _, ...meta } = object.metadata;
  if (!definition.namespaced) return { ...object, metadata: meta };
  if (namespace !== "") {
    throw badRequestError("the namespace of the provided object does not match the namespace sent on the request");
  }
  return { ...object, metadata: { ...meta, namespace: info.namespace } };
}

/** Refuses an object whose name is not the one in the path. */
export function checkNameOfPath(object: KubeObject, { info }: RequestContext): void {
  const { name = "" } = object.metadata;
  if (name === "") {
    throw badRequestError(
      `the name of the object (${info.name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (name !== info.name) {
    throw badRequestError(`the name of the object (${name}) does not match the name on the URL (${info.name})`);
  }
}
