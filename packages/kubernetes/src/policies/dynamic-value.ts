// CEL values of objects whose schema an expression does not know.
// Source: github.com/google/cel-go/common/types (NativeToValue)

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { CelList, CelMap, type CelValue } from "@postern/cel/cel-value";

/** Converts only the members that the expression accesses. */
export function dynamicValue(json: JsonValue | undefined): CelValue {
  if (json === undefined || json === null) return null;
  if (typeof json === "number") return Number.isInteger(json) ? BigInt(json) : json;
  if (isJsonArray(json)) return new CelList(json.length, () => json.map(dynamicValue));
  if (isJsonObject(json)) return new DynamicMap(json);
  return json;
}

/** Keys and values are made once: an expression may ask for them very often. */
class DynamicMap extends CelMap {
  readonly #json: JsonObject;
  readonly #containers = new Map<string, CelValue>();
  #keys: readonly string[] | undefined;

  constructor(json: JsonObject) {
    super();
    this.#json = json;
  }

  get size(): number {
    return this.keys().length;
  }

  keys(): readonly CelValue[] {
    this.#keys ??= Object.keys(this.#json);
    return this.#keys;
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.#json, key)) return undefined;
    const known = this.#containers.get(key);
    if (known !== undefined) return known;
    const json = this.#json[key];
    if (json === undefined) return undefined;
    const value = dynamicValue(json);
    if (typeof json === "object") this.#containers.set(key, value);
    return value;
  }
}

/** Values that are made when they are first asked for. */
export class LazyMap extends CelMap {
  readonly #makers: ReadonlyMap<string, () => CelValue>;
  readonly #made = new Map<string, CelValue>();

  constructor(makers: ReadonlyMap<string, () => CelValue>) {
    super();
    this.#makers = makers;
  }

  get size(): number {
    return this.#makers.size;
  }

  keys(): readonly CelValue[] {
    return [...this.#makers.keys()];
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== "string") return undefined;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const made = this.#makers.get(key)?.();
    if (made !== undefined) this.#made.set(key, made);
    return made;
  }
}
