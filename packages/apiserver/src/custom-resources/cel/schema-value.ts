// The values that a part of an object has, as its schema says what is meant by it.
// Source: k8s.io/apiserver/pkg/cel/common/values.go (UnstructuredToVal)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { CelField, CelType } from "./cel-type.ts";
import { CelBytes, CelEvaluationError, CelExtension, CelList, CelMap, type CelValue, failCel } from "./cel-value.ts";
import { readDuration, readTimestamp } from "./functions/time-functions.ts";

/** Only as much of it is looked at as the rule asks for. */
export function celValueOf(json: JsonValue, type: CelType): CelValue {
  if (json === null) return failCel("invalid data, got null for schema with nullable=false");
  switch (type.kind) {
    case "list":
      return isJsonArray(json)
        ? new CelList(json.length, () => json.map((item) => itemOf(item, type.of, type.hasNulls)), type.identity)
        : failCel("invalid data, expected an array for the provided schema with type=array");
    case "map":
      return isJsonObject(json) ? new JsonMap(json, type.value, type.hasNulls) : failObject();
    case "object":
      return isJsonObject(json) ? new JsonObjectValue(json, type.fields) : failObject();
    case "timestamp":
      return readTimestamp(dateTimeOf(textOf(json)));
    case "duration":
      return readSchemaDuration(textOf(json));
    case "bytes":
      return new CelBytes(Buffer.from(textOf(json), "base64"));
    case "double":
      return isNumber(json) ? Number(json) : failCel("invalid data, expected float");
    case "int":
      return isNumber(json) && Number.isInteger(Number(json)) ? BigInt(json) : failCel("invalid data, expected int");
    case "dyn":
      if (typeof json === "string") return json;
      if (isNumber(json) && Number.isInteger(Number(json))) return BigInt(json);
      return failCel("invalid data, expected XIntOrString value to be either a string or integer");
    default:
      return typeof json === "string" || typeof json === "boolean" ? json : failCel("invalid data");
  }
}

/** Nulls that are allowed in lists and maps are values; those of fields are as if the field were not there. */
const itemOf = (json: JsonValue, type: CelType, hasNulls = false): CelValue =>
  json === null && hasNulls ? null : celValueOf(json, type);

const isNumber = (json: JsonValue): json is number | bigint => typeof json === "number" || typeof json === "bigint";

const textOf = (json: JsonValue): string =>
  typeof json === "string" ? json : failCel("invalid data, expected string");

const failObject = (): never => failCel("invalid data, expected a map for the provided schema with type=object");

/** A date alone is its first moment, in UTC. */
const dateTimeOf = (text: string): string =>
  text.length === "2026-01-02".length ? `${text}T00:00:00Z` : text.toUpperCase();

const WORDS: readonly (readonly [begin: string, unit: string, factor: number])[] = [
  ["nano", "ns", 1],
  ["micro", "us", 1],
  ["milli", "ms", 1],
  ["s", "s", 1],
  ["h", "h", 1],
  ["d", "h", 24],
  ["w", "h", 168],
  ["m", "m", 1],
];

/** The format of schemas also takes words: `2 days`. Source: k8s.io/kube-openapi/pkg/validation/strfmt/duration.go */
function readSchemaDuration(text: string): CelValue {
  try {
    return readDuration(text);
  } catch (error) {
    if (!(error instanceof CelEvaluationError)) throw error;
    const terms = [...text.matchAll(/(?<!\d)(\d+)\s*([A-Za-zµ]+)/g)].map(([, amount, word = ""]) => {
      const [, unit = word, factor = 1] =
        WORDS.find(([begin]) => (word.length > 2 || begin.length === 1 ? word.startsWith(begin) : false)) ?? [];
      return `${Number(amount) * factor}${unit}`;
    });
    return terms.length === 0 ? failCel(`Invalid duration ${text}: ${error.message}`) : readDuration(terms.join(""));
  }
}

/** Properties that the schema does not describe: they can be compared, and nothing else. */
class UnknownValue extends CelExtension {
  readonly typeName = "unknown";
  readonly #json: JsonValue;

  constructor(json: JsonValue) {
    super();
    this.#json = json;
  }

  equals(other: CelExtension): boolean {
    return other instanceof UnknownValue && equalJson(this.#json, other.#json);
  }
}

/** A map of values of one type. */
class JsonMap extends CelMap {
  readonly #json: JsonObject;
  readonly #type: CelType;
  readonly #hasNulls: boolean | undefined;

  constructor(json: JsonObject, type: CelType, hasNulls: boolean | undefined) {
    super();
    this.#json = json;
    this.#type = type;
    this.#hasNulls = hasNulls;
  }

  get size(): number {
    return Object.keys(this.#json).length;
  }

  keys(): readonly CelValue[] {
    return Object.keys(this.#json);
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.#json, key)) return undefined;
    const value = this.#json[key];
    return value === undefined ? undefined : itemOf(value, this.#type, this.#hasNulls);
  }
}

/** An object with declared fields, by the names that expressions have for them. */
class JsonObjectValue extends CelMap {
  readonly #json: JsonObject;
  readonly #fields: ReadonlyMap<string, CelField>;
  #names: ReadonlyMap<string, string> | undefined;

  constructor(json: JsonObject, fields: ReadonlyMap<string, CelField>) {
    super();
    this.#json = json;
    this.#fields = fields;
  }

  get size(): number {
    return this.keys().length;
  }

  /** Those that the schema does not know included, by their own names: comparisons look at them. */
  keys(): readonly CelValue[] {
    this.#names ??= new Map([...this.#fields].map(([name, { property }]) => [property, name]));
    const names = this.#names;
    return Object.keys(this.#json)
      .filter((property) => this.#json[property] !== null)
      .map((property) => names.get(property) ?? property);
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== "string") return undefined;
    const field = this.#fields.get(key);
    const property = field?.property ?? key;
    const value = Object.hasOwn(this.#json, property) ? this.#json[property] : undefined;
    if (value === undefined || value === null) return undefined;
    return field === undefined ? new UnknownValue(value) : celValueOf(value, field.type);
  }
}
