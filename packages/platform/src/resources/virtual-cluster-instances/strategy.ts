// What happens to a virtual cluster instance on its way into the store.

import { type FieldError, indexPath, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import { nameIsDNSLabel } from "@postern/apimachinery/validation/object-name";
import { isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { Directory } from "../../directory/directory.ts";
import type { PlatformNames } from "../../platform-names.ts";
import { callerAsOwner } from "../caller-as-owner.ts";
import { EMBEDDED_CLUSTER } from "../clusters/cluster.ts";
import { withFinalizer } from "../finalizers.ts";
import { type PlacementDeps, validatePlacement, validateSamePlacement } from "../placement.ts";
import type { VirtualClusterInstance, VirtualClusterInstanceSpec } from "./virtual-cluster-instance.ts";

export type VirtualClusterInstanceStrategyDeps = PlacementDeps & {
  readonly names: PlatformNames;
  readonly directory: Directory;
};

/** Held until all that the virtual cluster has is gone. */
export const virtualClusterFinalizer = ({ key }: Pick<PlatformNames, "key">): string => key("virtual-cluster");

export const virtualClusterInstanceStrategy = (
  deps: VirtualClusterInstanceStrategyDeps,
): Strategy<VirtualClusterInstance> => ({
  // The name becomes a part of host names and paths.
  validateName: nameIsDNSLabel,
  allowUnconditionalUpdate: true,

  prepareForCreate(instance, { user }) {
    const owner = instance.spec?.owner ?? callerAsOwner(user, deps);
    const spec = { ...instance.spec, ...(owner === undefined ? {} : { owner }), clusterRef: placed(instance) };
    const created: VirtualClusterInstance = { ...instance, spec, status: { phase: "Pending" } };
    return withFinalizer(created, virtualClusterFinalizer(deps.names));
  },
  validate: (instance) => [
    ...validateSpec(instance.spec),
    ...validatePlacement(instance.metadata.namespace ?? "", instance.spec?.clusterRef?.cluster ?? "", deps),
  ],

  prepareForUpdate(instance, old, { info }) {
    if (info.subresource === "status") return withoutCallersView(instance);
    // A client that sends back less than it was given does not move the virtual cluster.
    const clusterRef = { ...old.spec?.clusterRef, ...instance.spec?.clusterRef };
    return { ...instance, spec: { ...instance.spec, clusterRef } };
  },
  validateUpdate: (instance, old) => [
    ...validateSpec(instance.spec),
    ...validateSamePlacement(instance.spec?.clusterRef ?? {}, old.spec?.clusterRef ?? {}),
  ],
});

/** Placement, not a default: the reference says where the virtual cluster is from now on. */
function placed({ metadata, spec }: VirtualClusterInstance): NonNullable<VirtualClusterInstanceSpec["clusterRef"]> {
  const { cluster = "", namespace = "", virtualCluster = "" } = spec?.clusterRef ?? {};
  return {
    cluster: cluster === "" ? EMBEDDED_CLUSTER : cluster,
    namespace: namespace === "" ? (metadata.namespace ?? "") : namespace,
    virtualCluster: virtualCluster === "" ? (metadata.name ?? "") : virtualCluster,
  };
}

/** What a caller may do is told to that caller alone. */
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
