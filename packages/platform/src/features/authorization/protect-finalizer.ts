// Keeps the finalizer of the server on an object that clients change: without it, a deletion would leave behind all that the object has.

import { hasFinalizer, withFinalizer } from "@postern/api/finalizers";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { isServerItself } from "./key-standing.ts";

/**
 * The object with the finalizer, if `old` has it: a manifest without it is no wish to remove it. Only the server removes it, when nothing is left.
 */
export function protectFinalizer<T extends KubeObject>(
  object: T,
  old: T,
  finalizer: string,
  context: RequestContext,
): T {
  if (!hasFinalizer(old, finalizer) || hasFinalizer(object, finalizer) || isServerItself(context)) return object;
  if (isBeingDeleted(old)) {
    context.warnings.add(
      `metadata.finalizers: ${JSON.stringify(finalizer)} stays until the server has deleted what the object has`,
    );
  }
  return withFinalizer(object, finalizer);
}
