// The write-only fields of an access key: its value, and the refresh token of a login.

import { findDuplicateFields } from "@postern/apimachinery/json/find-duplicate-fields";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { LAST_APPLIED_ANNOTATION } from "@postern/structured-merge/managedfields/last-applied";
import { jsonOf } from "@postern/structured-merge/managedfields/object-managed-fields";
import type { AccessKeyFormat } from "../secrets/access-key-format.ts";
import { createKeyFinder, MIN_KEY_LENGTH, textsOf } from "../secrets/find-keys-in-text.ts";

/** Paths below spec of fields that are stored in an envelope; each is base64. */
export const ENVELOPED_FIELDS: readonly (readonly [string, string])[] = [
  ["identity", "connectorData"],
  ["oidcLogin", "idToken"],
  ["oidcLogin", "accessToken"],
  ["oidcLogin", "refreshToken"],
];

/** All paths below spec that are never served. */
export const SECRET_PATHS: readonly (readonly string[])[] = [["key"], ...ENVELOPED_FIELDS];

export function specOf(object: KubeObject): JsonObject {
  const spec = object["spec"];
  return isJsonObject(spec) ? spec : {};
}

export const secretAt = (spec: JsonObject, [parent, member]: readonly [string, string]): string | undefined => {
  const holder = spec[parent];
  const value = isJsonObject(holder) ? holder[member] : undefined;
  return typeof value === "string" ? value : undefined;
};

/** The object without any secret value. */
export function withoutSecrets<T extends KubeObject>(object: T): T {
  const spec = object["spec"];
  if (!isJsonObject(spec)) return object;
  const clean = SECRET_PATHS.reduce((rest: JsonObject, path) => withoutMember(rest, path), spec);
  return clean === spec ? object : { ...object, spec: clean };
}

/** The object itself where it has none. */
function withoutMember(object: JsonObject, path: readonly string[], depth = 0): JsonObject {
  const member = path[depth];
  if (member === undefined || !Object.hasOwn(object, member)) return object;
  const { [member]: value, ...others } = object;
  if (depth === path.length - 1) return others;
  const below = isJsonObject(value) ? withoutMember(value, path, depth + 1) : value;
  return below === value ? object : { ...object, [member]: below };
}

/**
 * kubectl writes the whole manifest into an annotation. Its secrets are cut out of there, so that the next `kubectl apply` sends
 * them again; text that is no object is dropped.
 */
export function scrubLastApplied<T extends KubeObject>(object: T): T {
  const { annotations } = object.metadata;
  const applied = annotations?.[LAST_APPLIED_ANNOTATION];
  if (annotations === undefined || applied === undefined) return object;
  const { [LAST_APPLIED_ANNOTATION]: _, ...others } = annotations;
  const scrubbed = scrub(applied);
  const kept = scrubbed === undefined ? others : { ...others, [LAST_APPLIED_ANNOTATION]: scrubbed };
  return { ...object, metadata: { ...object.metadata, annotations: kept } };
}

function scrub(text: string): string | undefined {
  try {
    const manifest = parseJson(Buffer.from(text));
    if (!isJsonObject(manifest)) return undefined;
    const clean = withoutLastApplied(withoutSecretMembers(manifest));
    // A manifest without secrets stays as it came. The text of a duplicate member may contain a value that was not checked.
    const isAsItCame = clean === manifest && findDuplicateFields(text).length === 0;
    // kubectl ends the line.
    return isAsItCame ? text : `${stringifyJson(clean)}\n`;
  } catch {
    return undefined;
  }
}

function withoutSecretMembers(manifest: JsonObject): JsonObject {
  const spec = manifest["spec"];
  if (!isJsonObject(spec)) return manifest;
  const clean = SECRET_PATHS.reduce((rest: JsonObject, path) => withoutMember(rest, path), spec);
  return stringifyJson(clean) === stringifyJson(spec) ? manifest : { ...manifest, spec: clean };
}

/** A manifest that carries the annotation itself has the secrets of the one before in it. */
function withoutLastApplied(manifest: JsonObject): JsonObject {
  const metadata = manifest["metadata"];
  if (!isJsonObject(metadata)) return manifest;
  const cut = withoutMember(metadata, ["annotations", LAST_APPLIED_ANNOTATION]);
  return stringifyJson(cut) === stringifyJson(metadata) ? manifest : { ...manifest, metadata: cut };
}

/** Field paths of a key in the served part of an object. */
export function keyPlaces(object: KubeObject, key: string): readonly string[] {
  return placesOf(object, (text) => text.includes(key));
}

export type WantedKeys = {
  /** The key of the object itself; "": it is not in the request. */
  readonly key: string;
  /** Whether something in a text has the form of a key of this server's. */
  readonly hasForm: AccessKeyFormat["find"];
  /** Whether a text is a valid client-chosen value: those have no recognisable format. Undefined: no text does. */
  readonly isLive: ((text: string) => boolean) | undefined;
};

/** Paths of keys in the served form of an object: its own, values in the format of keys, and live values that `old` did not contain already. */
export function anyKeyPlaces(
  object: KubeObject,
  old: KubeObject | undefined,
  { key, hasForm, isLive }: WantedKeys,
): readonly string[] {
  // Another client may choose a value that is already in this text: that is no reason to refuse unrelated changes.
  let known: ReadonlySet<string> | undefined;
  const isNew = (text: string): boolean => {
    known ??= new Set(old === undefined ? [] : textsOf(servedPart(old)));
    return !known.has(text);
  };
  const hasLive = isLive && createKeyFinder(isLive);
  const hasOwn = (text: string): boolean => key.length >= MIN_KEY_LENGTH && text.includes(key);
  // No key is shorter, and nearly all texts are.
  return placesOf(
    object,
    (text) =>
      text.length >= MIN_KEY_LENGTH &&
      (hasOwn(text) || hasForm(text) || (hasLive !== undefined && isNew(text) && hasLive(text))),
  );
}

function servedPart(object: KubeObject): JsonObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...withoutSecrets(object), metadata };
}

/** In the part of the object that is served. */
function placesOf(object: KubeObject, found: (text: string) => boolean): readonly string[] {
  const places: string[] = [];
  collectPlaces(jsonOf(object), [], found, places);
  return places;
}

/** Whether the member at the path is not served, or names fields alone. */
function isHidden(path: readonly string[], name: string): boolean {
  if (path.length === 0 || path.length > 2) return false;
  if (path[0] !== "spec") return path.length === 1 && path[0] === "metadata" && name === "managedFields";
  if (path.length === 1) return name === "key";
  for (const [holder, field] of ENVELOPED_FIELDS) if (holder === path[1] && field === name) return true;
  return false;
}

/** One path and one list for all levels: nearly nothing is found. */
function collectPlaces(
  value: JsonValue | undefined,
  path: string[],
  found: (text: string) => boolean,
  places: string[],
): void {
  if (typeof value === "string") {
    if (found(value)) places.push(path.join("."));
  } else if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      path.push(String(at));
      collectPlaces(value[at], path, found, places);
      path.pop();
    }
  } else if (isJsonObject(value)) {
    // JSON inherits nothing that could be listed: this makes no list of names.
    for (const name in value) {
      if (isHidden(path, name)) continue;
      // The name would repeat the secret.
      if (found(name)) places.push(path.join("."));
      else {
        path.push(name);
        collectPlaces(value[name], path, found, places);
        path.pop();
      }
    }
  }
}

/** For the answer to a create: the object with the key that was made. */
export const withKey = <T extends KubeObject>(object: T, key: string): T => ({
  ...object,
  spec: { ...specOf(object), key },
});
