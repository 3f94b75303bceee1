// Evictions: `pods/<name>/eviction` deletes a pod as far as PodDisruptionBudgets allow. `kubectl drain` asks for them.
// Source: k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go

import {
  ApiError,
  badRequestError,
  forbiddenRequestError,
  invalidObjectError,
  isApiError,
} from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { validateDeleteOptions } from "@postern/apimachinery/validation/request-options";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { createSystemContext } from "@postern/apiserver/context/system-context";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { DeleteOptions, ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { Budget } from "../../policy/pod-disruption-budgets.ts";
import { DISRUPTION, withHeldCondition } from "./pod-conditions.ts";
import { hasEnded, isPodReady, type Pod } from "./pods.ts";

// Without what evictions do not take of DeleteOptions: OpenAPI documents have no name for it, and no descriptions.
const evictionFields = s
  .object({
    deleteOptions: s
      .object({
        gracePeriodSeconds: s.int64().describe("Seconds before the pod is deleted."),
        preconditions: s
          .object({
            uid: s.string().describe("Specifies the target UID."),
            resourceVersion: s.string().describe("Specifies the target ResourceVersion"),
          })
          .describe("Must be fulfilled before a deletion is carried out."),
        orphanDependents: s.boolean().describe("Deprecated: please use the PropagationPolicy."),
        propagationPolicy: s.string().describe("Whether and how garbage collection will be performed."),
        dryRun: s.list(s.string()).describe("When present, indicates that modifications should not be persisted."),
      })
      .describe("DeleteOptions may be provided"),
  })
  .describe(
    "Eviction evicts a pod from its node subject to certain policies and safety constraints. This is a subresource of Pod.",
  );
type Eviction = KindOf<typeof evictionFields>;

/** The store of pods, which is made after their definition. */
export type PodStore = () => Required<ResourceStorage>;

export type EvictionDeps = {
  readonly pods: PodStore;
  readonly budgets: () => InstalledResource;
  readonly clock: Clock;
};

/** `disruptedPods` of a budget: evictions that its controller has not counted yet. */
const MAX_DISRUPTED_PODS = 2_000;
/** Seconds. */
const UNOBSERVED_RETRY = 10;
/** Attempts for pods that change meanwhile. */
const TRIES = 20;
const REFUSED = "Cannot evict pod as it would violate the pod's disruption budget.";
/** The answer to a create of an eviction or a binding. */
export const SUCCESS = {
  apiVersion: "v1",
  kind: "Status",
  metadata: {},
  status: "Success",
  code: 201,
} satisfies KubeObject;

export const evictionSubresource = (deps: EvictionDeps): Subresource => ({
  name: "eviction",
  kind: { group: "policy", version: "v1", kind: "Eviction" },
  schema: kindSchema(evictionFields.schema),
  description: "Deletes the pod, as far as disruption budgets allow.",
  // The schema has checked the shape.
  create: async (context, body) => await evict(context, body as Eviction, deps),
});

async function evict(context: RequestContext, eviction: Eviction, deps: EvictionDeps): Promise<KubeObject> {
  const { namespace, name } = context.info;
  if ((eviction.metadata.name ?? "") !== name)
    throw badRequestError("name in URL does not match name in Eviction object");
  const options = optionsOf(context, eviction);
  for (let left = TRIES; ; left--) {
    const found = await deps.pods().get(context, namespace, name, { resourceVersion: "" });
    // Stored pods have passed their schema.
    const pod = found.decode() as Pod;
    const isUnchanged = await makeRoom(context, pod, options, deps);
    const ofThis = isUnchanged ? ofVersion(options, pod) : options;
    try {
      await deps.pods().delete(context, namespace, name, await markEvicted(context, pod, ofThis, deps));
      return SUCCESS;
    } catch (error) {
      // The pod has changed since it was found that no budget counts it: a later look may find otherwise.
      const isOwn = isUnchanged && options.preconditions?.resourceVersion === undefined;
      if (!isOwn || left === 0 || !isApiError(error, "Conflict")) throw error;
    }
  }
}

const EVICTED = {
  type: DISRUPTION,
  reason: "EvictionByEvictionAPI",
  message: "Eviction API: evicting",
};

/** The condition tells controllers that the pod did not fail by itself. Resolves with the options for the pod that has it. */
async function markEvicted(
  { info: { namespace, name }, signal }: RequestContext,
  { metadata: { uid = "" } }: Pod,
  options: DeleteOptions,
  { pods, clock }: EvictionDeps,
): Promise<DeleteOptions> {
  if (options.dryRun) return options;
  const { uid: wantedUid = uid, resourceVersion } = options.preconditions ?? {};
  const now = formatTimestamp(clock.now());
  let isWanted = false;
  const transform = (current: KubeObject): KubeObject => {
    const { metadata } = current;
    isWanted =
      metadata.uid === wantedUid && (resourceVersion === undefined || resourceVersion === metadata.resourceVersion);
    // The deletion refuses what does not meet its preconditions.
    return isWanted ? (evicted(current as Pod, now) as KubeObject) : current;
  };
  const call = { verb: "update", apiGroup: "", apiVersion: "v1", resource: "pods", subresource: "status" };
  const marking = createSystemContext({ ...call, namespace, name }, { clock, signal });
  const { object } = await pods().update(marking, namespace, name, { transform, subresource: "status" }, WRITTEN);
  if (!isWanted || resourceVersion === undefined) return options;
  return { ...options, preconditions: { ...options.preconditions, resourceVersion: object.revision.toString() } };
}

const WRITTEN = { dryRun: false };

const evicted = ({ status = {}, ...pod }: Pod, now: string): Pod => ({
  ...pod,
  status: { ...status, conditions: withHeldCondition(status.conditions ?? [], EVICTED, now) },
});

function optionsOf({ request }: RequestContext, { deleteOptions = {} }: Eviction): DeleteOptions {
  const { gracePeriodSeconds, preconditions, orphanDependents, propagationPolicy, dryRun = [] } = deleteOptions;
  // Only the names of the types differ.
  const faults = validateDeleteOptions(deleteOptions as Parameters<typeof validateDeleteOptions>[0]);
  if (faults.length > 0) throw invalidObjectError({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", faults);
  const orphaning = orphanDependents === undefined ? undefined : orphanDependents ? "Orphan" : "Background";
  const policy = (propagationPolicy as DeleteOptions["propagationPolicy"]) ?? orphaning;
  return {
    dryRun: isDryRun(createOptionsOf(request.query)) || dryRun.length > 0,
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: Number(gracePeriodSeconds) }),
    ...(preconditions === undefined ? {} : { preconditions }),
    ...(policy === undefined ? {} : { propagationPolicy: policy }),
  };
}

const ofVersion = (options: DeleteOptions, { metadata: { resourceVersion = "" } }: Pod): DeleteOptions => ({
  ...options,
  preconditions: { resourceVersion, ...options.preconditions },
});

/** Resolves with true where the deletion is right for the pod as it is now alone. Rejects with ApiError 429 where its budget has no room. */
async function makeRoom(
  context: RequestContext,
  pod: Pod,
  { dryRun }: DeleteOptions,
  deps: EvictionDeps,
): Promise<boolean> {
  if (hasEnded(pod) || isBeingDeleted(pod)) return false;
  if (pod.status?.phase === "Pending") return true;
  const [budget, another] = await budgetsOf(pod, deps);
  if (budget === undefined) return false;
  if (another !== undefined) {
    throw new ApiError({
      code: 500,
      message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    });
  }
  if (!isPodReady(pod) && mayGoUnready(budget)) return true;
  const { namespace = "", name = "" } = pod.metadata;
  const call = { verb: "update", apiGroup: "policy", apiVersion: "v1", resource: "poddisruptionbudgets" };
  const place = { subresource: "status", namespace, name: budget.metadata.name ?? "" };
  const now = formatTimestamp(deps.clock.now());
  await deps
    .budgets()
    .genericStore.update(
      createSystemContext({ ...call, ...place }, { clock: deps.clock, signal: context.signal }),
      namespace,
      place.name,
      { transform: (current) => withoutOne(current as Budget, name, now), subresource: "status" },
      { dryRun },
    );
  return false;
}

async function budgetsOf(pod: Pod, { budgets, clock }: EvictionDeps): Promise<readonly Budget[]> {
  const { view, keys } = budgets();
  const pause = createTurns(clock);
  const found: Budget[] = [];
  for (const cached of view.list(keys.inNamespace(pod.metadata.namespace ?? ""))) {
    await pause();
    // As stored pods, above.
    const budget = cached.decode() as Budget;
    const { selector } = budget.spec ?? {};
    // Its type says less than the schema that it has passed.
    if (selector !== undefined && selectorFromLabelSelector(selector as never).matches(pod.metadata.labels ?? {}))
      found.push(budget);
  }
  return found;
}

/** Pods that are not ready, and whose deletion takes nothing from those that are. */
function mayGoUnready({ spec, status }: Budget): boolean {
  if (spec?.unhealthyPodEvictionPolicy === "AlwaysAllow") return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return desiredHealthy > 0 && currentHealthy >= desiredHealthy;
}

/** The budget with one disruption less. Throws ApiErrors where it allows none. */
function withoutOne(budget: Budget, pod: string, now: string): Budget {
  const { metadata, status = {} } = budget;
  const { name = "", generation = 0 } = metadata;
  const { observedGeneration = 0, disruptionsAllowed = 0, disruptedPods = {}, conditions = [] } = status;
  if (observedGeneration < generation) {
    throw refused(`The disruption budget ${name} is still being processed by the server.`, UNOBSERVED_RETRY);
  }
  if (disruptionsAllowed < 0) throw unusable(name, "pdb disruptions allowed is negative");
  if (Object.keys(disruptedPods).length > MAX_DISRUPTED_PODS) {
    throw unusable(name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller");
  }
  if (disruptionsAllowed === 0) {
    const { desiredHealthy = 0, currentHealthy = 0 } = status;
    throw refused(
      `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
    );
  }
  const left = disruptionsAllowed - 1;
  return {
    ...budget,
    status: {
      ...status,
      disruptionsAllowed: left,
      disruptedPods: { ...disruptedPods, [pod]: now },
      conditions: left > 0 ? conditions : conditions.map((each) => (isAllowance(each) ? ended(each, now) : each)),
    },
  };
}

type Condition = NonNullable<NonNullable<Budget["status"]>["conditions"]>[number];
const isAllowance = ({ type, status }: Condition): boolean => type === "DisruptionAllowed" && status === "True";
const ended = (condition: Condition, now: string): Condition => ({
  ...condition,
  status: "False",
  reason: "InsufficientPods",
  lastTransitionTime: now,
});

const refused = (message: string, retryAfterSeconds?: number): ApiError =>
  new ApiError({
    code: 429,
    reason: "TooManyRequests",
    message: REFUSED,
    details: {
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      causes: [{ reason: "DisruptionBudget", message }],
    },
  });

const unusable = (name: string, why: string): ApiError =>
  forbiddenRequestError({ group: "policy", resource: "poddisruptionbudget" }, name, why);
