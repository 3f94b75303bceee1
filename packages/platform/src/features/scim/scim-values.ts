// Brings the attributes that a directory sends into the names and types of their schema, and refuses values of another type.
// Source: RFC 7643 sections 2.1 to 2.5, 4.1 and 4.2

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { ScimFault } from "./scim-fault.ts";
import { memberName, withoutSchema } from "./scim-filter.ts";

type Read = (value: JsonValue, path: string) => JsonValue;
/** By the name of each attribute that is stored. */
type Attributes = { readonly [name: string]: Read };

const fault = (path: string, expected: string): ScimFault =>
  new ScimFault(400, `${path} must be ${expected}`, "invalidValue");

const text: Read = (value, path) => {
  if (typeof value !== "string") throw fault(path, "a string");
  return value;
};

/** Entra ID sends `"True"` and `"False"`. */
const truth: Read = (value, path) => {
  const folded = typeof value === "string" ? value.toLowerCase() : value;
  if (folded === true || folded === "true") return true;
  if (folded === false || folded === "false") return false;
  throw fault(path, "true or false");
};

const complex =
  (attributes: Attributes): Read =>
  (value, path) => {
    if (!isJsonObject(value)) throw fault(path, "an object");
    return attributesOf(value, attributes, `${path}.`);
  };

/** A single value counts as a list of one. */
const list =
  (one: Read): Read =>
  (value, path) =>
    (isJsonArray(value) ? value : [value]).map((each, at) => one(each, `${path}[${at}]`));

const member: Read = (value, path) => {
  if (!isJsonObject(value)) throw fault(path, "an object");
  const user = value[memberName(value, "value") ?? ""];
  const type = value[memberName(value, "type") ?? ""];
  if (typeof user !== "string" || user === "") throw fault(`${path}.value`, "the id of a user");
  if (type !== undefined && type !== null && (typeof type !== "string" || type.toLowerCase() !== "user"))
    throw fault(`${path}.type`, "User: groups in groups are not supported");
  // Paths may select members by their type.
  return { value: user, type: "User" };
};

const SHARED: Attributes = { externalId: text, displayName: text };
const USER: Attributes = {
  ...SHARED,
  userName: text,
  active: truth,
  name: complex({ formatted: text, givenName: text, middleName: text, familyName: text }),
  emails: list(complex({ value: text, type: text, primary: truth })),
};
const GROUP: Attributes = { ...SHARED, members: list(member) };

const ATTRIBUTES = { User: USER, Group: GROUP };

export type ScimTypeName = keyof typeof ATTRIBUTES;

/** Other attributes are kept as they are. Throws ScimFault. */
export const withTypedValues = (type: ScimTypeName, resource: JsonObject): JsonObject =>
  attributesOf(resource, ATTRIBUTES[type], "");

function attributesOf(given: JsonObject, attributes: Attributes, prefix: string): JsonObject {
  const made = new Map<string, JsonValue>();
  for (const [key, value] of Object.entries(given)) {
    const name = nameIn(attributes, key);
    const known = name ?? key;
    if (made.has(known)) throw new ScimFault(400, `${prefix}${known} is given twice`, "invalidSyntax");
    // A name that is given has a value for the check of names given twice, also where it is null.
    made.set(
      known,
      name === undefined || value === undefined ? (value ?? null) : readValue(attributes, name, value, prefix),
    );
  }
  return Object.fromEntries([...made].filter(([name, value]) => value !== null || !Object.hasOwn(attributes, name)));
}

/** Null is the same as no value (RFC 7643 section 2.5), except for `active`: it would unlock a user. */
function readValue(attributes: Attributes, name: string, value: JsonValue, prefix: string): JsonValue {
  const read = attributes[name];
  if (read === undefined || (value === null && read !== truth)) return null;
  return read(value, `${prefix}${name}`);
}

/** The name in the schema. Names of attributes are case-insensitive. */
function nameIn(attributes: Attributes, key: string): string | undefined {
  const folded = withoutSchema(key).toLowerCase();
  return Object.keys(attributes).find((name) => name.toLowerCase() === folded);
}
