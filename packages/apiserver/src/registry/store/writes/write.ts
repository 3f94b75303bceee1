// A create or update on its way through its phases.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import type { MetaFaults } from "@postern/apimachinery/validation/object-meta";
import type { CachedObject } from "../../../cache/cached-object.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import type { AdmissionAttributes } from "../../admission-plugin.ts";
import type { StoreContext } from "../store-context.ts";
import { type Phase, runPhases } from "./run-phases.ts";

export type WriteParts = {
  readonly store: StoreContext;
  readonly context: RequestContext;
  readonly namespace: string;
  readonly name: string;
  readonly object: KubeObject;
  readonly dryRun: boolean;
  readonly old?: KubeObject | undefined;
  readonly subresource?: string;
  readonly keepsManagedFields?: boolean | undefined;
};

/** Called when the phases have ended: without an error, or with the one that ended them. */
type End = (error: unknown) => unknown;

export type WritePhase<W extends Write = Write> = Phase<W>;

export class Write {
  readonly store: StoreContext;
  readonly context: RequestContext;
  readonly namespace: string;
  readonly subresource: string;
  readonly dryRun: boolean;
  /** Whether an object that is too large with its managed fields is refused rather than stored without them. */
  readonly keepsManagedFields: boolean;
  readonly name: string;
  readonly key: string;
  /** As the last phase has left it. */
  object: KubeObject;
  /** The object that an update starts from. Undefined for a create. */
  old: KubeObject | undefined;
  /** The sealed part of that object. */
  oldSealed: JsonObject | undefined;

  /** Whether the object obviously fits its schema. */
  isPlain = false;
  metaFaults: MetaFaults | undefined;
  readonly faults: FieldError[] = [];

  /** The parts of the object that clients see, and that they never do. */
  served: KubeObject;
  sealed: JsonObject | undefined;
  /** Both, encoded. */
  value: Uint8Array = NO_BYTES;

  isSent = false;
  /** See `resultOf`. */
  result: CachedObject | undefined;
  readonly #ends: End[] = [];

  constructor(parts: WriteParts) {
    this.store = parts.store;
    this.context = parts.context;
    this.namespace = parts.namespace;
    this.name = parts.name;
    this.key = parts.store.keys.of(parts.namespace, parts.name);
    this.object = parts.object;
    this.served = parts.object;
    this.dryRun = parts.dryRun;
    this.old = parts.old;
    this.subresource = parts.subresource ?? "";
    this.keepsManagedFields = parts.keepsManagedFields ?? false;
  }

  /** For what a phase has taken. Those of later phases are called first, each when the one before has resolved. */
  onEnd(end: End): void {
    this.#ends.push(end);
  }

  end(error: unknown): Promise<void> | undefined {
    return this.#ends.length === 0 ? undefined : this.#endAll(error);
  }

  async #endAll(error: unknown): Promise<void> {
    for (let end = this.#ends.pop(); end !== undefined; end = this.#ends.pop()) await end(error);
  }

  get admissionAttributes(): AdmissionAttributes {
    const { old, namespace, object } = this;
    return {
      context: this.context,
      resource: this.store.definition,
      subresource: this.subresource,
      namespace,
      name: old === undefined ? (object.metadata.name ?? "") : this.name,
      operation: old === undefined ? "create" : "update",
      object,
      oldObject: old,
      dryRun: this.dryRun,
    };
  }
}

/** A write that changes an object. */
export class Change extends Write {
  declare old: KubeObject;
}

const NO_BYTES = new Uint8Array(0);

/** Runs the phases, and gives back what they have taken. */
export async function runWrite<W extends Write>(phases: readonly WritePhase<W>[], write: W): Promise<void> {
  try {
    const running = runPhases(phases, write);
    if (running !== undefined) await running;
  } catch (error) {
    await write.end(error);
    throw error;
  }
  const ended = write.end(undefined);
  if (ended !== undefined) await ended;
}

/** The object for the answer. */
export function resultOf({ result }: Write): CachedObject {
  if (result === undefined) throw new Error("a write has ended without a result");
  return result;
}
