// A protobuf message as fields that are read to JSON, and written from it, as Kubernetes' types in Go are.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
  setMember,
} from "../json/json-value.ts";
import { LENGTH_DELIMITED, ProtobufError, WireReader, type WireValue } from "./wire-reader.ts";
import type { WireWriter } from "./wire-writer.ts";

/** The form of a value on the wire and in JSON. */
export type Form = {
  readonly wireType: number;
  /** Undefined: JSON leaves it out. */
  read(value: WireValue): JsonValue | undefined;
  /** The value without its tag and length. Undefined, and what is of another type, is written as the zero value. */
  write(writer: WireWriter, value: JsonValue | undefined): void;
  /** For scalars: the value that JSON leaves out unless the field is a pointer, or that it always has. */
  readonly zero?: JsonValue;
  /** Whether an absent value is no field at all, rather than its zero value: bytes. */
  readonly isOptional?: boolean;
  /** For messages whose JSON is an object of their fields: that object as Go writes it. */
  asGoWrites?(value: JsonValue | undefined): JsonObject;
};

/** A list or a map is a field for each of its elements. */
export type Shape = "one" | "list" | "map";

export type Field = {
  readonly number: number;
  /** "": a message whose members are those of the message around it. */
  readonly name: string;
  readonly shape: Shape;
  readonly form: Form;
  /** A pointer in Go: absent or there, whatever its value. */
  readonly isPointer: boolean;
  /** In JSON when it is zero, too; a list or map that is absent as null. */
  readonly isRequired: boolean;
};

export class MessageType {
  /** By number. Unknown numbers are skipped, as every protobuf reader does. */
  readonly #byNumber: (Field | undefined)[] = [];
  /** The highest number first: they are written backwards. */
  readonly #backwards: readonly Field[];
  readonly #required: readonly Field[];
  readonly #fields: readonly Field[];

  constructor(fields: readonly Field[]) {
    this.#fields = fields;
    for (const field of fields) this.#byNumber[field.number] = field;
    this.#backwards = fields.toSorted((a, b) => b.number - a.number);
    this.#required = fields.filter(({ shape, isRequired }) => isRequired && shape === "one");
  }

