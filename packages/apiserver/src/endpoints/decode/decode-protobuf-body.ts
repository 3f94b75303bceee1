// Decodes a protobuf body: kubectl and typed Go clients send built-in kinds and reviews in this form.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { decodeProtobufObject } from "@postern/apimachinery/protobuf/protobuf-object";
import { ProtobufError } from "@postern/apimachinery/protobuf/wire-reader";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { type BodyKind, conform, unrecognizedError } from "./decode-object.ts";

/** The object of the body, of the resource's kind. Throws 400 for bytes that are no such object. */
export function* decodeProtobufBody(bytes: Uint8Array, definition: BodyKind): Steps<KubeObject> {
  const endpoint = { apiVersion: formatApiVersion(definition), kind: definition.kind };
  try {
    const { metadata = {}, ...rest } = decodeProtobufObject(bytes, endpoint);
    const object = { ...rest, ...endpoint, metadata: isJsonObject(metadata) ? metadata : {} };
    yield;
    const conformed = yield* conform(object, definition);
    if ("object" in conformed) return conformed.object;
    throw new ProtobufError(conformed.fault);
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    throw unrecognizedError(definition, bytes, error.message);
  }
}
