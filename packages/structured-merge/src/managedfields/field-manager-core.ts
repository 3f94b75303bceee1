// Inputs that updates and applies of one kind share, and those of each.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject, Timestamp } from "@postern/apimachinery/meta/object-meta";
import type { FieldSet } from "../fieldpath/field-set.ts";
import type { TypedSchema } from "../typed/typed-schema.ts";
import type { MergeUpdater } from "./merge-updater.ts";

export type FieldManagerCore = {
  /** Schema of the whole object. */
  readonly schema: TypedSchema;
  /** The only version that is served. */
  readonly apiVersion: string;
  /** Fields without an owner, through any subresource. */
  readonly untracked: FieldSet;
  /** The members of an object before anything is set. */
  readonly structs: JsonObject;
  /** `subresource` is empty for the main resource. */
  updaterFor(subresource: string): MergeUpdater;
};

type WriteInput = {
  /** The stored object; undefined when the write creates it. */
  readonly live: KubeObject | undefined;
  /** The name of the writer; empty counts as `unknown`. */
  readonly manager: string;
  /** Empty, or absent, for the main resource. */
  readonly subresource?: string;
  readonly now: Timestamp;
};

export type FieldManagerUpdate = WriteInput & {
  /** The object as it is to be stored. Its managedFields are still what the client sent. */
  readonly next: KubeObject;
};

export type FieldManagerApply = WriteInput & {
  readonly applied: KubeObject;
  /** Takes fields over from their owners. Default false. */
  readonly force?: boolean;
};