  /** Members that JSON omits as empty are absent. @throws ProtobufError */
  decode(bytes: Uint8Array): JsonObject {
    const object: MutableJsonObject = {};
    const reader = new WireReader(bytes);
    while (reader.next()) {
      const field = this.#byNumber[reader.number];
      const value = reader.value();
      if (field !== undefined) readField(object, field, value);
    }
    for (const { name, form } of this.#required) if (object[name] === undefined) object[name] = form.zero;
    return object;
  }

  /**
   * The object as Go reads and writes it in JSON: with what its structs always have, without empty members that they omit, and without what there is
   * no field for. Values of another type than their field stay as they are.
   */
  asGoWrites(value: JsonValue | undefined): JsonObject {
    const object: JsonObject = isJsonObject(value) ? value : NOTHING;
    const written: MutableJsonObject = {};
    for (const field of this.#fields) {
      if (field.name === "") Object.assign(written, field.form.asGoWrites?.(object));
      else writeMember(written, field, object[field.name]);
    }
    return written;
  }

  /** Writes what there are fields for. Nothing is refused: what is of another type than its field is left out, or zero. */
  encode(writer: WireWriter, value: JsonValue | undefined): void {
    const object: JsonObject = isJsonObject(value) ? value : NOTHING;
    for (const field of this.#backwards) writeField(writer, field, field.name === "" ? object : object[field.name]);
  }
}

const NOTHING: JsonObject = {};

function writeMember(written: MutableJsonObject, field: Field, value: JsonValue | undefined): void {
  const { name, shape, form, isPointer, isRequired } = field;
  // Most fields of a large message are not there.
  if (value === undefined && (isPointer || (form.asGoWrites === undefined && !isRequired))) return;
  if (shape !== "one") {
    const elements = elementsAsGoWrites(field, value);
    if (elements !== undefined) setMember(written, name, elements);
    else if (isRequired) setMember(written, name, null);
  } else if (value !== undefined && value !== null) {
    const shown = form.asGoWrites?.(value) ?? value;
    if (isPointer || isRequired || shown !== form.zero) setMember(written, name, shown);
  } else if (isPointer) return;
  else if (form.asGoWrites !== undefined) setMember(written, name, form.asGoWrites(undefined));
  else if (isRequired && form.zero !== undefined) setMember(written, name, form.zero);
}

/** Undefined for an absent list or map, and for an empty one that JSON omits. */
function elementsAsGoWrites({ shape, form, isRequired }: Field, value: JsonValue | undefined): JsonValue | undefined {
  const element = (each: JsonValue): JsonValue => form.asGoWrites?.(each) ?? each;
  if (shape === "list" && Array.isArray(value)) {
    return value.length === 0 && !isRequired ? undefined : (value as readonly JsonValue[]).map(element);
  }
  if (shape === "map" && isJsonObject(value)) {
    const entries = Object.entries(value);
    return entries.length === 0 && !isRequired
      ? undefined
      : Object.fromEntries(entries.map(([k, v]) => [k, element(v as JsonValue)]));
  }
  return undefined;
}

/** The form of a message, whose type is made when it is first needed. */
export function messageForm(typeOf: () => MessageType): Form {
  let known: MessageType | undefined;
  const type = (): MessageType => {
    known ??= typeOf();
    return known;
  };
  return {
    wireType: LENGTH_DELIMITED,
    read: (value) => type().decode(bytesOf(value)),
    write: (writer, value) => type().encode(writer, value),
    asGoWrites: (value) => type().asGoWrites(value),
  };
}

function readField(object: MutableJsonObject, { name, shape, form, isPointer, isRequired }: Field, value: WireValue) {
  if (shape === "list") {
    // Extended in place: a copy for each element would be quadratic.
    const elements = (object[name] ?? []) as JsonValue[];
    elements.push(form.read(value) ?? null);
    object[name] = elements;
  } else if (shape === "map") {
    const entries = (object[name] ?? {}) as MutableJsonObject;
    readEntry(entries, form, bytesOf(value));
    object[name] = entries;
  } else {
    const read = form.read(value);
    if (name === "") Object.assign(object, read);
    else if (read !== undefined && (isPointer || isRequired || read !== form.zero)) object[name] = read;
    else if (read === form.zero) delete object[name];
  }
}

function readEntry(entries: MutableJsonObject, form: Form, bytes: Uint8Array): void {
  let key = "";
  let member: JsonValue | undefined;
  const reader = new WireReader(bytes);
  while (reader.next()) {
    const value = reader.value();
    if (reader.number === 1) key = textOf(value);
    else if (reader.number === 2) member = form.read(value);
  }
  setMember(entries, key, member ?? form.zero ?? form.read(EMPTY) ?? null);
}

const EMPTY = new Uint8Array();

function writeField(writer: WireWriter, field: Field, value: JsonValue | undefined): void {
  const { number, shape, form, isPointer } = field;
  if (shape === "list") {
    if (!Array.isArray(value)) return;
    for (let i = value.length - 1; i >= 0; i--) writeValue(writer, number, form, value[i]);
  } else if (shape === "map") {
    if (!isJsonObject(value)) return;
    const names = Object.keys(value).sort();
    for (let i = names.length - 1; i >= 0; i--) {
      const name = names[i] ?? "";
      const from = writer.length;
      writeValue(writer, 2, form, value[name]);
      writeText(writer, 1, name);
      writer.lengthSince(from);
      writer.varint((number << 3) | LENGTH_DELIMITED);
    }
  } else if (value !== undefined && value !== null) writeValue(writer, number, form, value);
  else if (!isPointer && form.isOptional !== true) writeValue(writer, number, form, undefined);
}

function writeValue(writer: WireWriter, number: number, { wireType, write }: Form, value: JsonValue | undefined): void {
  const from = writer.length;
  write(writer, value);
  if (wireType === LENGTH_DELIMITED) writer.lengthSince(from);
  writer.varint((number << 3) | wireType);
}

/** A field with a text. */
export function writeText(writer: WireWriter, number: number, text: string): void {
  const from = writer.length;
  writer.text(text);
  writer.lengthSince(from);
  writer.varint((number << 3) | LENGTH_DELIMITED);
}

export function bytesOf(value: WireValue): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new ProtobufError("proto: wrong wire type for a field with a length");
}

export function integerOf(value: WireValue): number | bigint {
  if (value instanceof Uint8Array) throw new ProtobufError("proto: wrong wire type for an integer");
  return value;
}

const utf8 = new TextDecoder();

/** Texts that are so short are read character by character: a call into Node costs more. */
const SHORT_TEXT = 32;

export function textOf(value: WireValue): string {
  const bytes = bytesOf(value);
  if (bytes.length > SHORT_TEXT) return utf8.decode(bytes);
  let text = "";
  for (const byte of bytes) {
    if (byte > 0x7f) return utf8.decode(bytes);
    text += String.fromCharCode(byte);
  }
  return text;
}
