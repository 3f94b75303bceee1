// Describes protobuf messages by tables, and decodes them into JSON.

import { type JsonObject, type JsonValue, type MutableJsonObject, setMember } from "../json/json-value.ts";
import { ProtobufError, readFields, type WireField } from "./wire-reader.ts";

/** Turns one field's wire value into JSON; `previous` is what the member already holds, for lists and maps. */
export type FieldReader = (value: WireField["value"], previous: JsonValue | undefined) => JsonValue | undefined;

export type FieldType = { readonly name: string; readonly read: FieldReader };

/** Fields by their number. Unknown numbers are skipped, as every protobuf reader does. */
export type MessageType = { readonly [fieldNumber: number]: FieldType };

const utf8 = new TextDecoder();

const bytesOf = (value: WireField["value"]): Uint8Array => {
  if (typeof value === "bigint") throw new ProtobufError("proto: wrong wire type for a field with a length");
  return value;
};

const integerOf = (value: WireField["value"]): bigint => {
  if (typeof value !== "bigint") throw new ProtobufError("proto: wrong wire type for an integer");
  return value;
};

export const textOf = (value: WireField["value"]): string => utf8.decode(bytesOf(value));

/** The JSON object of a message. Members that JSON omits as empty are absent. */
export function decodeMessage(type: MessageType, bytes: Uint8Array): JsonObject {
  const object: MutableJsonObject = {};
  for (const { number, value } of readFields(bytes)) {
    const field = type[number];
    if (field === undefined) continue;
    const decoded = field.read(value, object[field.name]);
    if (decoded === undefined) continue;
    // A message without a name of its own gives its members to the one around it.
    if (field.name === "") Object.assign(object, decoded);
    else setMember(object, field.name, decoded);
  }
  return object;
}

/** A string that is absent when empty. */
export const string = (name: string): FieldType => ({ name, read: (value) => textOf(value) || undefined });

/** A string whose emptiness counts: a pointer in Go. */
export const optionalString = (name: string): FieldType => ({ name, read: textOf });

/** A boolean that is absent when false. */
export const bool = (name: string): FieldType => ({
  name,
  read: (value) => (integerOf(value) === 0n ? undefined : true),
});

/** A boolean whose false counts: a pointer in Go. */
export const optionalBool = (name: string): FieldType => ({ name, read: (value) => integerOf(value) !== 0n });

/** An int32 or int64 that is absent when zero. */
export const integer = (name: string): FieldType => ({
  name,
  read: (value) => (integerOf(value) === 0n ? undefined : signed(integerOf(value))),
});

/** An integer whose zero counts: a pointer in Go. */
export const optionalInteger = (name: string): FieldType => ({ name, read: (value) => signed(integerOf(value)) });

function signed(value: bigint): number | bigint {
  const exact = BigInt.asIntN(64, value);
  const rounded = Number(exact);
  return Number.isSafeInteger(rounded) ? rounded : exact;
}

export const message = (name: string, type: MessageType): FieldType => ({
  name,
  read: (value) => decodeMessage(type, bytesOf(value)),
});

/** A message that has a JSON form of its own; undefined leaves the member out. */
export const converted = (name: string, convert: (bytes: Uint8Array) => JsonValue | undefined): FieldType => ({
  name,
  read: (value) => convert(bytesOf(value)),
});

/** Bytes, which JSON writes in base64; absent when empty. */
export const base64 = (name: string): FieldType => ({ name, read: (value) => base64Of(value) || undefined });

function base64Of(value: WireField["value"]): string {
  let binary = "";
  for (const byte of bytesOf(value)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

export const strings = (name: string): FieldType => list(name, textOf);

export const messages = (name: string, type: MessageType): FieldType =>
  list(name, (value) => decodeMessage(type, bytesOf(value)));

function list(name: string, read: (value: WireField["value"]) => JsonValue): FieldType {
  return {
    name,
    read(value, previous) {
      // The list is still being built here, so it is extended in place: a copy per element would be quadratic.
      const elements = Array.isArray(previous) ? (previous as JsonValue[]) : [];
      elements.push(read(value));
      return elements;
    },
  };
}

/** A map with string keys; `read` turns the bytes or text of an entry's value into JSON. */
export function map(name: string, read: (value: WireField["value"]) => JsonValue, empty: JsonValue): FieldType {
  return {
    name,
    read(value, previous) {
      // Extended in place for the same reason as a list.
      const entries = (previous ?? {}) as MutableJsonObject;
      let key = "";
      let member = empty;
      for (const field of readFields(bytesOf(value))) {
        if (field.number === 1) key = textOf(field.value);
        else if (field.number === 2) member = read(field.value);
      }
      setMember(entries, key, member);
      return entries;
    },
  };
}

export const stringMap = (name: string): FieldType => map(name, textOf, "");

/** A map of bytes, which JSON writes in base64. */
export const base64Map = (name: string): FieldType => map(name, base64Of, "");
