// Reads and writes of single objects by controllers. All of these reject with ApiErrors. Each begins within the part of a turn of the event loop that
// background work may take: a controller that reads and writes a large object several times would otherwise do all of it in one turn.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ControllerAudit } from "../chain/controller-audit.ts";
import type { RequestContext } from "../context/request-context.ts";
import type { DeleteOptions } from "../registry/resource-storage.ts";
import type { Clock } from "../runtime/clock.ts";
import { createTurns } from "../runtime/in-slices.ts";
import { CONTROLLER_WRITE, type ControlledResource, type ControllerPort, contextOf } from "./controller-port.ts";

type WritePort = Pick<ControllerPort, "user" | "audit"> & {
  readonly runtime: Pick<ControllerPort["runtime"], "clock">;
};

/** Which object, by namespace and name, and by uid where it has to be this one and no other that has taken its name. */
type ObjectReference = Pick<KubeObject, "metadata">;

type Change = {
  /** Default: the object itself. */
  readonly subresource?: string;
  readonly transform: (current: KubeObject) => KubeObject;
};

type DeletionTerms = Pick<DeleteOptions, "propagationPolicy" | "gracePeriodSeconds"> & {
  /** Deletes the object only in this version. */
  readonly resourceVersion?: string;
};

const pause = ({ runtime }: WritePort): Promise<void> | undefined => createTurns(runtime.clock)();

/** Reads from the store, which may be ahead of memory; undefined if there is none. */
export async function readControlled(
  port: WritePort,
  resource: ControlledResource,
  { metadata: { namespace = "", name = "" } }: ObjectReference,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  await pause(port);
  const context = contextOf(port, { verb: "get", resource, namespace, name }, signal);
  try {
    // An empty resourceVersion asks for the newest state there is.
    return (await resource.genericStore.get(context, namespace, name, { resourceVersion: "" })).decode();
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}

export async function createControlled(
  port: WritePort,
  resource: ControlledResource,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  await pause(port);
  await create(port, resource, object, signal);
}

async function create(
  port: WritePort,
  resource: ControlledResource,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const { namespace = "", name = "" } = object.metadata;
  const context = contextOf(port, { verb: "create", resource, namespace, name }, signal);
  await resource.genericStore.create(context, namespace, object, CONTROLLER_WRITE);
}

/** Creates an object as the server itself; an existing one is left alone. */
export async function createWhenAbsent(
  resource: ControlledResource,
  object: KubeObject,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { name = "", namespace = "" } = object.metadata;
  const port = { runtime: { clock } };
  await pause(port);
  if (resource.view.get(resource.keys.of(namespace, name)) !== undefined) return;
  try {
    await create(port, resource, object, signal);
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw error;
  }
}

export async function updateControlled(
  port: WritePort,
  resource: ControlledResource,
  { metadata: { namespace = "", name = "", uid = "" } }: ObjectReference,
  { subresource = "", transform }: Change,
  signal: AbortSignal,
): Promise<void> {
  await pause(port);
  const context = contextOf(port, { verb: "update", resource, subresource, namespace, name }, signal);
  await resource.genericStore.update(context, namespace, name, { uid, transform, subresource }, CONTROLLER_WRITE);
}

/** Changes the status, unless another writer was faster, whose change is on the way here. */
export const updateStatus = (
  port: WritePort,
  resource: ControlledResource,
  object: ObjectReference,
  transform: (current: KubeObject) => KubeObject,
  signal: AbortSignal,
): Promise<void> =>
  ignoringConflicts(() => updateControlled(port, resource, object, { subresource: "status", transform }, signal));

/** Unlike an update it always means one uid. The audit log has it, where the port has one. */
export async function deleteControlled(
  port: WritePort,
  resource: ControlledResource,
  { metadata: { namespace = "", name = "", uid = "" } }: ObjectReference,
  signal: AbortSignal,
  { resourceVersion, ...terms }: DeletionTerms = {},
): Promise<void> {
  await pause(port);
  const context = contextOf(port, { verb: "delete", resource, namespace, name }, signal);
  const preconditions = { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  await deleteRecorded(resource, context, { ...CONTROLLER_WRITE, ...terms, preconditions }, port.audit);
}

/** Deletes the object that the context names. Controllers look again and again at what finalizers hold: one event says that it is being deleted. */
export async function deleteRecorded(
  resource: Pick<ControlledResource, "definition" | "genericStore">,
  context: RequestContext,
  options: DeleteOptions,
  audit: ControllerAudit | undefined,
): Promise<void> {
  const { namespace, name } = context.info;
  const remove = async (audited: RequestContext) => {
    const outcome = await resource.genericStore.delete(audited, namespace, name, options);
    return outcome.isUnchanged ? undefined : outcome;
  };
  if (audit === undefined) await remove(context);
  else await audit(context, { requestUri: pathOf(resource, namespace, name), code: 200 }, remove);
}

function pathOf(
  { definition: { group, version, plural } }: Pick<ControlledResource, "definition">,
  namespace: string,
  name: string,
): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${root}${namespace === "" ? "" : `/namespaces/${namespace}`}/${plural}/${name}`;
}

/** Another writer was faster, and its change is on the way here. */
export async function ignoringConflicts(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isApiError(error, "NotFound") && !isApiError(error, "Conflict")) throw error;
  }
}
