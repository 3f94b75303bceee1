// The dependencies of controllers.

import type { UserInfo } from "../authentication/user-info.ts";
import type { ControllerAudit } from "../chain/controller-audit.ts";
import type { RequestContext } from "../context/request-context.ts";
import { createSystemContext } from "../context/system-context.ts";
import { WorkParts } from "../limits/long-work.ts";
import { isStored } from "../registry/resource-definition.ts";
import type { InstalledResource, ResourceRegistry } from "../registry/resource-registry.ts";
import type { Runtime } from "../runtime/clock.ts";
import { sharedTurnOf } from "../runtime/shared-turn.ts";
import type { QueuePort } from "./work-queue.ts";

/** A resource as controllers use it: its objects in memory, and the unfiltered store. */
export type ControlledResource = Pick<
  InstalledResource,
  "definition" | "keys" | "view" | "genericStore" | "fieldManager"
>;

/** The next call of a controller, for the context it does it under. */
export type ControllerCall = {
  readonly verb: "create" | "get" | "update" | "delete" | "deletecollection";
  readonly resource: ControlledResource;
  readonly subresource?: string;
  readonly namespace: string;
  readonly name: string;
};

export type ControllerPort = QueuePort & {
  /** Calls are made as this user, and meet the policies and webhooks of tenants. Default: the server itself, which meets none. */
  readonly user?: UserInfo | undefined;
  /** Records deletions in the audit log. Default: nothing is recorded. */
  readonly audit?: ControllerAudit | undefined;
  readonly resources: ControlledResources;
  readonly runtime: Runtime;
};

/** Every resource that is stored. CustomResourceDefinitions come and go while controllers run. */
export type ControlledResources = {
  /** As of now; the same array until the set changes. */
  readonly all: readonly ControlledResource[];
  /** Calls back after every change of the set, until it is disposed. */
  onChange(listener: () => void): Disposable;
};

export function controlledResources(registry: Pick<ResourceRegistry, "resources" | "onChange">): ControlledResources {
  let known: readonly InstalledResource[] = [];
  let stored: readonly InstalledResource[] = [];
  return {
    get all() {
      const { resources } = registry;
      if (resources !== known) stored = resources.filter(({ definition }) => isStored(definition));
      known = resources;
      return stored;
    },
    onChange: (listener) => registry.onChange(listener),
  };
}

/** A controller runs from the moment it is made until it is disposed. */
export type Controller = Disposable & {
  /** Resolves when nothing is waiting to be done and nothing is being done; what waits for a retry does not count. */
  idle(): Promise<void>;
};

/** Large objects are written in parts, each within the part of a turn that background work may take. */
const backgroundWork = (clock: Runtime["clock"]): WorkParts =>
  new WorkParts({
    clock,
    turnOf: () => sharedTurnOf(clock).next(),
    threads: undefined,
    onOverBudget: () => undefined,
  });

/** The context of a call that no client asked for. */
export const contextOf = (
  { runtime, user }: { readonly runtime: Pick<Runtime, "clock">; readonly user?: UserInfo | undefined },
  { verb, resource: { definition }, subresource = "", namespace, name }: ControllerCall,
  signal: AbortSignal,
): RequestContext =>
  createSystemContext(
    {
      verb,
      apiGroup: definition.group,
      apiVersion: definition.version,
      resource: definition.plural,
      subresource,
      namespace,
      name,
    },
    {
      clock: runtime.clock,
      signal,
      work: backgroundWork(runtime.clock),
      ...(user === undefined ? {} : { user }),
    },
  );

/** The options of a write that no client asked for. */
export const CONTROLLER_WRITE = { dryRun: false } as const;

/** The first resource that keeps its objects under each prefix: views of the same objects are left out. */
export function withoutViews(resources: readonly ControlledResource[]): readonly ControlledResource[] {
  const byPrefix = new Map<string, ControlledResource>();
  for (const resource of resources) {
    const known = byPrefix.get(resource.keys.prefix);
    if (known === undefined || known.definition.storedAs !== undefined) byPrefix.set(resource.keys.prefix, resource);
  }
  return [...byPrefix.values()];
}
