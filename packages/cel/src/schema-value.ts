// CEL values of parts of an object, typed by its schema.
// Source: k8s.io/apiserver/pkg/cel/common/values.go (UnstructuredToVal)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { CelField, CelType } from "./cel-type.ts";
import { CelBytes, CelEvaluationError, CelExtension, CelList, CelMap, type CelValue, failCel } from "./cel-value.ts";
import { readDuration, readTimestamp } from "./functions/time-functions.ts";

/** Converts only the members that the rule accesses. */
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
  #weight: number | undefined;

  constructor(json: JsonValue) {
    super();
    this.#json = json;
  }

  /** Counted once: an expression may compare it very often. */
  get weight(): number {
    this.#weight ??= valuesIn(this.#json);
    return this.#weight;
  }

  equals(other: CelExtension, visit: (weight: number) => void): boolean {
    if (!(other instanceof UnknownValue)) return false;
    visit(Math.min(this.weight, other.weight));
    return equalJson(this.#json, other.#json);
  }
}

/** Itself included, and more for long texts. */
function valuesIn(json: JsonValue | undefined): number {
  if (typeof json === "string") return 1 + json.length / 100;
  if (isJsonArray(json)) return json.reduce<number>((sum, item) => sum + valuesIn(item), 1);
  if (!isJsonObject(json)) return 1;
  return Object.values(json).reduce<number>((sum, member) => sum + valuesIn(member), 1);
}

/** Names and values of an object. Expensive results are made once: an expression may ask for them very often. */
abstract class JsonValues extends CelMap {
  protected readonly json: JsonObject;
  readonly #containers = new Map<string, CelValue>();
  #keys: readonly string[] | undefined;

  constructor(json: JsonObject) {
    super();
    this.json = json;
  }

  protected abstract listKeys(): readonly string[];
  /** The member, where it is there. */
  protected abstract find(key: string): (() => CelValue) | undefined;

  get size(): number {
    return this.keys().length;
  }

  keys(): readonly CelValue[] {
    this.#keys ??= this.listKeys();
    return this.#keys;
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== "string") return undefined;
    const known = this.#containers.get(key);
    if (known !== undefined) return known;
    const found = this.find(key);
    if (found === undefined) return undefined;
    const value = found();
    if (typeof value === "object" && value !== null) this.#containers.set(key, value);
    return value;
  }
}

/** A map of values of one type. */
class JsonMap extends JsonValues {
  readonly #type: CelType;
  readonly #hasNulls: boolean | undefined;

  constructor(json: JsonObject, type: CelType, hasNulls: boolean | undefined) {
    super(json);
    this.#type = type;
    this.#hasNulls = hasNulls;
  }

  protected listKeys(): readonly string[] {
    return Object.keys(this.json);
  }

  protected find(key: string) {
    const json = Object.hasOwn(this.json, key) ? this.json[key] : undefined;
    return json === undefined ? undefined : () => itemOf(json, this.#type, this.#hasNulls);
  }
}

type Fields = ReadonlyMap<string, CelField>;

const names = new WeakMap<Fields, ReadonlyMap<string, string>>();

/** Made once for a type: each item of a list is an object of the same one. */
function namesByProperty(fields: Fields): ReadonlyMap<string, string> {
  const known = names.get(fields);
  if (known !== undefined) return known;
  const made = new Map([...fields].map(([name, { property }]) => [property, name]));
  names.set(fields, made);
  return made;
}

/** An object with declared fields, by the names that expressions have for them. */
class JsonObjectValue extends JsonValues {
  readonly #fields: Fields;

  constructor(json: JsonObject, fields: Fields) {
    super(json);
    this.#fields = fields;
  }

  /** Those that the schema does not know included, by their own names: comparisons look at them. */
  protected listKeys(): readonly string[] {
    const names = namesByProperty(this.#fields);
    return Object.keys(this.json)
      .filter((property) => this.json[property] !== null)
      .map((property) => names.get(property) ?? property);
  }

  protected find(key: string) {
    const field = this.#fields.get(key) ?? this.#fields.get(namesByProperty(this.#fields).get(key) ?? key);
    const property = field?.property ?? key;
    const json = Object.hasOwn(this.json, property) ? this.json[property] : undefined;
    if (json === undefined || json === null) return undefined;
    return () => (field === undefined ? new UnknownValue(json) : celValueOf(json, field.type));
  }
}
