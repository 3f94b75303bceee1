// What updates and applies of one kind share.

import type { FieldSet } from "../fieldpath/field-set.ts";
import type { JsonObject } from "../json/json-value.ts";
import type { TypedSchema } from "../typed/typed-schema.ts";
import type { MergeUpdater } from "./merge-updater.ts";

export type FieldManagerCore = {
  /** Of the whole object. */
  readonly schema: TypedSchema;
  /** The only version that is served. */
  readonly apiVersion: string;
  /** What nobody may own through any subresource. */
  readonly untracked: FieldSet;
  /** The members that an object always has, empty. */
  readonly structs: JsonObject;
  /** `subresource` is empty for the main resource. */
  updaterFor(subresource: string): MergeUpdater;
};
