// The writes of a controller to the objects that it looks after.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CONTROLLER_WRITE, type ControlledResource, type ControllerPort, contextOf } from "./controller-port.ts";

type Change = {
  /** Default: the object itself. */
  readonly subresource?: string;
  readonly transform: (current: KubeObject) => KubeObject;
};

/** Changes the object of that uid, and no other that has taken its name. Rejects with ApiErrors. */
export async function updateControlled(
  port: Pick<ControllerPort, "runtime">,
  resource: ControlledResource,
  { metadata: { namespace = "", name = "", uid = "" } }: Pick<KubeObject, "metadata">,
  { subresource = "", transform }: Change,
  signal: AbortSignal,
): Promise<void> {
  const context = contextOf(port, { verb: "update", resource, subresource, namespace, name }, signal);
  await resource.store.update(context, namespace, name, { uid, transform, subresource }, CONTROLLER_WRITE);
}

/** Another writer was faster, and its change is on the way here. */
export async function passingOverRaces(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isApiError(error, "NotFound") && !isApiError(error, "Conflict")) throw error;
  }
}
