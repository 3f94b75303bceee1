// Lets go of an object that a controller held.

import type { ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { ignoringConflicts, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, ControllerPort } from "@postern/apiserver/controllers/controller-port";

/** Metadata without one finalizer. */
export function withoutFinalizer(meta: ObjectMeta, finalizer: string): ObjectMeta {
  const { finalizers = [], ...rest } = meta;
  const kept = finalizers.filter((name) => name !== finalizer);
  return kept.length === 0 ? rest : { ...rest, finalizers: kept };
}

/** An object that has changed meanwhile is left: its change is looked at again. */
export const releaseFinalizer = (
  port: ControllerPort,
  resource: ControlledResource,
  object: CachedObject,
  finalizer: string,
  signal: AbortSignal,
): Promise<void> =>
  ignoringConflicts(() => {
    const transform = <T extends { readonly metadata: ObjectMeta }>(current: T): T => ({
      ...current,
      metadata: withoutFinalizer(current.metadata, finalizer),
    });
    return updateControlled(port, resource, object.decode(), { transform }, signal);
  });
