// What happens to a space instance on its way into the store.

import { invalidError } from "@postern/apimachinery/validation/field-error";
import { nameIsDNSLabel } from "@postern/apimachinery/validation/object-name";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { EMBEDDED_CLUSTER } from "../../api/cluster.ts";
import { withFinalizer } from "../../api/finalizers.ts";
import type { SpaceInstance } from "../../api/space-instance.ts";
import type { Directory } from "../../directory/directory.ts";
import type { PlatformNames } from "../../platform-names.ts";
import { callerAsOwner } from "../caller-as-owner.ts";
import { checkInstanceGrants, type InstanceGrantsDeps } from "../instance-grants.ts";
import { type PlacementDeps, validatePlacement, validateSamePlacement } from "../placement.ts";
import { instanceLimit, type ProjectLimitsDeps } from "../project-limits.ts";
import {
  type NameDeps,
  type NamedObject,
  namedCluster,
  namedInRules,
  namedOwner,
  type UnknownNamesDeps,
  warningOfUnknownNames,
} from "../unknown-names.ts";

export type SpaceInstanceStrategyDeps = PlacementDeps &
  NameDeps &
  UnknownNamesDeps &
  ProjectLimitsDeps &
  InstanceGrantsDeps & {
    readonly names: PlatformNames;
    readonly directory: Directory;
  };

/** Held until all that the space has is gone. */
export const spaceFinalizer = ({ key }: Pick<PlatformNames, "key">): string => key("space");

export const spaceInstanceStrategy = (deps: SpaceInstanceStrategyDeps): Strategy<SpaceInstance> =>
  warningOfUnknownNames(strategyOf(deps), (instance) => namedIn(instance, deps), deps);

function* namedIn({ spec }: SpaceInstance, deps: NameDeps): Generator<NamedObject> {
  yield* namedOwner(spec?.owner, deps);
  yield* namedInRules("spec.access", spec?.access, deps);
  yield* namedInRules("spec.extraAccessRules", spec?.extraAccessRules, deps);
  yield* namedCluster("spec.clusterRef.cluster", spec?.clusterRef?.cluster ?? "", deps);
}

const strategyOf = (deps: SpaceInstanceStrategyDeps): Strategy<SpaceInstance> => ({
  limit: (instance, old) => (old === undefined ? instanceLimit("spaceinstances", instance, deps) : undefined),
  validateName: nameIsDNSLabel,
  allowUnconditionalUpdate: true,

  async prepareForCreate(instance, context): Promise<SpaceInstance> {
    const { user } = context;
    await checkInstanceGrants("spaceinstances", instance, undefined, context, deps);
    const owner = instance.spec?.owner ?? callerAsOwner(user, deps);
    const { cluster = "", namespace = "" } = instance.spec?.clusterRef ?? {};
    const clusterRef = {
      cluster: cluster === "" ? EMBEDDED_CLUSTER : cluster,
      namespace: namespace === "" ? (instance.metadata.name ?? "") : namespace,
    };
    const spec = { ...instance.spec, ...(owner === undefined ? {} : { owner }), clusterRef };
    const created: SpaceInstance = { ...instance, spec, status: { phase: "Pending" } };
    return withFinalizer(created, spaceFinalizer(deps.names));
  },
  validate: async ({ metadata, spec }, { signal }) => [
    ...nameIsDNSLabel(spec?.clusterRef?.namespace ?? "", false).map((fault) =>
      invalidError("spec.clusterRef.namespace", spec?.clusterRef?.namespace, fault),
    ),
    ...(await validatePlacement(metadata.namespace ?? "", spec?.clusterRef?.cluster ?? "", deps, { signal })),
  ],

  async prepareForUpdate(instance, old, context) {
    if (context.info.subresource === "status") return withoutCallersView(instance);
    await checkInstanceGrants("spaceinstances", instance, old, context, deps);
    return {
      ...instance,
      spec: { ...instance.spec, clusterRef: { ...old.spec?.clusterRef, ...instance.spec?.clusterRef } },
    };
  },
  validateUpdate: ({ spec }, old) => validateSamePlacement(spec?.clusterRef ?? {}, old.spec?.clusterRef ?? {}),
});

/** The permissions of a caller are shown to that caller only. */
function withoutCallersView(instance: SpaceInstance): SpaceInstance {
  if (instance.status === undefined) return instance;
  const { canUse: _use, canUpdate: _update, ...status } = instance.status;
  return { ...instance, status };
}
