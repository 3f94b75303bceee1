// The forms of scalars, and of messages that JSON writes in a way of its own.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/{time_proto,micro_time_proto}.go, pkg/api/resource, pkg/util/intstr, pkg/runtime

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { parseJson } from "../json/parse-json.ts";
import { stringifyJson } from "../json/stringify-json.ts";
import { formatTimestamp, parseTimestamp } from "../time/timestamp.ts";
import { bytesOf, type Field, type Form, integerOf, MessageType, messageForm, textOf } from "./message-type.ts";
import { FIXED_64, LENGTH_DELIMITED, ProtobufError, VARINT } from "./wire-reader.ts";

const string: Form = {
  wireType: LENGTH_DELIMITED,
  zero: "",
  read: textOf,
  write: (writer, value) => {
    if (typeof value === "string") writer.text(value);
  },
};

const bool: Form = {
  wireType: VARINT,
  zero: false,
  read: (value) => Number(integerOf(value)) !== 0,
  write: (writer, value) => writer.byte(value === true ? 1 : 0),
};

const integer: Form = {
  wireType: VARINT,
  zero: 0,
  read: (value) => signed(integerOf(value)),
  write: (writer, value) => writer.varint(wholeNumber(value)),
};

/** Negative numbers have all 64 bits on the wire. */
function signed(value: number | bigint): number | bigint {
  if (typeof value === "number") return value;
  const exact = BigInt.asIntN(64, value);
  const rounded = Number(exact);
  return Number.isSafeInteger(rounded) ? rounded : exact;
}

function wholeNumber(value: JsonValue | undefined): number | bigint {
  if (typeof value === "bigint") return value;
  return typeof value === "number" && Number.isFinite(value) ? Math.trunc(value) : 0;
}

const double: Form = {
  wireType: FIXED_64,
  zero: 0,
  read(value) {
    if (typeof value !== "bigint") throw new ProtobufError("proto: wrong wire type for a double");
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, value);
    const number = view.getFloat64(0);
    if (!Number.isFinite(number)) throw new ProtobufError("proto: a number is not finite");
    return number;
  },
  write: (writer, value) => writer.double(typeof value === "bigint" || typeof value === "number" ? Number(value) : 0),
};

/** JSON writes them in base64. */
const bytes: Form = {
  wireType: LENGTH_DELIMITED,
  zero: "",
  isOptional: true,
  read(value) {
    const content = bytesOf(value);
    return Buffer.from(content.buffer, content.byteOffset, content.length).toString("base64");
  },
  write: (writer, value) => {
    if (typeof value === "string") writer.bytes(Buffer.from(value, "base64"));
  },
};

/** A message whose JSON is no object of its fields. Undefined is left out. */
function converted(
  type: MessageType,
  toJson: (message: JsonObject) => JsonValue | undefined,
  fromJson: (value: JsonValue | undefined) => JsonObject | undefined,
): Form {
  return {
    wireType: LENGTH_DELIMITED,
    read: (value) => toJson(type.decode(bytesOf(value))),
    write: (writer, value) => {
      const message = fromJson(value);
      if (message !== undefined) type.encode(writer, message);
    },
  };
}

const field = (number: number, name: string, form: Form): Field => ({
  number,
  name,
  shape: "one",
  form,
  isPointer: false,
  isRequired: true,
});
const pointer = (number: number, name: string, form: Form): Field => ({
  ...field(number, name, form),
  isPointer: true,
  isRequired: false,
});
const list = (number: number, name: string, form: Form): Field => ({
  ...field(number, name, form),
  shape: "list",
  isRequired: false,
});

/** Years 1 to 9999, which RFC 3339 can write. */
const MIN_SECONDS = -62_135_596_800;
const MAX_SECONDS = 253_402_300_799;
const timestamp = new MessageType([pointer(1, "seconds", integer), pointer(2, "nanos", integer)]);

