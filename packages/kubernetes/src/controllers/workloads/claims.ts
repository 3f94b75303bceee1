// Owners adopt objects that their selector matches and that have no controller, and release those that it no longer matches.
// Source: k8s.io/kubernetes/pkg/controller/controller_ref_manager.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  type LabelSelector,
  type ParsedLabelSelector,
  selectorFromLabelSelector,
} from "@postern/apimachinery/selectors/label-selector";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView } from "@postern/apiserver/cache/view-informer";
import { ignoringConflicts, readControlled, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import { createScans } from "@postern/apiserver/controllers/scans";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { createTurns, inSlices } from "@postern/apiserver/runtime/in-slices";
import { controllerOf, isBeingRemoved, type OwnedObjects } from "./owned-objects.ts";
import { controllerReference, retryLater, type WorkloadPort } from "./workload-port.ts";

export type Claims = Disposable & {
  /** The objects of this owner, after it has adopted and released. An owner that is being deleted does neither. */
  claim(owner: KubeObject, signal: AbortSignal): Promise<readonly CachedObject[]>;
  idle(): Promise<void>;
};

export type ClaimsOptions = {
  /** The name of its queue. */
  readonly name: string;
  readonly owners: InstalledResource;
  readonly dependents: OwnedObjects;
  /** The selector in an owner's spec. Default: its member `selector`. */
  readonly selectorOf?: (selector: JsonObject) => LabelSelector;
  /** A finalizer that adopted objects get. */
  readonly finalizer?: string;
  /** Called with each object of an owner, so that it is read in turns and not with all others at once. */
  readonly onClaimed?: (object: CachedObject) => void;
  /** Objects that are left alone. */
  readonly skips?: (object: CachedObject) => boolean;
  /** The owner has something to adopt. */
  readonly onOwner: (key: string) => void;
};

type Owner = {
  /** How many objects may be looked at for one match: a selector may have very many requirements. */
  readonly cost: number;
  readonly text: string;
  readonly uid: string;
  readonly selector: ParsedLabelSelector;
  isDeleted: boolean;
};

/** Bytes of a selector that cost as much as a look at one object. */
const BYTES_OF_LOOK = 100;

const readOwner = createMemberReader({
  metadata: { uid: true, deletionTimestamp: true },
  spec: { selector: true },
});

export function createClaims(port: WorkloadPort, options: ClaimsOptions): Claims {
  const {
    name,
    owners,
    dependents,
    selectorOf = (selector) => selector as LabelSelector,
    skips,
    finalizer,
    onClaimed,
    onOwner,
  } = options;
  const { scheduler, clock } = port.runtime;
  const { resource } = dependents;
  /** By namespace, then by key. */
  const known = new Map<string, Map<string, Owner>>();
  /** Keys of objects to adopt, by key of their owner. */
  const waiting = new Map<string, Set<string>>();
  /** A key with a leading `!` is an owner whose selector is new. */
  const queue = new WorkQueue(port, { name, process, concurrency: 1 });
  const pause = createTurns(clock);
  const scans = createScans();

  async function process(key: string, signal: AbortSignal): Promise<void> {
    await dependents.scanned();
    const delay = port.looks.delayMs();
    if (delay > 0) return retryLater(queue, key, delay);
    if (key.startsWith("!")) await findObjects(key.slice(1), signal);
    else await findOwner(key, signal);
  }

  async function findObjects(key: string, signal: AbortSignal): Promise<void> {
    const { namespace } = owners.keys.parse(key);
    const owner = known.get(namespace)?.get(key);
    if (owner === undefined) return;
    for (const object of dependents.orphansIn(namespace)) {
      await pause();
      if (signal.aborted) return;
      port.looks.spend(owner.cost);
      if (owner.selector.matches(object.labels)) propose(key, object);
    }
  }

  async function findOwner(key: string, signal: AbortSignal): Promise<void> {
    const { namespace } = resource.keys.parse(key);
    for (const [ownerKey, { selector, isDeleted, cost }] of known.get(namespace) ?? []) {
      const object = resource.view.get(key);
      if (object === undefined || signal.aborted) return;
      port.looks.spend(cost);
      if (!isDeleted && selector.matches(object.labels)) return propose(ownerKey, object);
      await pause();
    }
  }

  function propose(ownerKey: string, object: CachedObject): void {
    if (!isFree(object)) return;
    waiting.set(ownerKey, (waiting.get(ownerKey) ?? new Set()).add(object.key));
    onOwner(ownerKey);
  }

  const isFree = (object: CachedObject): boolean =>
    controllerOf(object) === undefined && !isBeingRemoved(object) && skips?.(object) !== true;

  function see(object: CachedObject): void {
    const { namespace } = owners.keys.parse(object.key);
    // Stored objects have passed the schema of their kind.
    const { metadata = {}, spec = {} } = object.read(readOwner) as {
      readonly metadata?: { readonly uid?: string; readonly deletionTimestamp?: string };
      readonly spec?: { readonly selector?: JsonObject };
    };
    const { uid = "", deletionTimestamp } = metadata;
    const text = stringifyJson(spec.selector ?? {});
    const of = known.get(namespace) ?? new Map<string, Owner>();
    known.set(namespace, of);
    const before = of.get(object.key);
    const isDeleted = deletionTimestamp !== undefined;
    if (before?.uid === uid && before.text === text) before.isDeleted = isDeleted;
    else {
      const selector = selectorFromLabelSelector(selectorOf(spec.selector ?? {}));
      of.set(object.key, { text, uid, selector, isDeleted, cost: Math.ceil(text.length / BYTES_OF_LOOK) });
      queue.add(`!${object.key}`);
    }
  }

  function forget({ key }: CachedObject): void {
    const { namespace } = owners.keys.parse(key);
    known.get(namespace)?.delete(key);
    if (known.get(namespace)?.size === 0) known.delete(namespace);
    waiting.delete(key);
  }

  async function adopt(owner: KubeObject, key: string, signal: AbortSignal): Promise<void> {
    const object = resource.view.get(key)?.decode();
    if (object === undefined) return;
    const reference = controllerReference(owner);
    const transform = (current: KubeObject): KubeObject => {
      const { ownerReferences = [] } = current.metadata;
      if (ownerReferences.some(({ controller }) => controller === true)) return current;
      const others = ownerReferences.filter(({ uid }) => uid !== reference.uid);
      const { finalizers = [] } = current.metadata;
      const isHeld = finalizer === undefined || finalizers.includes(finalizer);
      const held = isHeld ? {} : { finalizers: [...finalizers, finalizer] };
      return { ...current, metadata: { ...current.metadata, ...held, ownerReferences: [...others, reference] } };
    };
    await ignoringConflicts(() => updateControlled(port, resource, object, { transform }, signal));
  }

  async function release({ metadata: { uid } }: KubeObject, object: KubeObject, signal: AbortSignal): Promise<void> {
    const transform = (current: KubeObject): KubeObject => {
      const { ownerReferences = [], ...metadata } = current.metadata;
      const others = ownerReferences.filter((each) => each.uid !== uid);
      return { ...current, metadata: { ...metadata, ...(others.length === 0 ? {} : { ownerReferences: others }) } };
    };
    await ignoringConflicts(() => updateControlled(port, resource, object, { transform }, signal));
  }

  const following = followView({ view: owners.view, prefix: owners.keys.prefix }, scheduler, {
    replace(objects) {
      known.clear();
      const look = (object: CachedObject): void => {
        // Later changes have arrived as changes.
        if (owners.view.get(object.key) === object) see(object);
      };
      scans.add(inSlices(objects, look, scans.signal));
    },
    put: see,
    delete: forget,
  });
  const observing = dependents.observe({
    orphan(object) {
      if (known.has(resource.keys.parse(object.key).namespace)) queue.add(object.key);
    },
  });

  return {
    async claim(owner, signal) {
      await scans.idle();
      const { namespace = "", name: ownerName = "", uid = "" } = owner.metadata;
      const key = owners.keys.of(namespace, ownerName);
      const { selector, cost = 1 } = known.get(namespace)?.get(key) ?? {};
      const mayClaim = selector !== undefined && !isBeingDeleted(owner);
      const free = [...(waiting.get(key) ?? [])].filter((each) => {
        const object = resource.view.get(each);
        return mayClaim && object !== undefined && isFree(object) && selector.matches(object.labels);
      });
      // Memory may be behind the store: an owner that is gone adopts nothing.
      const live = free.length === 0 ? undefined : await readControlled(port, owners, owner, signal);
      if (live?.metadata.uid === uid && !isBeingDeleted(live))
        for (const each of free) await adopt(owner, each, signal);
      waiting.delete(key);
      const claimed: CachedObject[] = [];
      const lost: CachedObject[] = [];
      for (const object of dependents.of(uid)) {
        await pause();
        onClaimed?.(object);
        if (!mayClaim || selector.matches(object.labels)) claimed.push(object);
        else if (!isBeingRemoved(object)) lost.push(object);
      }
      port.looks.spend(claimed.length * cost);
      for (const object of lost) await release(owner, object.decode(), signal);
      return claimed;
    },
    async idle() {
      await scans.idle();
      await queue.idle();
    },
    [Symbol.dispose]() {
      scans[Symbol.dispose]();
      observing[Symbol.dispose]();
      following[Symbol.dispose]();
      queue[Symbol.dispose]();
    },
  };
}
