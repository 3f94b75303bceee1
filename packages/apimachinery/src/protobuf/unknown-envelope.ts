// The envelope that every Kubernetes protobuf body comes in: four magic bytes and a runtime.Unknown message.
// Source: k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go, pkg/runtime/generated.proto

import { decodeMessage, string, textOf } from "./message-type.ts";
import { ProtobufError, readFields } from "./wire-reader.ts";

/** "k8s" and a zero byte. */
const MAGIC = [0x6b, 0x38, 0x73, 0x00];

const typeMeta = { 1: string("apiVersion"), 2: string("kind") };

export type UnknownEnvelope = {
  /** "" where the sender leaves the type to the endpoint. */
  readonly apiVersion: string;
  readonly kind: string;
  /** The message of that kind. */
  readonly raw: Uint8Array;
};

/** @throws ProtobufError for other bytes and for encoded content */
export function readUnknownEnvelope(body: Uint8Array): UnknownEnvelope {
  if (MAGIC.some((byte, i) => body[i] !== byte)) {
    throw new ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  let apiVersion = "";
  let kind = "";
  let raw: Uint8Array = new Uint8Array();
  for (const { number, value } of readFields(body.subarray(MAGIC.length))) {
    if (number > 3) continue;
    if (typeof value === "bigint") throw new ProtobufError("proto: wrong wire type for a field with a length");
    if (number === 1) {
      const meta = decodeMessage(typeMeta, value);
      apiVersion = typeof meta["apiVersion"] === "string" ? meta["apiVersion"] : "";
      kind = typeof meta["kind"] === "string" ? meta["kind"] : "";
    } else if (number === 2) raw = value;
    else if (textOf(value) !== "") throw new ProtobufError(`unsupported content encoding ${textOf(value)}`);
  }
  return { apiVersion, kind, raw };
}
