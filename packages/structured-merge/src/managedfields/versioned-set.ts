// The fields of each owner of an object, as the merge engine takes them.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { FieldSet } from "../fieldpath/field-set.ts";

/** Fields of one manager, with their API version, and whether it got them by applying. */
export type VersionedSet = {
  readonly set: FieldSet;
  readonly apiVersion: string;
  readonly applied: boolean;
  /** The set as it is written, where that is known already: most writes leave most owners as they are. */
  readonly fieldsV1?: JsonObject;
};

/** The owners by their identifiers. */
export type Owners = ReadonlyMap<string, VersionedSet>;
