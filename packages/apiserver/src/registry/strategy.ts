// The hooks of a resource before an object is stored.
// Source: k8s.io/apiserver/pkg/registry/rest/{create,update,delete}.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "../context/request-context.ts";

/**
 * Gets only objects that have passed the schema of their kind (`store/check-schema.ts`): what their type says of them holds.
 * The steps of a write, in this order; each is optional. `prepare…` returns the object to go on with, `validate…` never
 * changes anything. Methods take the kind's own type.
 */
export interface Strategy<T extends KubeObject = KubeObject> {
  /** Messages about a bad name; default: a DNS-1123 subdomain. `isPrefix` for generateName. */
  validateName?(name: string, isPrefix: boolean): readonly string[];
  /** Names an object that came with neither name nor generateName; default: that is refused. */
  nameWhenAbsent?(context: RequestContext): { readonly name?: string; readonly generateName?: string };
  /** PUT to an absent name creates; default false. */
  readonly allowCreateOnUpdate?: boolean;
  /** PUT without resourceVersion overwrites; default false. */
  readonly allowUnconditionalUpdate?: boolean;

  prepareForCreate?(object: T, context: RequestContext): T | Promise<T>;
  validate?(object: T, context: RequestContext): readonly FieldError[] | Promise<readonly FieldError[]>;
  warningsOnCreate?(object: T, context: RequestContext): readonly string[];

  prepareForUpdate?(object: T, old: T, context: RequestContext): T | Promise<T>;
  validateUpdate?(object: T, old: T, context: RequestContext): readonly FieldError[] | Promise<readonly FieldError[]>;
  warningsOnUpdate?(object: T, old: T, context: RequestContext): readonly string[];

  /** All that the object takes a share of, such as the keys that one owner may have. `old` is absent on create. */
  limits?(object: T, old: T | undefined, context: RequestContext): readonly WriteLimit[];
  /**
   * Takes what one object alone may have, such as a value, right before a valid object is written; never for a dry run. Throws an ApiError to
   * refuse the write. Called again, for the same object, where a write is tried again.
   */
  reserve?(object: T, context: RequestContext): Promise<Reservation> | undefined;
  /** For a dry run: rejects as `reserve` would, and takes nothing. */
  rehearseReserve?(object: T, context: RequestContext): Promise<void> | undefined;

  /**
   * The longest grace period of a deletion, in seconds: an object is removed by a deletion after its end. Kinds without this and without
   * `gracePeriodOf` take no period, and are deleted at once.
   */
  readonly maxGracePeriodSeconds?: number;
  /**
   * The seconds of a deletion that begins now; `asked` is the period that its request names. The object stays, however long it takes, until another
   * deletion names 0, as a kubelet sends for a pod that has stopped. Upstream: RESTGracefulDeleteStrategy.CheckGracefulDelete.
   */
  gracePeriodOf?(object: T, asked: number | undefined): number;
  /** True where the answer to a deletion at once shows the object as one that is being deleted, as upstream where a kind can take a period. */
  readonly marksDeleted?: boolean;
  /** True where dependents outlive an object that is deleted without a propagation policy. Upstream: DefaultGarbageCollectionPolicy. */
  readonly orphansByDefault?: boolean;
  /** True where no object has one of the kind as its owner: propagation policies change nothing. Upstream: Unsupported. */
  readonly hasNoDependents?: boolean;
  /** The warning of a deletion that does not say what becomes of dependents. */
  readonly orphanWarning?: string;
  /** Throws an ApiError to refuse a deletion, or returns the object as it looks while it is being deleted. */
  prepareForDelete?(object: T, context: RequestContext): T | Promise<T>;
  /** True while something besides metadata.finalizers keeps a deleted object, such as spec.finalizers of a namespace. */
  isHeld?(object: T): boolean;

  /** Called after the write is durable. Failures are logged, never shown: the write has happened. */
  afterCreate?(object: T, context: RequestContext): void | Promise<void>;
  afterUpdate?(object: T, old: T, context: RequestContext): void | Promise<void>;
  afterDelete?(object: T, context: RequestContext): void | Promise<void>;
}

/** Writes under a limit of the same name go one after the other, each when memory shows the one before, whatever resource they are of. */
export type WriteLimit = {
  readonly name: string;
  /** Throws an ApiError where there is no share left. */
  check(): void | Promise<void>;
};

/** Called with the outcome of the write that a reservation was made for. Neither is called if the outcome is unknown, because the store became
 * unavailable. */
export type Reservation = {
  /** The object is written. */
  keep(): Promise<void>;
  /** It is not. */
  release(): Promise<void>;
};

/** Fields that are accepted but never served: their stored form is kept beside the object. */
export interface SealedFields<T extends KubeObject = KubeObject> {
  /** Paths that field managers must not own, such as `["spec", "key"]`. */
  readonly paths: readonly (readonly string[])[];
  /**
   * Splits a valid object into what is served and what is kept hidden. `previous` is what was hidden before the write;
   * a field absent from `object` keeps what `previous` has of it. `old` is the object that an update starts from.
   */
  seal(
    object: T,
    previous: JsonObject | undefined,
    context: RequestContext,
    old?: T,
  ): { readonly object: T; readonly sealed: JsonObject | undefined };
  /** The answer to a create: the stored object with what is shown this once taken from the object as it was prepared. */
  reveal?(stored: T, prepared: T): T;
}
