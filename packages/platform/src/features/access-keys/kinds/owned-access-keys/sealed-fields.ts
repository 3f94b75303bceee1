// Splits an access key into its served and its sealed part.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { SealedFields } from "@postern/apiserver/registry/strategy";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Directory } from "../../../directory/directory.ts";
import { ownerOf, ownerUid, sameOwner } from "../../access-key-owner.ts";
import {
  ENVELOPED_FIELDS,
  SECRET_PATHS,
  secretAt,
  specOf,
  withKey,
  withoutSecrets,
} from "../../chosen-values/secret-fields.ts";
import type { AccessKeyIndex } from "../../index/access-key-index.ts";
import type { IssuedGrants } from "../../issued-grants.ts";
import { type KeyOrigin, originsOf, replacedError } from "../../key-origins.ts";
import { readSealedAccessKey, type SealedAccessKey, writeSealedAccessKey } from "../../record/sealed-access-key.ts";
import { openSecret, sealSecret } from "../../record/secret-envelope.ts";
import { replaceValue } from "../../rotation/rotate-value.ts";
import type { AccessKeySecrets } from "../../secrets/access-key-secrets.ts";
import { defaultTTLOf } from "../../validity/key-ttl.ts";
import { type LineageDeps, parentsOf } from "./lineage.ts";

export type SealedFieldsDeps = {
  readonly directory: Directory;
  readonly keys: Pick<AccessKeyIndex, "byId" | "byName" | "byUid">;
  readonly secrets: AccessKeySecrets;
  readonly runtime: Pick<Runtime, "clock">;
  readonly configuration: LineageDeps["configuration"];
  readonly grants: Pick<IssuedGrants, "of">;
};

export function accessKeySealedFields(deps: SealedFieldsDeps): SealedFields {
  return {
    // The status has no field owner: only the server writes it.
    paths: [...SECRET_PATHS.map((path) => ["spec", ...path]), ["status"]],
    seal(object, previous, context, old) {
      const sealed = sealAccessKey(object, readSealedAccessKey(previous), old, context, deps);
      return { object: withoutSecrets(object), sealed: writeSealedAccessKey(sealed) };
    },
    reveal(stored, prepared) {
      const { key } = specOf(prepared);
      return typeof key === "string" ? withKey(stored, key) : stored;
    },
  };
}

function sealAccessKey(
  object: KubeObject,
  previous: SealedAccessKey,
  old: KubeObject | undefined,
  context: RequestContext,
  { directory, keys, secrets, runtime, configuration, grants }: SealedFieldsDeps,
): SealedAccessKey {
  const spec = specOf(object);
  const isNew = old === undefined;
  const issued = isNew ? grants.of(context) : undefined;
  const parents = isNew
    ? [...parentsOf(context, { keys, configuration }).map(({ uid }) => uid), ...(issued?.parents ?? [])]
    : previous.parents;
  // A key that loses its TTL gets the default of a key without one.
  const losesTTL = old !== undefined && specOf(old)["ttl"] !== undefined && spec["ttl"] === undefined;
  const defaultTTL = isNew || losesTTL ? defaultTTLOf(ownerOf(spec), configuration.accessKeys) : 0;
  const key = sealKey(spec, previous, secrets, keys);
  const origins = (): readonly KeyOrigin[] => [...originsOf(context, keys), ...(issued?.origins ?? [])];
  // A chosen value resets what rotations left behind, including the lock.
  const isSet = key !== undefined && key !== previous.key;
  const values = !isSet
    ? previous
    : isNew
      ? { ...previous, key, origins: origins(), grant: issued?.grant }
      : replaceValue(previous, key, runtime.clock.now(), othersOf(origins(), object.metadata.uid ?? "", previous));
  return {
    ...values,
    owner: sealOwner(spec, previous, directory),
    parents,
    defaultTTL: previous.defaultTTL ?? (defaultTTL > 0 ? defaultTTL : undefined),
    secrets: sealSecrets(object, previous, secrets),
  };
}

/**
 * The ancestors of a key without itself. Throws ApiError 401 if the request used a value of the same key that was replaced meanwhile because it was
 * compromised.
 */
export function othersOf(
  origins: readonly KeyOrigin[],
  uid: string,
  { childrenFrom }: Pick<SealedAccessKey, "childrenFrom">,
): readonly KeyOrigin[] {
  if (origins.some((made) => made.uid === uid && made.serial < childrenFrom)) throw replacedError(undefined);
  return origins.filter((made) => made.uid !== uid);
}

/** Setting the same value keeps the stored envelope, so that repeating a write changes nothing. */
function sealKey(
  { key }: JsonObject,
  previous: SealedAccessKey,
  secrets: AccessKeySecrets,
  keys: Pick<AccessKeyIndex, "byId">,
): SealedAccessKey["key"] {
  if (typeof key !== "string" || key === "") return previous.key;
  if (previous.key !== undefined && secrets.matches(previous.key, key)) return previous.key;
  return secrets.keep(key, (id) => keys.byId(id) !== undefined);
}

function sealOwner(spec: JsonObject, { owner: previous }: SealedAccessKey, directory: Directory) {
  const owner = ownerOf(spec);
  if (owner === undefined || (previous !== undefined && sameOwner(owner, previous))) return previous;
  return { ...owner, uid: ownerUid(owner, directory) };
}

/** A field that is absent stays as it is for as long as what it belongs to is there; an empty one is dropped. */
function sealSecrets(
  object: KubeObject,
  { secrets: previous }: SealedAccessKey,
  secrets: AccessKeySecrets,
): SealedAccessKey["secrets"] {
  const spec = specOf(object);
  const { uid = "" } = object.metadata;
  const kept: { [path: string]: string } = {};
  for (const path of ENVELOPED_FIELDS) {
    // Few keys have any.
    if (spec[path[0]] === undefined) continue;
    const place = `spec.${path.join(".")}`;
    const value = secretAt(spec, path);
    const known = previous[place];
    if (value === undefined) {
      if (known !== undefined) kept[place] = known;
    } else if (value !== "") {
      const isSame = known !== undefined && openSecret(secrets, place, uid, known) === value;
      kept[place] = isSame ? known : sealSecret(secrets, place, uid, value);
    }
  }
  return kept;
}