/** The empty message is no time. */
const timeForm = (isMicro: boolean): Form =>
  converted(
    timestamp,
    ({ seconds, nanos }) => {
      if (seconds === undefined && nanos === undefined) return undefined;
      const [whole, rest] = [Number(seconds ?? 0), Number(nanos ?? 0)];
      if (whole < MIN_SECONDS || whole > MAX_SECONDS || rest < 0 || rest > 999_999_999) {
        throw new ProtobufError("proto: time out of range");
      }
      const second = formatTimestamp(whole * 1000);
      // As text: a double of milliseconds does not hold every microsecond.
      const micros = String(Math.floor(rest / 1000)).padStart(6, "0");
      return isMicro ? `${second.slice(0, -"Z".length)}.${micros}Z` : second;
    },
    (value) => {
      // The fraction as text: a double of milliseconds does not hold every microsecond.
      const [, fraction = ""] = /\.(\d+)/.exec(String(value)) ?? [];
      const milliseconds = parseTimestamp(String(value).replace(`.${fraction}`, ""));
      if (milliseconds === undefined) return undefined;
      const nanos = isMicro ? Number(fraction.slice(0, 6).padEnd(6, "0")) * 1000 : 0;
      return { seconds: milliseconds / 1000, nanos };
    },
  );

/** Any JSON value, as its text. */
const jsonText: Form = {
  ...string,
  read(value) {
    const content = bytesOf(value);
    if (content.length === 0) return undefined;
    try {
      return parseJson(content);
    } catch (cause) {
      throw new ProtobufError("proto: a raw object is not JSON", { cause });
    }
  },
  write: (writer, value) => {
    if (value !== undefined) writer.text(stringifyJson(value));
  },
};

const raw: Form = converted(
  new MessageType([list(1, "values", jsonText)]),
  ({ values }) => (isJsonArray(values) ? values.at(-1) : undefined),
  (value) => (value === undefined ? {} : { values: [value] }),
);

const texts: Form = converted(
  new MessageType([list(1, "items", string)]),
  ({ items = [] }) => items,
  (items) => ({ items }),
);

const quantity: Form = converted(
  new MessageType([field(1, "text", string)]),
  ({ text }) => text || "0",
  (value) => ({ text: typeof value === "number" ? String(value) : (value ?? "0") }),
);

const TEXT_TYPE = 1;

const intOrString: Form = converted(
  new MessageType([field(1, "type", integer), field(2, "number", integer), field(3, "text", string)]),
  ({ type, number, text }) => (type === TEXT_TYPE ? text : number),
  (value) => (typeof value === "string" ? { type: TEXT_TYPE, text: value } : { number: value }),
);

/** Levels of schemas in schemas: those of a definition may have 200, and far deeper ones would exhaust the stack. */
const MAX_SCHEMA_DEPTH = 300;
let depth = 0;

function withinDepth(schema: Form): Form {
  return {
    ...schema,
    read(value) {
      if (depth >= MAX_SCHEMA_DEPTH) throw new ProtobufError("proto: schemas nest too deeply");
      depth++;
      try {
        return schema.read(value);
      } finally {
        depth--;
      }
    },
  };
}

/** Forms by the word for them in the tables; `schema` is the type of the message of a schema. */
export function formsWith(schema: () => MessageType): { readonly [word: string]: Form } {
  const form = withinDepth(messageForm(schema));
  return {
    s: string,
    b: bool,
    i: integer,
    d: double,
    bytes,
    time: timeForm(false),
    microTime: timeForm(true),
    raw,
    texts,
    quantity,
    intOrString,
    schema: form,
    schemaOrBool: converted(
      new MessageType([field(1, "allows", bool), pointer(2, "schema", form)]),
      ({ allows, schema: own }) => own ?? allows,
      (value) => (isJsonObject(value) ? { allows: true, schema: value } : { allows: value }),
    ),
    schemaOrList: converted(
      new MessageType([pointer(1, "schema", form), list(2, "items", form)]),
      ({ schema: own, items = [] }) => own ?? items,
      (value) => (isJsonArray(value) ? { items: value } : { schema: value }),
    ),
    schemaOrTexts: converted(
      new MessageType([pointer(1, "schema", form), list(2, "items", string)]),
      ({ schema: own, items = [] }) => own ?? items,
      (value) => (isJsonArray(value) ? { items: value } : { schema: value }),
    ),
  };
}
