// Reads and writes single objects by storage key for the garbage collector, always with the uid as a precondition.

import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import {
  isBeingDeleted,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
} from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { viewPrefixOf } from "@postern/apiserver/cache/resource-keys";
import {
  deleteControlled,
  ignoringConflicts,
  readControlled,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import {
  type ControlledResource,
  type ControllerPort,
  withoutViews,
} from "@postern/apiserver/controllers/controller-port";
import type { DeleteOptions } from "@postern/apiserver/registry/resource-storage";
import { isDeletingDependents, isOrphaningDependents } from "./dependency-graph.ts";
import { linksOf } from "./graph-builder.ts";

/** The program that upstream has the garbage collector in. */
const MANAGER = "kube-controller-manager";

export type ObjectLocation = {
  readonly resource: ControlledResource;
  readonly namespace: string;
  readonly name: string;
};

/** The part of an object that its dependents and owners need. */
export type ObjectState = {
  readonly uid: string;
  readonly isBeingDeleted: boolean;
  readonly deletesDependents: boolean;
  readonly orphansDependents: boolean;
};

export type ObjectAccess = {
  /** The place of a storage key; undefined when its resource is not served any more. */
  locate(key: string): ObjectLocation | undefined;
  /** From memory. */
  cached(location: ObjectLocation): KubeObject | undefined;
  /** From memory, without parsing the object each time that one of its many dependents or owners asks. */
  stateOf(location: ObjectLocation): ObjectState | undefined;
  /** Reads from the store. */
  liveStateOf(location: ObjectLocation, signal: AbortSignal): Promise<ObjectState | undefined>;
  /** Where the owner of an object in `namespace` has to be. */
  locateOwner(reference: OwnerReference, namespace: string): ObjectLocation | "unknown-kind" | "wrong-scope";
  /** Whether memory knows the owner in another of the first hundred namespaces. */
  isElsewhere(reference: OwnerReference, namespace: string): boolean;
  /** Changes the metadata of the object with this uid; nothing happens when it is gone. */
  editMeta(
    location: ObjectLocation,
    uid: string,
    edit: (meta: ObjectMeta) => ObjectMeta,
    signal: AbortSignal,
  ): Promise<void>;
  /** Deletes the object if it is still exactly this one in this version; nothing happens when it is not. */
  delete(
    location: ObjectLocation,
    metadata: ObjectMeta,
    policy: NonNullable<DeleteOptions["propagationPolicy"]>,
    signal: AbortSignal,
  ): Promise<void>;
};

/** Bounds the namespaces in which tenants can make us look for an object. */
const MAX_NAMESPACES = 100;

export function createObjectAccess(port: Pick<ControllerPort, "resources" | "runtime">): ObjectAccess {
  const byPrefix = indexOfResources(port, (resources) =>
    withoutViews(resources).map((each) => [each.keys.prefix, each]),
  );
  // The first of several counts.
  const byKind = indexOfResources(port, (resources) =>
    resources.toReversed().map((each) => [`${each.definition.group}/${each.definition.kind}`, each]),
  );
  const resourceOf = ({ apiVersion, kind }: Pick<OwnerReference, "apiVersion" | "kind">) => {
    const group = parseApiVersion(apiVersion)?.group;
    return group === undefined ? undefined : byKind().get(`${group}/${kind}`);
  };

  /** Objects never change: the next version is another one. */
  const states = new WeakMap<CachedObject, ObjectState>();

  return {
    locate(key) {
      const resource = byPrefix().get(viewPrefixOf(key) ?? "");
      return resource === undefined ? undefined : { resource, ...resource.keys.parse(key) };
    },

    cached: ({ resource, namespace, name }) => resource.view.get(resource.keys.of(namespace, name))?.decode(),

    stateOf({ resource, namespace, name }) {
      const object = resource.view.get(resource.keys.of(namespace, name));
      if (object === undefined) return undefined;
      const known = states.get(object);
      if (known !== undefined) return known;
      const state = readState(linksOf(object));
      states.set(object, state);
      return state;
    },

    async liveStateOf({ resource, namespace, name }, signal) {
      const object = await readControlled(port, resource, { metadata: { namespace, name } }, signal);
      return object === undefined ? undefined : readState(object);
    },

    locateOwner(reference, namespace) {
      const { name } = reference;
      const resource = resourceOf(reference);
      if (resource === undefined) return "unknown-kind";
      if (!resource.definition.namespaced) return { resource, namespace: "", name };
      return namespace === "" ? "wrong-scope" : { resource, namespace, name };
    },

    isElsewhere(reference, namespace) {
      const resource = resourceOf(reference);
      const namespaces = resourceOf({ apiVersion: "v1", kind: "Namespace" });
      if (resource === undefined || namespaces === undefined || !resource.definition.namespaced) return false;
      return namespaces.view.list(namespaces.keys.prefix, { limit: MAX_NAMESPACES }).some(({ key }) => {
        const other = namespaces.keys.parse(key).name;
        const found = resource.view.get(resource.keys.of(other, reference.name));
        return other !== namespace && found?.decode().metadata.uid === reference.uid;
      });
    },

    async editMeta({ resource, namespace, name }, uid, edit, signal) {
      // Managers lose the ownership of fields that are taken out.
      const transform = (current: KubeObject): KubeObject =>
        resource.fieldManager.update({
          live: current,
          next: { ...current, metadata: edit(current.metadata) },
          manager: MANAGER,
          subresource: "",
          now: formatTimestamp(port.runtime.clock.now()),
        });
      const object = { metadata: { namespace, name, uid } };
      // Gone, or another object of the same name: nothing is left to be changed.
      await ignoringConflicts(() => updateControlled(port, resource, object, { transform }, signal));
    },

    async delete({ resource, namespace, name }, { uid = "", resourceVersion = "" }, propagationPolicy, signal) {
      const object = { metadata: { namespace, name, uid } };
      // Gone, or changed in between: the change brings the object back to be looked at.
      await ignoringConflicts(() =>
        deleteControlled(port, resource, object, signal, { resourceVersion, propagationPolicy }),
      );
    },
  };
}

/** The returned function makes the index anew when resources have changed: an object may name thousands of owners, and a cluster serve thousands of kinds. */
function indexOfResources(
  { resources }: Pick<ControllerPort, "resources">,
  entriesOf: (all: readonly ControlledResource[]) => readonly (readonly [string, ControlledResource])[],
): () => ReadonlyMap<string, ControlledResource> {
  let known: readonly ControlledResource[] = [];
  let index: ReadonlyMap<string, ControlledResource> = new Map();
  return () => {
    const { all } = resources;
    if (all !== known) index = new Map(entriesOf(all));
    known = all;
    return index;
  };
}

const readState = (object: Pick<KubeObject, "metadata">): ObjectState => ({
  uid: object.metadata.uid ?? "",
  isBeingDeleted: isBeingDeleted(object),
  deletesDependents: isDeletingDependents(object),
  orphansDependents: isOrphaningDependents(object),
});

/** Metadata without the references to owners of these uids. */
export function withoutOwners(meta: ObjectMeta, uids: ReadonlySet<string>): ObjectMeta {
  const { ownerReferences = [], ...rest } = meta;
  const kept = ownerReferences.filter(({ uid }) => !uids.has(uid));
  return kept.length === 0 ? rest : { ...rest, ownerReferences: kept };
}
