// ResourceClaims: makes those that pods ask for by template, reserves them for pods that have a node, and frees and deletes those of pods that are done.
// Source: k8s.io/kubernetes/pkg/controller/resourceclaim/controller.go

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { ignoringConflicts, readControlled, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import {
  DEVICES_GROUP,
  type ResourceClaim,
  type ResourceClaimTemplate,
} from "../../../builtin/devices/device-objects.ts";
import { MAX_CONSUMERS } from "../../../builtin/devices/validate-claim-status.ts";
import { createCreationBackoff } from "../creation-backoff.ts";
import { controllerOf, followOwnedObjects } from "../owned-objects.ts";
import { createOwned, MOST_ATTEMPTS, refusal } from "../pod-control.ts";
import { createSummaries, readStored } from "../read-stored.ts";
import { actingAs, eventsBy, retryLater, type WorkloadPort } from "../workload-port.ts";
import { createClaimConsumers, writeClaimStatus } from "./claim-consumers.ts";
import { type ClaimingPod, claimingPodOf, followClaimingPods, type PodClaim } from "./claiming-pods.ts";
import { costOfExpressions, generatedClaim, POD_CLAIM } from "./generated-claim.ts";

/** A claim as pods see it. */
type ClaimSummary = {
  /** The name that the pod has for it. Undefined: it was made by a user. */
  readonly podClaim: string | undefined;
  readonly isAllocated: boolean;
  /** Uids of pods. */
  readonly consumers: ReadonlySet<string>;
};

const [UID_LENGTH, LABEL_LENGTH] = [36, 63];

function summarize({ metadata, status: { allocation, reservedFor = [] } = {} }: ResourceClaim): ClaimSummary {
  const podClaim = metadata.annotations?.[POD_CLAIM];
  return {
    podClaim: podClaim !== undefined && podClaim.length <= LABEL_LENGTH ? podClaim : undefined,
    isAllocated: allocation !== undefined,
    consumers: new Set(reservedFor.flatMap(({ uid = "" }) => (uid.length === UID_LENGTH ? [uid] : []))),
  };
}

const isReservable = ({ isAllocated, consumers }: ClaimSummary, uid: string): boolean =>
  isAllocated && !consumers.has(uid) && consumers.size < MAX_CONSUMERS;

type Made =
  | { readonly name: string }
  | { readonly refused: string }
  /** The cluster has used up what it may create now. */
  | "later";

export function createResourceClaimController(base: WorkloadPort): Controller {
  const port = actingAs(base, "resource-claim-controller");
  const { clock, scheduler } = port.runtime;
  const pods = port.resource("", "Pod");
  const claims = port.resource(DEVICES_GROUP, "ResourceClaim");
  const templates = port.resource(DEVICES_GROUP, "ResourceClaimTemplate");
  const says = eventsBy(port.recorder("resource_claim"));
  const backoff = createCreationBackoff(clock);
  /** Begins the attempts of pods anew whose template has changed. */
  let templateChanges = 0;
  const summariesOf = createSummaries<ResourceClaim, ClaimSummary>(port, summarize);
  const consumers = createClaimConsumers(port, claims, pods);
  /** Keys are those of pods and of claims. */
  const queue = new WorkQueue(port, { name: "resource_claim", process });
  const owned = followOwnedObjects(claims, scheduler);
  const claiming = followClaimingPods(pods, scheduler, onPod);

  function onPod(key: string, { namespace, claims: named, extendedClaim, isDone }: ClaimingPod, isGone: boolean): void {
    if (!isGone) queue.add(key);
    if (!isGone && !isDone) return;
    const names = [...named.map(({ claimName }) => claimName), extendedClaim];
    for (const name of names) if (typeof name === "string") queue.add(claims.keys.of(namespace, name));
  }

  async function process(key: string, signal: AbortSignal): Promise<void> {
    await claiming.scanned();
    await owned.scanned();
    const busy = port.looks.delayMs();
    if (busy > 0) return retryLater(queue, key, busy);
    port.looks.spend(1);
    if (key.startsWith(claims.keys.prefix)) await consumers.process(key, signal);
    else await processPod(key, signal);
  }

  async function processPod(key: string, signal: AbortSignal): Promise<void> {
    const object = pods.view.get(key);
    const pod = object && claimingPodOf(object);
    // The claim of a pod that is done is deleted, and must not be made again.
    if (object === undefined || pod === undefined || pod.isDeleted || pod.isDone || !(await needsWork(pod))) return;
    const delay = backoff.delayMs(pod.uid, templateChanges);
    if (delay > 0) return retryLater(queue, key, delay);
    const existing = await existingClaims(pod);
    const names = new Map<string, string>();
    for (const claim of pod.claims) {
      if (!isMissing(pod, claim)) continue;
      const known = existing.get(claim.name);
      const made = known === undefined ? await makeClaim(pod, claim, signal) : { name: known };
      if (made === "later") return retryLater(queue, key, port.writes.turnMs());
      if ("refused" in made) {
        const message = `PodResourceClaim ${claim.name}: ${made.refused}`;
        says(object.decode(), "Warning", "FailedResourceClaimCreation", message);
        backoff.failed(pod.uid, templateChanges);
        return retryLater(queue, key, backoff.delayMs(pod.uid, templateChanges));
      }
      names.set(claim.name, made.name);
    }
    backoff.succeeded(pod.uid);
    // The next version of the pod has the names, and is looked at again.
    if (names.size > 0) await recordNames(pod, names, signal);
    else if (pod.nodeName !== "") await reserveClaims(pod, signal);
  }

  const claimObject = ({ namespace }: ClaimingPod, name: string): CachedObject | undefined =>
    claims.view.get(claims.keys.of(namespace, name));
  const isOwned = (object: CachedObject, { uid }: ClaimingPod): boolean => controllerOf(object)?.uid === uid;

  /** Whether the pod has to get a claim of a template. */
  function isMissing(pod: ClaimingPod, { templateName, claimName }: PodClaim): boolean {
    if (templateName === undefined || claimName === null) return false;
    const object = claimName === undefined ? undefined : claimObject(pod, claimName);
    return object === undefined || !isOwned(object, pod);
  }

  /** A claim of another that has the name of one is left alone: the pod waits until it is gone. */
  async function needsWork(pod: ClaimingPod): Promise<boolean> {
    for (const { claimName, templateName } of pod.claims) {
      port.looks.spend(1);
      if (claimName === null) continue;
      if (claimName === undefined) return true;
      const object = claimObject(pod, claimName);
      if (object === undefined && templateName !== undefined) return true;
      if (object === undefined || (templateName !== undefined && !isOwned(object, pod))) continue;
      if (pod.nodeName === "") continue;
      const [summary] = await summariesOf([object]);
      if (summary !== undefined && isReservable(summary, pod.uid)) return true;
    }
    return false;
  }

  /** Those that were made for the pod, by the name that it has for them: its status need not have them yet. */
  async function existingClaims({ uid }: ClaimingPod): Promise<ReadonlyMap<string, string>> {
    const objects = [...owned.of(uid)];
    const existing = new Map<string, string>();
    for (const [index, { podClaim }] of (await summariesOf(objects)).entries()) {
      const object = objects[index];
      if (object === undefined || podClaim === undefined || existing.has(podClaim)) continue;
      existing.set(podClaim, claims.keys.parse(object.key).name);
    }
    return existing;
  }

  async function makeClaim(pod: ClaimingPod, claim: PodClaim, signal: AbortSignal): Promise<Made> {
    const { templateName = "" } = claim;
    const template = readStored<ResourceClaimTemplate>(port, templates, templates.keys.of(pod.namespace, templateName));
    if (template === undefined) {
      const name = quoteGo(templateName);
      return { refused: `resource claim template ${name}: resourceclaimtemplate.resource.k8s.io ${name} not found` };
    }
    if (port.writes.take(1) === 0) return "later";
    port.writes.spend(costOfExpressions(template.spec?.spec ?? {}));
    for (let attempt = 0; ; attempt++) {
      const object = generatedClaim(pod, claim.name, template, attempt);
      const { name = "" } = object.metadata;
      try {
        await createOwned(port, claims, object, signal);
        return { name };
      } catch (error) {
        const { message } = refusal(error);
        if (!isApiError(error, "AlreadyExists")) return { refused: `create ResourceClaim : ${message}` };
        // Another server may have created it, which memory need not know yet.
        const existing = await readControlled(port, claims, object, signal);
        if (existing?.metadata.ownerReferences?.some(({ uid }) => uid === pod.uid) === true) return { name };
        if (attempt === MOST_ATTEMPTS) return { refused: `create ResourceClaim : ${message}` };
      }
    }
  }

  /** Upstream applies the new names alone, and so takes those of other claims away. */
  async function recordNames(
    { namespace, name, uid }: ClaimingPod,
    names: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<void> {
    const transform = (current: KubeObject): KubeObject => {
      // Stored objects have passed the schema of their kind.
      const status = (current["status"] ?? {}) as {
        readonly resourceClaimStatuses?: readonly { readonly name: string }[];
      };
      const kept = (status.resourceClaimStatuses ?? []).filter((each) => !names.has(each.name));
      const added = [...names].map(([each, resourceClaimName]) => ({ name: each, resourceClaimName }));
      return { ...current, status: { ...status, resourceClaimStatuses: [...kept, ...added] } };
    };
    const pod = { metadata: { namespace, name, uid } };
    await ignoringConflicts(() => updateControlled(port, pods, pod, { subresource: "status", transform }, signal));
  }

  async function reserveClaims(pod: ClaimingPod, signal: AbortSignal): Promise<void> {
    for (const { claimName } of pod.claims) {
      const object = typeof claimName === "string" ? claimObject(pod, claimName) : undefined;
      const [summary] = object === undefined ? [] : await summariesOf([object]);
      if (object === undefined || summary === undefined || !isReservable(summary, pod.uid)) continue;
      const claim = readStored<ResourceClaim>(port, claims, object.key);
      if (claim === undefined) continue;
      const { status = {} } = claim;
      const reservedFor = [...(status.reservedFor ?? []), { resource: "pods", name: pod.name, uid: pod.uid }];
      await writeClaimStatus(port, claims, claim, { ...status, reservedFor }, signal);
    }
  }

  function onClaim(key: string): void {
    queue.add(key);
    const { namespace, name } = claims.keys.parse(key);
    for (const pod of claiming.namingClaim(namespace, name)) queue.add(pod);
  }
  function onTemplate(key: string): void {
    templateChanges++;
    const { namespace, name } = templates.keys.parse(key);
    for (const pod of claiming.namingTemplate(namespace, name)) {
      queue.add(pod);
    }
  }
  const following = [followKeys(claims, scheduler, onClaim), followKeys(templates, scheduler, onTemplate)];
  return createQueueController(queue, [...following, claiming, owned]);
}
