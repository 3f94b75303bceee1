// Serves the resources of CustomResourceDefinitions, sets their conditions, and deletes all objects before a definition is deleted.
// Source: k8s.io/apiextensions-apiserver/pkg/controller/{status,establish,finalizer,apiapproval}, pkg/apiserver/customresource_handler.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { verbNotSupportedError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { followView } from "@postern/apiserver/cache/view-informer";
import {
  deleteControlled,
  ignoringConflicts,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { ObjectConverter } from "@postern/apiserver/registry/object-converter";
import {
  groupResourceOf,
  listKindOf,
  type ResourceDefinition,
  singularOf,
} from "@postern/apiserver/registry/resource-definition";
import type { InstalledResource, ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { newUid } from "@postern/apiserver/runtime/new-uid";
import type { WebhookCaller } from "../webhooks/webhook-caller.ts";
import { decideNames } from "./accepted-names.ts";
import { approvalStateOf, isProtectedGroup } from "./api-approval.ts";
import type { CompiledDefinition, CompiledDefinitions } from "./compiled-definitions.ts";
import { createConversionWebhook } from "./conversion-webhook.ts";
import {
  CLEANUP_FINALIZER,
  type CustomResourceDefinition,
  type CustomResourceNames,
  conditionOf,
  isEstablished,
  withCondition,
} from "./custom-resource-definition.ts";

type Served = {
  readonly compiled: CompiledDefinition;
  readonly isTerminating: boolean;
  readonly installed: readonly ResourceDefinition[];
};

type Named = { readonly group: string; readonly names: CustomResourceNames };

export type CustomResourceControllerDeps = {
  readonly registry: ResourceRegistry;
  readonly compiled: CompiledDefinitions;
  /** Calls conversion webhooks, in a cluster with Services. Absent: conversion webhooks are not supported. */
  readonly caller: WebhookCaller | undefined;
  /** Changes how a definition is served. Default: not at all. */
  readonly adapt?: ((definition: ResourceDefinition) => ResourceDefinition) | undefined;
};

/** Established definitions are served when this returns; `registry` must have all built-in resources. */
export function createCustomResourceController(
  port: ControllerPort,
  definitions: InstalledResource,
  { registry, compiled, caller, adapt = (definition) => definition }: CustomResourceControllerDeps,
): Controller {
  const { view, keys } = definitions;
  const { clock, scheduler } = port.runtime;
  const builtin = registry.definitions.map(namesOf);
  /** A later release may bring a kind that was defined before: the definition does not take its place. */
  const isBuiltin = ({ spec: { group, names } }: CustomResourceDefinition): boolean =>
    builtin.some((own) => own.group === group && own.names.plural === names.plural);
  const isServed = (definition: CustomResourceDefinition): boolean =>
    isEstablished(definition) && !isBuiltin(definition);
  const accepted = new Map<string, Named>();
  const served = new Map<string, Served>();
  const waits = new Map<string, Disposable>();
  // Definitions with the same name are decided one after the other.
  const queue = new WorkQueue(port, { name: "custom_resource_definition", process, concurrency: 1 });

  for (const object of view.list(keys.prefix)) {
    const definition = read(object.decode());
    const names = definition.status?.acceptedNames;
    if (names !== undefined) accepted.set(object.key, { group: definition.spec.group, names });
    if (isServed(definition)) {
      serve(object.key, definition);
      announce(object.key);
    }
  }

  async function process(key: string, signal: AbortSignal): Promise<void> {
    waits.get(key)?.[Symbol.dispose]();
    waits.delete(key);
    const object = view.get(key)?.decode();
    if (object === undefined) return forget(key);
    const definition = read(object);
    const decided = decide(key, definition);
    // Requests are answered before the condition says so, and discovery has the resource after it was stored: a client that waits for
    // either goes on without an error, also where it updates the definition next.
    if (isServed(decided)) serve(key, decided);
    await ignoringConflicts(async () => {
      await writeStatus(definition, decided, signal);
      announce(key);
      if (isBeingDeleted(definition)) await removeObjects(key, definition, signal);
    });
  }

  /** The definition with its new conditions. */
  function decide(key: string, definition: CustomResourceDefinition): CustomResourceDefinition {
    const { group, names } = definition.spec;
    const others = [...accepted].flatMap(([other, named]) => (other === key ? [] : [named]));
    const ofGroup = [...builtin, ...others].filter((other) => other.group === group);
    const before = accepted.get(key)?.names;
    const { accepted: now, conflict } = decideNames(
      names,
      before,
      ofGroup.map((other) => other.names),
    );
    if (!equalJson(before, now)) {
      accepted.set(key, { group, names: now });
      enqueueGroup(group, key);
    }
    const time = formatTimestamp(clock.now());
    const named = withCondition(
      { ...definition, status: { ...definition.status, acceptedNames: now } },
      {
        type: "NamesAccepted",
        status: conflict === undefined ? "True" : "False",
        reason: conflict?.reason ?? "NoConflicts",
        message: conflict?.message ?? "no conflicts found",
      },
      time,
    );
    // It stays established, even if its names conflict later.
    const established = isServed(named) ? named : withEstablished(named, conflict === undefined, time);
    return withApproval(established, time);
  }

  function serve(key: string, definition: CustomResourceDefinition): void {
    const before = served.get(key);
    const taken = compiled.take(definition);
    const isTerminating = isBeingDeleted(definition);
    if (before?.compiled.text === taken.text && before.isTerminating === isTerminating) {
      taken[Symbol.dispose]();
      return;
    }
    const adapted = taken.definitions.map(adapt);
    const installed = isTerminating ? adapted.map(withoutCreation) : adapted;
    // Watches receive the deletions of objects that are deleted with their definition.
    const keepWatches = before?.compiled.text === taken.text;
    const converter = converterFor(definition);
    for (const each of installed) registry.install(each, { keepWatches, converter, announced: false });
    for (const each of before?.installed ?? []) {
      if (!installed.some(({ version }) => version === each.version)) registry.uninstall(each);
    }
    before?.compiled[Symbol.dispose]();
    served.set(key, { compiled: taken, isTerminating, installed });
  }

  function announce(key: string): void {
    registry.announce(served.get(key)?.installed ?? []);
  }

  function forget(key: string): void {
    const before = served.get(key);
    for (const each of before?.installed ?? []) registry.uninstall(each);
    before?.compiled[Symbol.dispose]();
    served.delete(key);
    const named = accepted.get(key);
    accepted.delete(key);
    if (named !== undefined) enqueueGroup(named.group, key);
  }

  function enqueueGroup(group: string, except: string): void {
    for (const [key, named] of accepted) if (key !== except && named.group === group) queue.add(key);
  }

  function converterFor(definition: CustomResourceDefinition): ObjectConverter | undefined {
    const [services, endpoints] = [registry.findKind("", "Service"), registry.findKind("", "Endpoints")];
    if (caller === undefined || services === undefined || endpoints === undefined) return undefined;
    const uids = () => newUid(port.runtime.random);
    return createConversionWebhook(definition, { services, endpoints, caller, newUid: uids });
  }

  async function writeStatus(
    before: CustomResourceDefinition,
    { status }: CustomResourceDefinition,
    signal: AbortSignal,
  ): Promise<void> {
    if (status === undefined || equalJson(before.status, status)) return;
    const transform = (current: KubeObject): KubeObject => ({
      ...current,
      status: { ...status, storedVersions: read(current).status?.storedVersions ?? [] },
    });
    await updateControlled(port, definitions, before, { subresource: "status", transform }, signal);
  }

  /** Deletes all objects, and removes the finalizer when there are none. */
  async function removeObjects(key: string, definition: CustomResourceDefinition, signal: AbortSignal): Promise<void> {
    if (!(definition.metadata.finalizers ?? []).includes(CLEANUP_FINALIZER)) return;
    const resource = installedOf(key);
    const failures: string[] = [];
    for (const object of resource?.view.list(resource.keys.prefix) ?? []) {
      const found = object.decode();
      if (resource === undefined || isBeingDeleted(found)) continue;
      await ignoringConflicts(() => deleteControlled(port, resource, found, signal)).catch((error: unknown) =>
        failures.push(error instanceof Error ? error.message : String(error)),
      );
    }
    if (failures.length > 0) throw new Error(failures.join("; "));
    const left = resource?.view.list(resource.keys.prefix).length ?? 0;
    if (resource !== undefined && left > 0) {
      const deleting = withCondition(definition, IN_PROGRESS, formatTimestamp(clock.now()));
      await writeStatus(definition, deleting, signal);
      waits.set(
        key,
        followRemovals(resource, () => queue.add(key)),
      );
      return;
    }
    const transform = (current: KubeObject): KubeObject => {
      const finalizers = (current.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP_FINALIZER);
      return { ...current, metadata: { ...current.metadata, finalizers } };
    };
    await updateControlled(port, definitions, definition, { transform }, signal);
  }

  function installedOf(key: string): InstalledResource | undefined {
    const [first] = served.get(key)?.installed ?? [];
    return first === undefined ? undefined : registry.find(first.group, first.version, first.plural);
  }

  function followRemovals({ view: objects, keys: { prefix } }: InstalledResource, onRemoval: () => void): Disposable {
    let isFirst = true;
    return followView({ view: objects, prefix }, scheduler, {
      replace(found) {
        if (!isFirst || found.length === 0) onRemoval();
        isFirst = false;
      },
      delete: onRemoval,
    });
  }

  const following = followKeys(definitions, scheduler, (key) => queue.add(key));
  const held = {
    [Symbol.dispose]() {
      for (const wait of waits.values()) wait[Symbol.dispose]();
      for (const { compiled: taken } of served.values()) taken[Symbol.dispose]();
      served.clear();
    },
  };
  return createQueueController(queue, [following, held]);
}

const IN_PROGRESS = {
  type: "Terminating",
  status: "True",
  reason: "InstanceDeletionInProgress",
  message: "CustomResource deletion is in progress",
};

/** Stored objects have passed the schema of their kind. */
const read = (object: KubeObject): CustomResourceDefinition => object as CustomResourceDefinition;

const namesOf = (definition: ResourceDefinition): Named => {
  const { group, plural, shortNames = [], kind } = definition;
  const [singular, listKind] = [singularOf(definition), listKindOf(definition)];
  return { group, names: { plural, singular, shortNames, kind, listKind } };
};

function withEstablished(
  definition: CustomResourceDefinition,
  isAccepted: boolean,
  now: string,
): CustomResourceDefinition {
  const condition = isAccepted
    ? { status: "True", reason: "InitialNamesAccepted", message: "the initial names have been accepted" }
    : { status: "False", reason: "NotAccepted", message: "not all names are accepted" };
  return withCondition(definition, { type: "Established", ...condition }, now);
}

const APPROVALS = {
  approved: { status: "True", reason: "ApprovedAnnotation" },
  unapproved: { status: "False", reason: "UnapprovedAnnotation" },
  invalid: { status: "False", reason: "InvalidAnnotation" },
  missing: { status: "False", reason: "MissingAnnotation" },
} as const;

function withApproval(definition: CustomResourceDefinition, now: string): CustomResourceDefinition {
  if (!isProtectedGroup(definition.spec.group)) return definition;
  const type = "KubernetesAPIApprovalPolicyConformant";
  const { state, message } = approvalStateOf(definition.metadata);
  const before = conditionOf(definition, type);
  const condition = { type, ...APPROVALS[state], message };
  return before?.reason === condition.reason && before.message === message
    ? definition
    : withCondition(definition, condition, now);
}

/** While the objects of a definition are being deleted, creates are refused. */
const withoutCreation = (definition: ResourceDefinition): ResourceDefinition => ({
  ...definition,
  strategy: {
    ...definition.strategy,
    prepareForCreate() {
      throw verbNotSupportedError(groupResourceOf(definition), "create");
    },
  },
});
