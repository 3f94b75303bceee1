// What happens to a virtual cluster instance on its way into the store.

import { type FieldError, indexPath, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import { nameIsDNSLabel } from "@postern/apimachinery/validation/object-name";
import { isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { EMBEDDED_CLUSTER } from "../../api/cluster.ts";
import { withFinalizer } from "../../api/finalizers.ts";
import {
  isRunByOthers,
  type VirtualClusterInstance,
  type VirtualClusterInstanceSpec,
} from "../../api/virtual-cluster-instance.ts";
import type { Directory } from "../../directory/directory.ts";
import type { PlatformNames } from "../../platform-names.ts";
import { networkPeerWarnings } from "../../proxy/network-peer.ts";
import { callerAsOwner } from "../caller-as-owner.ts";
import { checkInstanceGrants, type InstanceGrantsDeps } from "../instance-grants.ts";
import { type PlacementDeps, validatePlacement, validateSamePlacement } from "../placement.ts";
import { instanceLimit, type ProjectLimitsDeps } from "../project-limits.ts";
import {
  type NamedObject,
  type NameSources,
  namedCluster,
  namedInRules,
  namedOwner,
  type UnknownNamesDeps,
  warningOfUnknownNames,
} from "../unknown-names.ts";

export type VirtualClusterInstanceStrategyDeps = PlacementDeps &
  NameSources &
  UnknownNamesDeps &
  ProjectLimitsDeps &
  InstanceGrantsDeps & {
    readonly names: PlatformNames;
    readonly directory: Directory;
    /** Texts about the address of an instance that others run. Default: none. */
    readonly reached?: { addressWarnings(instance: VirtualClusterInstance): readonly string[] };
  };

/** Held until all that the virtual cluster has is gone. */
export const virtualClusterFinalizer = ({ key }: Pick<PlatformNames, "key">): string => key("virtual-cluster");

export const virtualClusterInstanceStrategy = (
  deps: VirtualClusterInstanceStrategyDeps,
): Strategy<VirtualClusterInstance> =>
  warningOfUnknownNames(strategyOf(deps), (instance) => namedIn(instance, deps), deps);

function* namedIn({ spec }: VirtualClusterInstance, deps: NameSources): Generator<NamedObject> {
  yield* namedOwner(spec?.owner, deps);
  yield* namedInRules("spec.access", spec?.access, deps);
  yield* namedInRules("spec.extraAccessRules", spec?.extraAccessRules, deps);
  yield* namedCluster("spec.clusterRef.cluster", spec?.clusterRef?.cluster ?? "", deps);
}

const strategyOf = (deps: VirtualClusterInstanceStrategyDeps): Strategy<VirtualClusterInstance> => ({
  // The name becomes a part of host names and paths.
  validateName: nameIsDNSLabel,
  allowUnconditionalUpdate: true,

  async prepareForCreate(instance, context) {
    const { user } = context;
    await checkInstanceGrants("virtualclusterinstances", instance, undefined, context, deps);
    const owner = instance.spec?.owner ?? callerAsOwner(user, deps);
    const spec = { ...instance.spec, ...(owner === undefined ? {} : { owner }), clusterRef: placed(instance) };
    const created: VirtualClusterInstance = { ...instance, spec, status: { phase: "Pending" } };
    return withFinalizer(created, virtualClusterFinalizer(deps.names));
  },
  validate: async (instance, { signal }) => [
    ...validateSpec(instance.spec),
    ...(await validatePlaced(instance, deps, signal)),
  ],
  limit: (instance, old) => (old === undefined ? instanceLimit("virtualclusterinstances", instance, deps) : undefined),
  warningsOnCreate: (instance) => warningsOf(instance, deps),
  warningsOnUpdate: (instance) => warningsOf(instance, deps),

  async prepareForUpdate(instance, old, context) {
    if (context.info.subresource === "status") return withoutCallersView(instance);
    await checkInstanceGrants("virtualclusterinstances", instance, old, context, deps);
    // A client that sends back less than it was given does not move the virtual cluster.
    const clusterRef = { ...old.spec?.clusterRef, ...instance.spec?.clusterRef };
    return { ...instance, spec: { ...instance.spec, clusterRef } };
  },
  validateUpdate: async (instance, old, { signal }) => [
    ...validateSpec(instance.spec),
    ...(await validateStaying(instance, old, deps, signal)),
  ],
});

const warningsOf = (
  instance: VirtualClusterInstance,
  { reached }: Pick<VirtualClusterInstanceStrategyDeps, "reached">,
): readonly string[] => [
  ...networkPeerWarnings(instance.spec?.networkPeer),
  ...(reached?.addressWarnings(instance) ?? []),
];

/** Placement, not a default: the reference says where the virtual cluster is from now on. */
function placed(instance: VirtualClusterInstance): NonNullable<VirtualClusterInstanceSpec["clusterRef"]> {
  const { metadata, spec } = instance;
  const { cluster = "", namespace = "", virtualCluster = "" } = spec?.clusterRef ?? {};
  const ownCluster = cluster === "" && !isRunByOthers(instance) ? EMBEDDED_CLUSTER : cluster;
  return {
    ...(ownCluster === "" ? {} : { cluster: ownCluster }),
    namespace: namespace === "" ? (metadata.namespace ?? "") : namespace,
    virtualCluster: virtualCluster === "" ? (metadata.name ?? "") : virtualCluster,
  };
}

/** One that others run need not be in a cluster that the platform knows. */
const validatePlaced = (
  instance: VirtualClusterInstance,
  deps: PlacementDeps,
  signal: AbortSignal,
): Promise<readonly FieldError[]> =>
  validatePlacement(instance.metadata.namespace ?? "", clusterOf(instance), deps, {
    signal,
    isOptional: isRunByOthers(instance),
  });

/** Whoever is no longer run by others has to be somewhere: that it is in no cluster is the one thing that can change. */
async function validateStaying(
  instance: VirtualClusterInstance,
  old: VirtualClusterInstance,
  deps: PlacementDeps,
  signal: AbortSignal,
): Promise<readonly FieldError[]> {
  const before = old.spec?.clusterRef ?? {};
  const isPlacedNow = clusterOf(old) === "" && clusterOf(instance) !== "";
  const expected = isPlacedNow ? { ...before, cluster: clusterOf(instance) } : before;
  const moved = validateSamePlacement(instance.spec?.clusterRef ?? {}, expected);
  if (moved.length > 0) return moved;
  const isNewToIt = isPlacedNow || (isRunByOthers(old) && !isRunByOthers(instance));
  return isNewToIt ? await validatePlaced(instance, deps, signal) : [];
}

const clusterOf = ({ spec }: VirtualClusterInstance): string => spec?.clusterRef?.cluster ?? "";

/** The permissions of a caller are shown to that caller only. */
function withoutCallersView(instance: VirtualClusterInstance): VirtualClusterInstance {
  if (instance.status === undefined) return instance;
  const { canUse: _use, canUpdate: _update, online: _online, ...status } = instance.status;
  return { ...instance, status };
}

function validateSpec(spec: VirtualClusterInstanceSpec | undefined): readonly FieldError[] {
  return (spec?.extraAccessRules ?? []).flatMap(({ clusterRole = "" }, index) => {
    const path = `${indexPath("spec.extraAccessRules", index)}.clusterRole`;
    if (clusterRole === "") return [requiredError(path)];
    return isValidPathSegmentName(clusterRole).map((fault) => invalidError(path, clusterRole, fault));
  });
}
