// The metadata of every stored object, and the shape of objects and lists.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go

import type { JsonObject, JsonValue } from "../json/json-value.ts";

/** RFC 3339 in UTC with whole seconds, such as `2026-01-02T15:04:05Z`. */
export type Timestamp = string;

export type OwnerReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
};

export type ManagedFieldsEntry = {
  readonly manager?: string;
  readonly operation?: "Apply" | "Update";
  readonly apiVersion?: string;
  readonly time?: Timestamp;
  readonly fieldsType?: "FieldsV1";
  readonly fieldsV1?: JsonObject;
  readonly subresource?: string;
};

/** `metadata` of an object. The server fills in most of it; clients choose name, namespace, labels, annotations, finalizers and owners. */
export type ObjectMeta = {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  /** Opaque to clients; within the server the decimal form of a store revision. */
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: Timestamp | null;
  readonly deletionTimestamp?: Timestamp | null;
  /** Seconds. */
  readonly deletionGracePeriodSeconds?: number | null;
  readonly labels?: { readonly [key: string]: string };
  readonly annotations?: { readonly [key: string]: string };
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
};

/** An object as it is stored and served. Members beside the three named ones are the kind's own (`spec`, `status`, …). */
export type KubeObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [member: string]: JsonValue | undefined;
};

/** The server has been asked to delete the object, and something holds it. */
export const isBeingDeleted = ({ metadata }: { readonly metadata: Pick<ObjectMeta, "deletionTimestamp"> }): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null;

export type ListMeta = {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
};
